"""How a process of the embedded lab is born: in its group, as its user, with nothing of our environment."""

import ctypes
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from poollab.lab import binaries, groups
from poollab.lab.base import Caps, CounterSource
from poollab.lab.cgroup import Group

_PR_SET_PDEATHSIG = 1
_STOPPING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
#: Found here, before any fork: looking a library up after a fork may deadlock.
_LIBC = ctypes.CDLL(None, use_errno=True)


class EmbeddedGenerator:
    """See `GeneratorProcess` in base.py."""

    def __init__(self, command: list[str], scratch: Path, group: Group | None) -> None:
        self._group = group
        self._kills_before = self._kills()
        package = Path(__file__).resolve().parents[2]
        self._log = scratch / "errors.txt"
        with self._log.open("wb") as log, signals_held():
            self._process = subprocess.Popen(
                command,
                cwd=scratch,
                env={**clean_environment(), "PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=become(binaries.Account(None, None), group, die_with_parent=True),  # noqa: PLW1509 - single-threaded
            )

    @property
    def counters(self) -> CounterSource:
        """Counters of the generator's group, else of its process."""
        return self._group.counters() if self._group else groups.TreeCounters(self._process.pid)

    @property
    def caps(self) -> Caps:
        """Caps as the kernel holds them."""
        return self._group.read_caps() if self._group else Caps(None, None, None)

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        return self._process.poll()

    def killed_for_memory(self) -> bool:
        """Tell whether the group's count of kills has risen since this one was started; groups outlive a cell."""
        kills = self._kills()
        return kills is not None and self._kills_before is not None and kills > self._kills_before

    def _kills(self) -> int | None:
        return self._group.counters().read().oom_kills if self._group else None

    def stop(self) -> None:
        """Kill it and wait for its end."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()

    def errors(self) -> str:
        """Return the end of its output."""
        return self._log.read_text("utf-8", "replace")[-2000:]


@contextmanager
def signals_held() -> Iterator[None]:
    """
    Hold back the signals that end us while a process is born.

    Python calls hooks around a fork and swallows what is raised in them: a Ctrl-C would be lost there.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def clean_environment() -> dict[str, str]:
    """Pass on nothing of the user's environment: it may hold secrets, and PG* variables change libpq."""
    return {"PATH": os.defpath, "LANG": "C.UTF-8", "TZ": "UTC"}


def become(who: binaries.Account, group: Group | None, *, die_with_parent: bool = False) -> Callable[[], None]:
    """
    Return what a child does between fork and exec: enter its group, then drop to its user.

    The order matters: an unprivileged user may not enter the group any more.
    """

    def enter() -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPPING)
        if group is not None:
            group.enter()
        if die_with_parent:
            _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if who.uid is not None and who.gid is not None:
            os.setgroups([])
            os.setgid(who.gid)
            os.setuid(who.uid)
        os.umask(0o077)

    return enter
