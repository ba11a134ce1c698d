"""Copy a finished study's package to reports/published/: `publish.py [--study=NAME]`."""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow"))

from poollab.publish.package import publish
from poollab.session.entry import entry
from poollab.session.open import configured_results
from poollab.session.terminal import say


def main() -> None:
    """Find the study's results and copy them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", help="results folder, where it is not config.yaml's")
    parser.add_argument("--study", help="a study's name; without it the one in config/config.yaml")
    args = parser.parse_args()
    folder, left_out = publish(configured_results(ROOT, args.study, args.results), ROOT / "reports")
    say(
        f"Published: {folder.relative_to(ROOT)}"
        + (f"; left out for their size: {', '.join(left_out)}" if left_out else "")
    )


if __name__ == "__main__":
    entry(main)
