"""Build a study's data package: `package.py CHECKSUM_FILE STUDY_FILE [--pdf]`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow"))

from poollab.session.entry import entry


def main() -> None:
    """Put everything into one folder."""
    from poollab.publish.package import package

    package(Path(sys.argv[1]).parents[1], Path(sys.argv[2]), pdf="--pdf" in sys.argv)


if __name__ == "__main__":
    entry(main)
