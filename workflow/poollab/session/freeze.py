"""
Freeze a lab's server for a while, from a process of its own: `freeze.py FOLDER SESSIONS AFTER_S FOR_S`.

Stops every process that works in FOLDER's data folder (the postmaster alone would change nothing: its
children answer) and lets them go on. Waits until the load generator has SESSIONS sessions and then AFTER_S
more seconds. A process of its own, since the measuring one must stay single-threaded.
"""

import sys
import time
from pathlib import Path
from signal import SIGCONT, SIGSTOP

from poollab.lab import place, procs

_COME_WITHIN_S = 30.0


def freeze(folder: Path, sessions: int, after_s: float, for_s: float) -> int:
    """Wait and freeze; return how many processes were stopped, 0 when the sessions did not come."""
    deadline = time.monotonic() + _COME_WITHIN_S
    while procs.client_backends(place.inside(folder / "data")) < sessions:
        if time.monotonic() > deadline:
            return 0
        time.sleep(0.02)
    time.sleep(after_s)
    targets = [(pid, procs.start_time(pid)) for pid in place.inside(folder / "data")]
    procs.send(targets, SIGSTOP)
    try:
        time.sleep(for_s)
    finally:
        procs.send(targets, SIGCONT)
    return len(targets)


if __name__ == "__main__":
    sys.stdout.write(f"{freeze(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]))}\n")
