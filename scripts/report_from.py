"""Make the report again from a data package alone: `report_from.py --from=FOLDER [--out=FOLDER]`."""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow"))

from poollab.session.entry import entry


def main() -> None:
    """Read the arguments and render."""
    from poollab.publish.render import render, sentence
    from poollab.session.packages import place_for
    from poollab.session.terminal import say

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--from", dest="package", type=Path, help="the folder of a package")
    parser.add_argument("--out", type=Path, help="where to; without it from-<study>/ in the results folder")
    args = parser.parse_args()
    if args.package is None:
        parser.error("say which package, as in: make report FROM=results/pool-size/published")
    out = args.out or place_for(ROOT, args.package)
    say(sentence(render(args.package, ROOT / "reports" / "templates", out)))


if __name__ == "__main__":
    entry(main)
