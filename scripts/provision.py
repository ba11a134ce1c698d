"""Begin a block: `provision.py BLOCK_RECORD`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow"))

from poollab.session.entry import entry


def main() -> None:
    """Provide the database and say what it is."""
    from poollab.session.provision import provision
    from poollab.session.terminal import say

    say(provision(Path(sys.argv[1])))


if __name__ == "__main__":
    entry(main)
