"""Remove one study's results after asking: `clean_results.py --study=NAME [--yes]`."""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow"))

from poollab.session.clean import clean_results
from poollab.session.entry import entry
from poollab.session.terminal import say


def main() -> None:
    """Read the arguments and ask."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", help="results folder, where it is not config.yaml's")
    parser.add_argument("--study", required=True, help="name of the study, as its results folder is called")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    args = parser.parse_args()
    say(clean_results(ROOT, args.study, ask=(lambda _: True) if args.yes else _ask, results=args.results))


def _ask(text: str) -> bool:
    try:
        return input(f"{text} [y/N] ").strip().lower() in {"y", "yes"}
    except EOFError:
        return False


if __name__ == "__main__":
    entry(main)
