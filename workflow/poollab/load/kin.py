"""Processes of one generator: forked siblings, each with its own pool, that end together."""

import ctypes
import os
import signal
import sys
import traceback
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1
#: Found here, before any fork: looking a library up after a fork may deadlock.
_LIBC = ctypes.CDLL(None, use_errno=True)


def die_with_parent() -> None:
    """Let the kernel end this process when the one that forked it ends, however that happens."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def run_all(count: int, work: Callable[[int], None]) -> int:
    """
    Run `work(number)` in `count` forked processes; return 0, or the first failure's exit code.

    When one fails the others are ended: a run with a process less is another run.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    children = [_fork(number, work) for number in range(count)]
    failed = 0
    while children:
        pid, status = os.wait()
        if pid not in children:
            continue
        children.remove(pid)
        code = os.waitstatus_to_exitcode(status)
        if code != 0 and failed == 0:
            failed = code if code > 0 else 1
            for other in children:
                os.kill(other, signal.SIGKILL)
    return failed


def _fork(number: int, work: Callable[[int], None]) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        die_with_parent()
        work(number)
        code = 0
    except SystemExit as end:
        print(end.code, file=sys.stderr)  # noqa: T201 - standard error is the lab's log of this process
    except BaseException:  # noqa: BLE001 - nothing may return into the parent's code
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        # Threads that still wait on a dead server must not hold the end up.
        os._exit(code)
