"""Check that data packages are as they were published: `verify.py [--study=NAME | --from=FOLDER]`."""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow"))

from poollab.session.entry import entry


def main() -> None:
    """Find the packages and check each; what is wrong with any of them is said for all."""
    from poollab.errors import DataError
    from poollab.publish.verify import verify
    from poollab.session.packages import of_study
    from poollab.session.terminal import say

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", help="results folder, where it is not config.yaml's")
    parser.add_argument("--study", help="a study's name: its package in the results and its published one")
    parser.add_argument("--from", dest="folder", type=Path, help="the folder of one package")
    args = parser.parse_args()
    faults = []
    for package in [args.folder] if args.folder else of_study(ROOT, args.study, args.results):
        try:
            say(verify(package))
        except DataError as error:
            faults.append(str(error))
    if faults:
        raise DataError("\n".join(faults))


if __name__ == "__main__":
    entry(main)
