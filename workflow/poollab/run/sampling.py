"""Readings during a run, from the cgroups of both sides and from the host."""

import os
from typing import Any

from poollab.lab.base import Counters, CounterSource
from poollab.lab.counters import CgroupCounters
from poollab.lab.procs import Backends

SIDE_VALUES = (
    "cpu_ns",
    "periods",
    "throttled",
    "throttled_ns",
    "memory_bytes",
    "anon_bytes",
    "file_bytes",
    "shmem_bytes",
    "kernel_bytes",
    "inactive_file_bytes",
)

#: Between two looks at the server's sessions; each title is read once, so that a look takes a tenth of a millisecond.
LOOK_EVERY_NS = 1_000_000_000


class Host:
    """The whole machine, from /proc/stat and /proc/meminfo, opened once."""

    def __init__(self) -> None:
        self._stat = os.open("/proc/stat", os.O_RDONLY | os.O_CLOEXEC)
        self._memory = os.open("/proc/meminfo", os.O_RDONLY | os.O_CLOEXEC)
        self._tick_ns = 1_000_000_000 // os.sysconf("SC_CLK_TCK")

    def read(self) -> dict[str, int | None]:
        """Return busy and stolen CPU time so far (ns), runnable processes now, and available memory."""
        text = os.pread(self._stat, 65536, 0)
        fields = [int(f) for f in text[: text.index(b"\n")].split()[1:9]]
        user, nice, system, _idle, _iowait, irq, softirq, steal = fields
        at = text.find(b"procs_running ")
        memory = os.pread(self._memory, 4096, 0)
        here = memory.find(b"MemAvailable:")
        return {
            "host_busy_ns": (user + nice + system + irq + softirq) * self._tick_ns,
            "host_steal_ns": steal * self._tick_ns,
            "host_runnable": int(text[at + 14 : text.index(b"\n", at)]) if at >= 0 else None,
            "host_available_bytes": int(memory[here + 13 : memory.index(b"kB", here)]) * 1024 if here >= 0 else None,
        }


class Sampler:
    """Collects rows for samples.parquet; each column is a plain list until the run is over."""

    def __init__(self, database: CounterSource, generator: CounterSource) -> None:
        self._sources = {"database": database, "generator": generator}
        self._host, self._backends = Host(), Backends()
        self._look_at_ns: int | None = None
        self.columns: dict[str, list[int | None]] = {}

    def take(self) -> dict[str, Counters]:
        """Read everything once and keep it; return both sides' counters."""
        readings = {side: source.read() for side, source in self._sources.items()}
        row: dict[str, Any] = {"at_ns": readings["database"].at_ns}
        for side, reading in readings.items():
            row |= {f"{side}_{name}": getattr(reading, name) for name in SIDE_VALUES}
        row["database_sessions"] = self._sessions(readings["database"].at_ns)
        for name, value in (row | self._host.read()).items():
            self.columns.setdefault(name, []).append(value)
        return readings

    def _sessions(self, now_ns: int) -> int | None:
        """
        Count the server's client sessions once a second; None in between, and where they cost too much to see.

        Not at the first reading, which marks zero: the first look reads every title.
        """
        database, due_ns = self._sources["database"], self._look_at_ns
        if due_ns is None:
            self._look_at_ns = now_ns
        if due_ns is None or now_ns < due_ns or not isinstance(database, CgroupCounters):
            return None
        self._look_at_ns = now_ns + LOOK_EVERY_NS
        return self._backends.count(database.pids())
