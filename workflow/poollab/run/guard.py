"""
The guard: is the host calm enough to begin a cell, and does it stay so while one is measured?

Signals are short (a sliding window of some seconds): load averages lag both ways and count our own bursts.
What others take is the host's busy CPU time less our own groups' and this process's.
"""

import os
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from poollab.errors import SafetyStop
from poollab.lab.base import CounterSource
from poollab.run.busiest import busiest
from poollab.run.sampling import Host

#: How long the look before a cell takes, in seconds.
LOOK_S = 0.25
MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Limits of config.yaml's `safety`; shares are of all CPUs, from 0 to 1."""

    other_cpu: float
    runnable_per_cpu: float
    steal: float
    min_available_mib: int
    min_free_disk_mib: int
    max_temperature_c: float
    window_s: float
    calm_within_s: float

    @classmethod
    def of(cls, safety: Mapping[str, Any]) -> "Thresholds":
        """Take the guard's part of the safety section."""
        return cls(**{field.name: safety[field.name] for field in fields(cls)})


@dataclass(frozen=True, slots=True)
class Reading:
    """One look at the host."""

    at_ns: int
    busy_ns: int
    own_ns: int
    steal_ns: int
    runnable: int
    available_bytes: int
    free_disk_bytes: int
    temperature_c: float | None


