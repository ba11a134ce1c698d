"""Render results into a PDF report: `render_pdf.py RESULTS TEMPLATES OUT`."""

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow"))

from poollab.session.entry import entry


def main() -> None:
    """Read the arguments and render."""
    from poollab.data import sums
    from poollab.report import pdf

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, help="folder of one study's results")
    parser.add_argument("templates", type=Path, help="folder of the report's templates")
    parser.add_argument("out", type=Path, help="PDF file to write")
    args = parser.parse_args()
    pdf.render(args.results, args.templates, args.out)
    sums.note(args.results, "pdf", [os.path.relpath(args.out, args.results)])


if __name__ == "__main__":
    entry(main)
