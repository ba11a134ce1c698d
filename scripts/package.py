"""Build a study's data package: `package.py CHECKSUM_FILE STUDY_FILE`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow"))

from poollab.publish.package import package
from poollab.session.entry import entry

if __name__ == "__main__":
    entry(lambda: package(Path(sys.argv[1]).parents[1], Path(sys.argv[2])))
