"""
Counters of a control group, read in place.

The two versions differ in file names and units: v1 counts CPU in ns (cpuacct.usage) and throttled time
in ns, v2 in us. Sources: Linux Documentation/admin-guide/cgroup-v1, cgroup-v2.rst, scheduler/sched-bwc.rst.
"""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from poollab.errors import LabError
from poollab.lab.base import Counters

_V1_FILES = (
    "cpuacct/cpuacct.usage",
    "cpu/cpu.stat",
    "memory/memory.usage_in_bytes",
    "memory/memory.stat",
    "memory/memory.oom_control",
)
_V2_FILES = ("cpu/cpu.stat", "memory/memory.current", "memory/memory.stat", "memory/memory.events")


class CgroupCounters:
    """A CounterSource over one group's files, opened once and read in place."""

    def __init__(self, version: int, dirs: Mapping[str, Path]) -> None:
        self._version, self._folder = version, dirs["cpu"]
        names = _V1_FILES if version == 1 else _V2_FILES
        self._files = {
            name.partition("/")[2]: _open(dirs[name.partition("/")[0]] / name.partition("/")[2]) for name in names
        }
        if version == 1:
            self._files["memory.kmem.usage_in_bytes"] = _open(dirs["memory"] / "memory.kmem.usage_in_bytes")

    def read(self) -> Counters:
        """Return the present values; a file that is not there gives None, never 0."""
        return (
            parse_v1(self._text, time.monotonic_ns())
            if self._version == 1
            else parse_v2(self._text, time.monotonic_ns())
        )

    def read_cpu(self) -> int | None:
        """Return CPU use so far in nanoseconds."""
        if self._version == 1:
            return _number(self._text("cpuacct.usage"))
        usage = _table(self._text("cpu.stat")).get("usage_usec")
        return None if usage is None else usage * 1000

    def pids(self) -> list[int]:
        """List the group's processes."""
        try:
            return [int(line) for line in (self._folder / "cgroup.procs").read_text().split()]
        except OSError:
            return []

    def _text(self, name: str) -> str | None:
        fd = self._files.get(name)
        if fd is None:
            return None
        try:
            return os.pread(fd, 16384, 0).decode()
        except OSError as error:
            raise LabError(
                f"the counters of a capped group cannot be read any more ({error.strerror}): its container or its "
                "processes have ended"
            ) from None

    def close(self) -> None:
        """Close the files."""
        for fd in self._files.values():
            if fd is not None:
                os.close(fd)
        self._files = {}

    def __del__(self) -> None:
        self.close()


def _open(path: Path) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None


def _number(text: str | None) -> int | None:
    return int(text) if text and text.strip().isdigit() else None


def _table(text: str | None) -> dict[str, int]:
    pairs = (line.split(" ") for line in (text or "").splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].lstrip("-").isdigit()}


def _hierarchical(memory: dict[str, int], name: str) -> int | None:
    """Take the sum over the group's own children (total_), which only exists where there is a hierarchy."""
    return memory.get(f"total_{name}", memory.get(name))


def parse_v1(text: Any, at_ns: int) -> Counters:
    """Make counters from a function that returns the text (or None) of each v1 file."""
    cpu, memory = _table(text("cpu.stat")), _table(text("memory.stat"))
    return Counters(
        at_ns=at_ns,
        cpu_ns=_number(text("cpuacct.usage")),
        periods=cpu.get("nr_periods"),
        throttled=cpu.get("nr_throttled"),
        throttled_ns=cpu.get("throttled_time"),
        memory_bytes=_number(text("memory.usage_in_bytes")),
        anon_bytes=_hierarchical(memory, "rss"),
        file_bytes=_hierarchical(memory, "cache"),
        shmem_bytes=_hierarchical(memory, "shmem"),
        kernel_bytes=_number(text("memory.kmem.usage_in_bytes")),
        inactive_file_bytes=_hierarchical(memory, "inactive_file"),
        oom_kills=_table(text("memory.oom_control")).get("oom_kill"),
    )


def parse_v2(text: Any, at_ns: int) -> Counters:
    """Make counters from a function that returns the text (or None) of each v2 file."""
    cpu, memory = _table(text("cpu.stat")), _table(text("memory.stat"))
    usage, throttled = cpu.get("usage_usec"), cpu.get("throttled_usec")
    return Counters(
        at_ns=at_ns,
        cpu_ns=None if usage is None else usage * 1000,
        periods=cpu.get("nr_periods"),
        throttled=cpu.get("nr_throttled"),
        throttled_ns=None if throttled is None else throttled * 1000,
        memory_bytes=_number(text("memory.current")),
        anon_bytes=memory.get("anon"),
        file_bytes=memory.get("file"),
        shmem_bytes=memory.get("shmem"),
        kernel_bytes=memory.get("kernel"),
        inactive_file_bytes=memory.get("inactive_file"),
        oom_kills=_table(text("memory.events")).get("oom_kill"),
    )
