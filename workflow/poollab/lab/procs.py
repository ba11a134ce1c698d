"""Processes as /proc shows them: identity that survives reuse of a pid, trees, Postgres sessions."""

import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path

#: Postgres titles its own helpers so; every other child of the postmaster serves a client.
_HELPERS = (
    "logger",
    "checkpointer",
    "background writer",
    "walwriter",
    "autovacuum",
    "archiver",
    "stats collector",
    "logical replication",
    "startup",
    "walreceiver",
    "walsender",
    "slotsync",
    "io worker",
    "parallel worker",
)


def _stat(pid: int) -> list[str] | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return None
    # The second field is the command in parentheses and may itself hold spaces and parentheses.
    return text[text.rindex(")") + 2 :].split()


def numbers() -> list[int]:
    """List the ids of all processes that this user can see."""
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def start_time(pid: int) -> int | None:
    """Return when a process started, in clock ticks since boot; None when there is none."""
    fields = _stat(pid)
    return int(fields[19]) if fields else None


def alive(pid: int, started: int | None) -> bool:
    """
    Tell whether the process that had this pid and start time still runs.

    A zombie holds nothing but its number, so it does not count; a reused pid is another process.
    """
    fields = _stat(pid)
    return fields is not None and fields[0] not in "ZX" and (started is None or int(fields[19]) == started)


def stopped(pid: int) -> bool:
    """Tell whether a process is stopped by a signal (state T)."""
    fields = _stat(pid)
    return fields is not None and fields[0] == "T"


def descendants(pid: int) -> list[int]:
    """List a process and all below it that are not zombies."""
    children: dict[int, list[int]] = {}
    found = {}
    for entry in numbers():
        if (fields := _stat(entry)) and fields[0] not in "ZX":
            children.setdefault(int(fields[1]), []).append(entry)
            found[entry] = True
    todo, tree = [pid], []
    while todo:
        here = todo.pop()
        if here in found:
            tree.append(here)
        todo += children.get(here, [])
    return tree


def title(pid: int) -> str:
    """Return a process's title (its command line, as Postgres rewrites it), empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        return ""


def client_backends(pids: Iterable[int]) -> int:
    """Count the Postgres client sessions among some processes by their titles."""
    return Backends().count(pids)


class Backends:
    """Counts sessions again and again; what a process is for never changes, so each title is read only once."""

    def __init__(self) -> None:
        self._serves: dict[int, bool | None] = {}

    def count(self, pids: Iterable[int]) -> int:
        """Count the client sessions among some processes of a server."""
        known, self._serves = self._serves, {}
        for pid in pids:
            serves = known.get(pid)
            self._serves[pid] = _serves_a_client(title(pid)) if serves is None else serves
        return sum(serves is True for serves in self._serves.values())


def _serves_a_client(text: str) -> bool | None:
    """Tell from a process's title; None for one that has none of the server's titles (yet)."""
    if not text.startswith("postgres: "):
        return None
    return not text[len("postgres: ") :].startswith(_HELPERS)


def cpu_ns(pids: Iterable[int]) -> int:
    """Sum the CPU time of some processes in nanoseconds (resolution: one clock tick)."""
    tick_ns = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    return sum(sum(int(f) for f in fields[11:15]) * tick_ns for pid in pids if (fields := _stat(pid)))


def end(pids: Iterable[tuple[int, int | None]], grace_s: float = 5.0) -> int:
    """
    End processes given as (pid, start time): SIGTERM, then SIGKILL after the grace; return how many ran.

    SIGCONT goes first, since a stopped process takes no other signal.
    """
    targets = [(pid, started) for pid, started in pids if alive(pid, started)]
    deadline = time.monotonic() + grace_s
    for sig in (signal.SIGCONT, signal.SIGTERM):
        send(targets, sig)
    while any(alive(*t) for t in targets) and time.monotonic() < deadline:
        time.sleep(0.01)
    send(targets, signal.SIGKILL)
    deadline = time.monotonic() + 5
    while any(alive(*t) for t in targets) and time.monotonic() < deadline:
        time.sleep(0.01)
    return len(targets)


def send(targets: Iterable[tuple[int, int | None]], sig: signal.Signals) -> None:
    """Send a signal to those processes, given as (pid, start time), that still run."""
    for pid, started in targets:
        if alive(pid, started):
            try:
                os.kill(pid, sig)
            except ProcessLookupError:
                continue
