"""Render results into one HTML report: `render_html.py RESULTS TEMPLATES OUT [--pdf]`."""

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow"))

from poollab.session.entry import entry


def main() -> None:
    """Read the arguments and render."""
    from poollab.data import sums
    from poollab.report import html

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, help="folder of one study's results")
    parser.add_argument("templates", type=Path, help="folder of the report's templates")
    parser.add_argument("out", type=Path, help="HTML file to write")
    parser.add_argument("--pdf", action="store_true", help="report.pdf will lie beside it; link it")
    args = parser.parse_args()
    html.render(args.results, args.templates, args.out, args.pdf)
    sums.note(args.results, "html", [os.path.relpath(args.out, args.results)])


if __name__ == "__main__":
    entry(main)
