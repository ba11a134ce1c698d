"""End all blocks of a results folder: `python -m poollab.session.down FOLDER REASON`; signals are ignored."""

import signal
import sys
from pathlib import Path

from poollab.session.paths import Paths
from poollab.session.teardown import end_all
from poollab.session.terminal import say

if __name__ == "__main__":
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sig, signal.SIG_IGN)
    for record in end_all(Paths(Path(sys.argv[1])), sys.argv[2]):
        if not record["confirmed"]:
            say(record["sentence"])
