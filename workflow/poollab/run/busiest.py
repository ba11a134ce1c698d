"""The busiest process that is none of ours, for the message of a guard that has tripped; never looked for before."""

import os
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

#: How long the look takes; with clock ticks of 10 ms a share is known to 2 % of a CPU.
LOOK_S = 0.5
#: Less than this is nobody's disturbance.
WORTH_NAMING_CPUS = 0.05


@dataclass(frozen=True, slots=True)
class Busy:
    """A process by its number and its command's name, and the CPUs that it took."""

    pid: int
    name: str
    cpus: float

    def __str__(self) -> str:
        return f"process {self.pid} ({self.name}) with {self.cpus:.2f} CPUs"


def busiest(ours: Collection[int], over_s: float = LOOK_S) -> Busy | None:
    """
    Watch all processes for a moment and return the one that took most CPU.

    Leaves out this process and `ours`; None where none took enough to be named, or this user sees none.
    The name is the kernel's (15 characters at most): arguments may hold secrets and are never read.
    """
    skip = {os.getpid(), *ours}
    before, begun = _used(), time.monotonic()
    time.sleep(over_s)
    after, seconds = _used(), time.monotonic() - begun
    tick_s = 1 / os.sysconf("SC_CLK_TCK")
    found = [
        Busy(pid, name, (ticks - before.get((pid, started), ("", 0))[1]) * tick_s / seconds)
        for (pid, started), (name, ticks) in after.items()
        if pid not in skip
    ]
    most = max(found, key=lambda one: one.cpus, default=None)
    return most if most is not None and most.cpus >= WORTH_NAMING_CPUS else None


def _used() -> dict[tuple[int, int], tuple[str, int]]:
    """Map (process, start time) to its command's name and the clock ticks that it has used."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            text = (entry / "stat").read_text("utf-8", "replace")
        except OSError:
            continue
        # The name stands in parentheses and may itself hold spaces and parentheses.
        name, _, rest = text.partition("(")[2].rpartition(")")
        fields = rest.split()
        found[int(entry.name), int(fields[19])] = (_plain(name), int(fields[11]) + int(fields[12]))
    return found


def _plain(name: str) -> str:
    """A process names itself, so nothing that could steer a terminal is let through."""
    return "".join(c if c.isprintable() else "?" for c in name)
