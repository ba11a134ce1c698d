"""How every script ends: one clear message and an exit code, never a traceback for a known fault."""

import ctypes
import os
import signal
import sys
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from poollab.errors import PoollabError
from poollab.session.terminal import say

_PR_SET_PDEATHSIG = 1


def entry(main: Callable[[], object]) -> None:
    """
    Run a script's main function.

    A known error prints its text and exits with its code. Anything else is a fault of ours: one line for
    the user, exit 1. The traceback of either goes to the file after `--log` (taken off the arguments
    before `main` runs), or to the terminal where there is none.
    """
    log = _take_log()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    try:
        main()
    except PoollabError as error:
        _leave(log, str(error), error.exit_code)
    except KeyboardInterrupt:
        # Whoever asks twice need not be told twice.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _leave(log, "", 130)
    except OSError as error:
        _leave(log, f"{type(error).__name__}: {error}; is the disk full, or the folder not writable?", 1)
    except Exception as error:  # noqa: BLE001 - the last line of defence
        where = f"; the traceback is in {log}" if log else ""
        if log is None:
            traceback.print_exc()
        _leave(log, f"Poollab failed unexpectedly: {type(error).__name__}: {error}{where}", 1)


def _take_log() -> Path | None:
    if "--log" not in sys.argv:
        return None
    at = sys.argv.index("--log")
    path = Path(sys.argv[at + 1])
    del sys.argv[at : at + 2]
    return path


def _leave(log: Path | None, text: str, code: int) -> None:
    if text:
        say(text)
    if log is None:
        sys.exit(code)
    try:
        with log.open("a", encoding="utf-8") as file:
            at = datetime.now(UTC).isoformat(timespec="seconds")
            file.write(f"{at} pid {os.getpid()} exit {code}\n{traceback.format_exc()}\n")
    except OSError as error:
        say(f"{log} cannot be written ({error.strerror})")
    sys.exit(code)


def die_with_parent() -> None:
    """Have the kernel kill this process when Snakemake is killed, so that no orphan works on for a dead study."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _interrupt(_number: int, _frame: object) -> None:
    """End by the same path as Ctrl-C, so that what is open gets closed."""
    raise KeyboardInterrupt
