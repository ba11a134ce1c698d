"""End all blocks of a results folder: `python -m poollab.session.down FOLDER REASON`; signals are ignored."""

import signal
import sys
from pathlib import Path

from poollab.session.entry import entry
from poollab.session.terminal import say


def main() -> None:
    """Remove the labs; say what could not be removed."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    from poollab.session.paths import Paths  # noqa: PLC0415 - after the signals are ignored
    from poollab.session.teardown import end_all  # noqa: PLC0415

    for record in end_all(Paths(Path(sys.argv[1])), sys.argv[2]):
        if not record["confirmed"]:
            say(record["sentence"])


if __name__ == "__main__":
    entry(main)
