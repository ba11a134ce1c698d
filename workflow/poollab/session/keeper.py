"""
A process that sleeps until its session's main process is gone, then ends the block.

It waits on a pidfd, so it takes no CPU and wakes nobody while cells are measured. It is the one part
that still acts after kill -9.
"""

import os
import select
import signal
import sys
import time
from pathlib import Path

from poollab.lab.place import Owner


def main(folder: Path, owner: Owner) -> None:
    """Wait for the owner's end and clean up after it, unless somebody did."""
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sig, signal.SIG_IGN)
    _wait(owner)
    # What was under way dies with the owner; a child that was being born in that moment must not be missed.
    time.sleep(0.3)
    from poollab.session.teardown import end_block  # noqa: PLC0415 - loads much that a sleeping process need not hold

    end_block(folder, "the study's process was killed")


def _wait(owner: Owner) -> None:
    try:
        watched = os.pidfd_open(owner.pid)
    except (OSError, AttributeError):
        # No pidfd here (old kernel), or already gone: look now and then, rarely enough to disturb nothing.
        while owner.alive():
            time.sleep(5)
        return
    if owner.alive():
        select.select([watched], [], [])


if __name__ == "__main__":
    main(Path(sys.argv[1]), Owner(int(sys.argv[2]), int(sys.argv[3])))
