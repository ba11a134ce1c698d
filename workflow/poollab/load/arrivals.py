"""
Arrival schedules: intended start times, fixed before a run starts (pure: no clock, no loop).

All times are int64 nanoseconds since the first scheduled arrival; a schedule covers [0, window).
"""

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

Schedule = npt.NDArray[np.int64]


def uniform(window_ns: int, every_ms: float) -> Schedule:
    """One arrival every `every_ms` milliseconds, the first at 0."""
    return _instants(window_ns, every_ms)


def bursts(window_ns: int, size: int, every_ms: float) -> Schedule:
    """`size` arrivals at the same instant, every `every_ms` milliseconds, the first at 0."""
    return np.repeat(_instants(window_ns, every_ms), size)


def poisson(window_ns: int, rate_per_s: float, rng: np.random.Generator) -> Schedule:
    """Independent arrivals: exponential gaps with mean 1 / `rate_per_s` seconds, the first at 0."""
    mean_ns, batches, last = 1e9 / rate_per_s, [np.zeros(1)], 0.0
    while last < window_ns:
        gaps = rng.exponential(mean_ns, max(64, int((window_ns - last) / mean_ns * 1.1)))
        batches.append(last + np.cumsum(gaps))
        last = float(batches[-1][-1])
    times = np.concatenate(batches)
    return times[times < window_ns].astype(np.int64)


def _instants(window_ns: int, every_ms: float) -> Schedule:
    # From the index, not by adding up: a gap of a third of a millisecond must not drift.
    count = int(-(-window_ns // (every_ms * 1e6)))
    times: Schedule = np.rint(np.arange(count) * (every_ms * 1e6)).astype(np.int64)
    # A gap that divides the window leaves the last one on its end, by a rounding error of the division.
    return times[times < window_ns]


def schedule(arrivals: dict[str, Any], window_s: float, rng: np.random.Generator) -> Schedule:
    """
    Build the schedule that a study declares (`arrivals` as plain JSON values).

    Raises:
        ValueError: no known schedule is named.
    """
    window_ns = round(window_s * 1e9)
    if part := arrivals.get("uniform"):
        return uniform(window_ns, part["every_ms"])
    if part := arrivals.get("bursts"):
        return bursts(window_ns, part["size"], part["every_ms"])
    if part := arrivals.get("poisson"):
        return poisson(window_ns, part["rate_per_s"], rng)
    raise ValueError(f"unknown arrival schedule: {sorted(arrivals)}")


def gap_ns(times: Schedule) -> float:
    """Return the mean gap between distinct arrival instants, in nanoseconds (the window's length for one)."""
    instants = np.unique(times)
    return float(instants[-1] - instants[0]) / (len(instants) - 1) if len(instants) > 1 else float("inf")


def first_of_instant(times: Schedule) -> npt.NDArray[np.bool_]:
    """Mark the first request of each arrival instant; the rest of a burst waits for its siblings."""
    return np.concatenate([[True], np.diff(times) > 0]) if len(times) else np.zeros(0, dtype=bool)


def digest(times: Schedule, args: list[npt.NDArray[np.int64]]) -> str:
    """Return 16 hex digits over schedule and arguments: equal for every arm of a workload and repeat."""
    sha = hashlib.sha256(times.astype("<i8").tobytes())
    for column in args:
        sha.update(column.astype("<i8").tobytes())
    return sha.hexdigest()[:16]
