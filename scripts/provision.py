"""Begin a block: `provision.py BLOCK_RECORD`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow"))

from poollab.session.entry import entry
from poollab.session.provision import provision
from poollab.session.terminal import say

if __name__ == "__main__":
    entry(lambda: say(provision(Path(sys.argv[1]))))