class Guard:
    """Keeps the readings of the last seconds and judges them; `ours` counts the CPU time of our own sides."""

    def __init__(self, limits: Thresholds, ours: list[CounterSource], folders: Sequence[Path]) -> None:
        self.limits, self.ours, self._folders = limits, ours, folders
        self._cpus = os.cpu_count() or 1
        self._host = Host()
        self._thermal = thermal_files()
        self._readings: deque[Reading] = deque()
        self._own_tasks = 0
        self.waited_s = 0.0

    def count_too(self, side: CounterSource, tasks: int = 0) -> None:
        """
        Count a side as ours from here on, and allow so many runnable threads and processes of our own.

        Its total may come from many cells; beside readings without it, others would seem to use nothing.
        """
        self.ours.append(side)
        self._own_tasks += tasks
        self._readings.clear()

    def look(self) -> None:
        """Take a reading and forget those older than the window."""
        host = self._host.read()
        now = time.monotonic_ns()
        self._readings.append(
            Reading(
                at_ns=now,
                busy_ns=host["host_busy_ns"] or 0,
                own_ns=sum(side.read_cpu() or 0 for side in self.ours) + time.process_time_ns(),
                steal_ns=host["host_steal_ns"] or 0,
                runnable=host["host_runnable"] or 0,
                available_bytes=host["host_available_bytes"] or 0,
                free_disk_bytes=min(_free(folder) for folder in self._folders),
                temperature_c=_hottest(self._thermal),
            )
        )
        while now - self._readings[0].at_ns > self.limits.window_s * 1e9 and len(self._readings) > 2:
            self._readings.popleft()

    def trouble(self, over_s: float) -> str | None:
        """Return what is over its threshold for at least `over_s` seconds, with reading and limit; None if calm."""
        return self._crowded(over_s) or self._stolen(over_s) or self._standing()

    def _span_ns(self, over_s: float) -> int | None:
        """Return the time between first and last reading, None where it is too short to judge."""
        span_ns = self._readings[-1].at_ns - self._readings[0].at_ns
        return None if span_ns < over_s * 1e9 else span_ns

    def _crowded(self, over_s: float) -> str | None:
        """Judge what other processes take."""
        if (span_ns := self._span_ns(over_s)) is None:
            return None
        first, last, limits = self._readings[0], self._readings[-1], self.limits
        busy_ns = last.busy_ns - first.busy_ns - (last.own_ns - first.own_ns)
        others = max(0.0, busy_ns / (span_ns * self._cpus))
        if others > limits.other_cpu:
            return (
                f"others use {others * self._cpus:.2f} of {self._cpus} CPUs "
                f"(allowed {limits.other_cpu * self._cpus:.2f}, safety.other_cpu = {limits.other_cpu:g})"
            )
        runnable = sum(r.runnable for r in self._readings) / len(self._readings)
        # Which of the runnable ones are ours is dear to find out, and how many of them ours can be is known.
        most = limits.runnable_per_cpu * self._cpus + self._own_tasks
        if runnable > most:
            own = f" and {self._own_tasks} that are this cell's own" if self._own_tasks else ""
            allowed = f"allowed {limits.runnable_per_cpu * self._cpus:g}, safety.runnable_per_cpu{own}"
            return f"{runnable:.0f} processes are runnable ({allowed})"
        return None

    def _stolen(self, over_s: float) -> str | None:
        if (span_ns := self._span_ns(over_s)) is None:
            return None
        steal = (self._readings[-1].steal_ns - self._readings[0].steal_ns) / (span_ns * self._cpus)
        if steal > self.limits.steal:
            return f"{steal:.0%} of the CPU time is stolen (allowed {self.limits.steal:.0%}, safety.steal)"
        return None

    def _culprit(self, over_s: float) -> str:
        """Name the busiest other process where processes are the trouble; takes half a second, so only then."""
        if self._crowded(over_s) is None:
            return ""
        most = busiest([pid for side in self.ours for pid in side.pids()])
        return f"; the busiest of them just now is {most}" if most else "; none of them is busy by itself just now"

    def _standing(self) -> str | None:
        last, limits = self._readings[-1], self.limits
        if last.available_bytes < limits.min_available_mib * MIB:
            left = last.available_bytes // MIB
            return f"{left} MiB of memory are available (needed {limits.min_available_mib}, safety.min_available_mib)"
        if last.free_disk_bytes < limits.min_free_disk_mib * MIB:
            left = last.free_disk_bytes // MIB
            return f"{left} MiB of disk are free (needed {limits.min_free_disk_mib}, safety.min_free_disk_mib)"
        if last.temperature_c is not None and last.temperature_c > limits.max_temperature_c:
            most = f"allowed {limits.max_temperature_c:g}, safety.max_temperature_c"
            return f"a sensor reads {last.temperature_c:.0f} degrees C ({most})"
        return None

    def check(self, phase: str) -> None:
        """
        Look, and break the run off when a threshold has been passed for the whole window.

        Raises:
            SafetyStop: with the reading that tripped it, the phase of the run, and who is busiest where that is known.
        """
        self.look()
        over_s = self.limits.window_s * 0.9
        trouble = self.trouble(over_s)
        if trouble is not None:
            raise SafetyStop(f"{trouble}, during {phase}{self._culprit(over_s)}")

    def wait_until_calm(self, say: Callable[[str], None]) -> None:
        """
        Return when the host is calm; says once what it waits for, and how long at most.

        Raises:
            SafetyStop: it did not become calm within `safety.calm_within_s`.
        """
        begun, pause, told = time.monotonic(), LOOK_S, False
        most_s = f"{self.limits.calm_within_s:g} s"
        while True:
            self._readings.clear()
            self.look()
            time.sleep(pause)
            self.look()
            trouble = self.trouble(0.0)
            self.waited_s = time.monotonic() - begun if told else 0.0
            if trouble is None:
                return
            if time.monotonic() - begun > self.limits.calm_within_s:
                raise SafetyStop(f"{trouble}, before the cell, for {most_s} (safety.calm_within_s){self._culprit(0.0)}")
            if not told:
                say(f"Waiting for a calm host: {trouble}{self._culprit(0.0)}. For at most {most_s}.")
            # A longer look from here on, so that a lull between two bursts is no calm.
            told, pause = True, 1.0


def thermal_files() -> list[Path]:
    """List the machine's temperature sensors that psutil knows, as files that are cheap to read."""
    import psutil  # noqa: PLC0415 - only asked whether there is a sensor

    if not getattr(psutil, "sensors_temperatures", dict)():
        return []
    return sorted(Path("/sys/class/thermal").glob("thermal_zone*/temp"))


def _hottest(files: list[Path]) -> float | None:
    found = []
    for path in files:
        try:
            found.append(int(path.read_text()) / 1000)
        except (OSError, ValueError):
            continue
    return max(found, default=None)


def _free(folder: Path) -> int:
    stat = os.statvfs(folder)
    return stat.f_bavail * stat.f_frsize
