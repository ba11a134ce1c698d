"""
Control groups, version 1 and 2, behind one class: caps in the kernel's units, and membership.

Sources: Linux Documentation/admin-guide/cgroup-v1, cgroup-v2.rst, scheduler/sched-bwc.rst.
"""

import errno
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from poollab.errors import LabError
from poollab.lab.base import Caps
from poollab.lab.counters import CgroupCounters

CONTROLLERS = ("cpu", "cpuacct", "memory")
#: v1 reports "no limit" as the largest page-aligned value; anything near it means none.
_NO_LIMIT = 2**60


def mounts(proc: Path = Path("/proc")) -> dict[str, tuple[Path, str]]:
    """
    Map each v1 controller, and "unified" for v2, to (mount point, root of the mount in the hierarchy).

    The root matters inside containers, where the mount may start below the hierarchy's own root.
    """
    found: dict[str, tuple[Path, str]] = {}
    for line in (proc / "self" / "mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        root, point = before.split(" ")[3:5]
        place = (Path(point.encode().decode("unicode_escape")), root)
        if kind == "cgroup2":
            found.setdefault("unified", place)
        elif kind == "cgroup":
            for name in options.split(" ")[-1].split(","):
                if name in CONTROLLERS:
                    found.setdefault(name, place)
    return found


def _membership(pid: int | str, proc: Path = Path("/proc")) -> dict[str, str]:
    """Map each controller ("unified" for v2) to the path of the group in which a process lives."""
    paths = {}
    for line in (proc / str(pid) / "cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        for name in names.split(",") if names else ["unified"]:
            paths[name] = path
    return paths


@dataclass(frozen=True, slots=True)
class Group:
    """One group; `dirs` maps cpu, cpuacct and memory to their folders (all the same one on v2)."""

    version: int
    dirs: dict[str, Path]

    @classmethod
    def of_pid(cls, pid: int | str, proc: Path = Path("/proc")) -> "Group | None":
        """Find the group of a process as this host's files show it; None where they cannot be seen."""
        try:
            where, paths = mounts(proc), _membership(pid, proc)
        except OSError:
            return None
        names = CONTROLLERS if "cpu" in where else ("unified",)
        dirs = {}
        for name in names:
            if name not in where or name not in paths:
                return None
            point, root = where[name]
            inner = paths[name]
            if root != "/" and (inner == root or inner.startswith(root + "/")):
                inner = inner[len(root) :]
            dirs[name] = point / inner.lstrip("/")
        if not all(d.is_dir() for d in dirs.values()):
            return None
        if names == CONTROLLERS:
            return cls(1, dirs)
        return cls(2, dict.fromkeys(CONTROLLERS, dirs["unified"]))

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Group":
        """Rebuild a group from a lab record."""
        return cls(data["version"], {k: Path(v) for k, v in data["dirs"].items()})

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"version": self.version, "dirs": {k: str(v) for k, v in self.dirs.items()}}

    @property
    def folders(self) -> list[Path]:
        """The group's folders, each once."""
        return list(dict.fromkeys(self.dirs.values()))

    def child(self, *names: str) -> "Group":
        """Return the group below this one; it need not exist yet."""
        return Group(self.version, {k: v.joinpath(*names) for k, v in self.dirs.items()})

    def exists(self) -> bool:
        """Tell whether any of the group's folders is there."""
        return any(folder.is_dir() for folder in self.folders)

    def create(self) -> None:
        """Make the group's folders; raises OSError where this user may not."""
        for folder in self.folders:
            folder.mkdir(exist_ok=True)

    def delegate(self) -> None:
        """Let children have the CPU and memory controllers (v2 asks for it at each level)."""
        if self.version == 2:
            (self.dirs["cpu"] / "cgroup.subtree_control").write_text("+cpu +memory")

    def enter(self, pid: int = 0) -> None:
        """Move a process (0: this one) into the group; later children follow it."""
        for folder in self.folders:
            (folder / "cgroup.procs").write_text(str(pid))

    def procs(self) -> list[int]:
        """List the processes in the group; empty when it is gone."""
        try:
            return [int(line) for line in (self.dirs["cpu"] / "cgroup.procs").read_text().split()]
        except FileNotFoundError:
            return []

    def remove(self, patience_s: float = 5.0) -> int:
        """Remove the group's folders; return how many there were. Processes must have ended before."""
        removed, deadline = 0, time.monotonic() + patience_s
        for folder in self.folders:
            while True:
                try:
                    folder.rmdir()
                    removed += 1
                except FileNotFoundError:
                    pass
                except OSError as error:
                    # A process that has just died still holds its group for a moment.
                    if error.errno == errno.EBUSY and time.monotonic() < deadline:
                        time.sleep(0.02)
                        continue
                    raise
                break
        return removed

    def set_caps(self, caps: Caps) -> None:
        """
        Write caps into the live group.

        Raises:
            LabError: the kernel refuses a value; says which file, value and reason.
        """
        quota = caps.quota_us if caps.quota_us is not None else -1
        period = caps.period_us or 100_000
        if self.version == 1:
            # An uncapped quota in between keeps every intermediate pair of values legal.
            self._write("cpu", "cpu.cfs_quota_us", "-1")
            self._write("cpu", "cpu.cfs_period_us", str(period))
            self._write("cpu", "cpu.cfs_quota_us", str(quota))
            self._set_memory_v1(caps.memory_bytes)
        else:
            self._write("cpu", "cpu.max", f"{'max' if quota < 0 else quota} {period}")
            self._write("memory", "memory.max", "max" if caps.memory_bytes is None else str(caps.memory_bytes))
            self._write_optional("memory.swap.max", "max" if caps.memory_bytes is None else "0")

    def _set_memory_v1(self, size: int | None) -> None:
        # Memory plus swap may never be below memory alone, so it is lifted first and lowered last.
        self._write_optional("memory.memsw.limit_in_bytes", "-1")
        self._write("memory", "memory.limit_in_bytes", str(-1 if size is None else size))
        if size is not None:
            self._write_optional("memory.memsw.limit_in_bytes", str(size))

    def read_caps(self) -> Caps:
        """Return the caps that the kernel holds for this group itself."""
        cpu, memory = self._cpu_cap(self.dirs["cpu"]), self._memory_cap(self.dirs["memory"])
        return Caps(cpu.quota_us, cpu.period_us, memory.memory_bytes)

    def tightest_caps(self) -> Caps:
        """
        Return the caps that bind here: an ancestor may allow less than the group itself.

        Each controller is walked on its own: on v1 their hierarchies differ in depth, and on v2 a level
        may have one of them only.
        """
        cpus, memories = (
            [cap for folder in _upwards(self.dirs[name]) if (cap := _or_none(read, folder))]
            for name, read in (("cpu", self._cpu_cap), ("memory", self._memory_cap))
        )
        cpu = min((c for c in cpus if c.cores is not None), key=lambda c: c.cores or 0, default=Caps(None, None, None))
        memory = min((c.memory_bytes for c in memories if c.memory_bytes is not None), default=None)
        return Caps(cpu.quota_us, cpu.period_us, memory)

    def _cpu_cap(self, folder: Path) -> Caps:
        if self.version == 1:
            quota, period = (int((folder / f"cpu.cfs_{n}_us").read_text()) for n in ("quota", "period"))
            return Caps(None if quota < 0 else quota, period, None)
        quota_text, period_text = ((folder / "cpu.max").read_text().strip() or "max 100000").split()
        return Caps(None if quota_text == "max" else int(quota_text), int(period_text), None)

    def _memory_cap(self, folder: Path) -> Caps:
        name = "memory.limit_in_bytes" if self.version == 1 else "memory.max"
        text = (folder / name).read_text().strip()
        return Caps(None, None, None if text in ("", "max") or int(text) >= _NO_LIMIT else int(text))

    def counters(self) -> CgroupCounters:
        """Return a reader that keeps the counter files open."""
        return CgroupCounters(self.version, self.dirs)

    def _write(self, controller: str, name: str, value: str) -> None:
        path = self.dirs[controller] / name
        try:
            path.write_text(value)
        except OSError as error:
            raise LabError(f"{path} refuses {value!r} ({error.strerror}); is another cap above it tighter?") from None

    def _write_optional(self, name: str, value: str) -> None:
        """Swap accounting is a kernel option; without it there is nothing to cap."""
        path = self.dirs["memory"] / name
        if path.exists():
            path.write_text(value)


def _upwards(folder: Path) -> Iterator[Path]:
    """Give a group's folder and all above it up to the root of its hierarchy."""
    yield folder
    while (folder.parent / "cgroup.procs").exists() and folder.parent != folder:
        folder = folder.parent
        yield folder


def _or_none(read: Callable[[Path], Caps], folder: Path) -> Caps | None:
    try:
        return read(folder)
    except (OSError, ValueError):
        return None
