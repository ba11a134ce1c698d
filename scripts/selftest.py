"""Does the instrument measure what it says, on this machine? Half a minute on the embedded lab: `selftest.py`."""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow"))

from poollab.session.entry import entry


def main() -> None:
    """Make the checks; exit 1 where one fails."""
    from poollab.session.selftest import selftest
    from poollab.session.terminal import say

    with tempfile.TemporaryDirectory(prefix="poollab-selftest-") as folder:
        good = selftest(say, Path(folder) / "run")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    entry(main)
