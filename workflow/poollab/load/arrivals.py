"""
Arrival schedules: intended start times, fixed before a run starts (pure: no clock, no loop).

All times are int64 nanoseconds since the first scheduled arrival; a schedule covers [0, window).
"""

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

Schedule = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def uniform(window_ns: int, every_ms: float) -> Schedule:
    """One arrival every `every_ms` milliseconds, the first at 0."""
    return _instants(window_ns, every_ms)


def bursts(window_ns: int, size: int, every_ms: float) -> Schedule:
    """`size` arrivals at the same instant, every `every_ms` milliseconds, the first at 0."""
    return np.repeat(_instants(window_ns, every_ms), size)


def poisson(window_ns: int, rate_per_s: float, rng: np.random.Generator) -> Schedule:
    """Independent arrivals: exponential gaps with mean 1 / `rate_per_s` seconds, the first at 0."""
    # Unit-rate draws, scaled: another rate stretches the same pattern.
    times = _unit_poisson(window_ns / 1e9 * rate_per_s, rng) * (1e9 / rate_per_s)
    return times[times < window_ns].astype(np.int64)


def _unit_poisson(expected: float, rng: np.random.Generator) -> Floats:
    """Arrivals of rate 1 from 0 to beyond `expected`, the first at 0."""
    batches, last = [np.zeros(1)], 0.0
    while last < expected:
        gaps = rng.standard_exponential(max(64, int((expected - last) * 1.1)))
        batches.append(last + np.cumsum(gaps))
        last = float(batches[-1][-1])
    return np.concatenate(batches)


def _instants(window_ns: int, every_ms: float) -> Schedule:
    # From the index, not by adding up: a gap of a third of a millisecond must not drift.
    count = int(-(-window_ns // (every_ms * 1e6)))
    times: Schedule = np.rint(np.arange(count) * (every_ms * 1e6)).astype(np.int64)
    # A gap that divides the window leaves the last one on its end, by a rounding error of the division.
    return times[times < window_ns]


def ramp(window_ns: int, shape: str, size: int, ends_per_s: tuple[float, float], rng: np.random.Generator) -> Schedule:
    """Arrivals whose rate goes evenly from one end to the other: the cumulative rate, inverted; the first at 0."""
    window_s, (first, last) = window_ns / 1e9, ends_per_s
    expected = (first + last) / 2 * window_s
    if shape == "poisson":
        at = _unit_poisson(expected, rng)
    else:
        at = np.arange(int(np.ceil(expected / size)), dtype=np.float64) * size
    at = at[at < expected]
    # a t + c t^2 / 2 = n, solved so that no slope (c = 0) is no division by zero and no difference of near equals.
    slope = (last - first) / window_s
    times_s = 2 * at / (first + np.sqrt(np.maximum(0.0, first * first + 2 * slope * at)))
    times: Schedule = np.rint(times_s * 1e9).astype(np.int64)
    return np.repeat(times[times < window_ns], size)


def steps(window_ns: int, parts: list[dict[str, Any]], rng: np.random.Generator, capacity: float | None) -> Schedule:
    """Schedules one after another, each from its own beginning; the last one ends with the window."""
    made, start_ns = [], 0
    for number, part in enumerate(parts):
        times = _constant(part, round(part["for_s"] * 1e9), rng, capacity)
        # Random arrivals have no memory: only the window's first one is set to 0, no step's.
        made.append(start_ns + (times[1:] if number and "poisson" in part else times))
        start_ns += round(part["for_s"] * 1e9)
    every = np.concatenate(made)
    return every[every < window_ns]


def step_numbers(arrivals: dict[str, Any], times: Schedule) -> npt.NDArray[np.int16] | None:
    """Return for each scheduled time the number of its step, counted from 1; None for a schedule without steps."""
    if "steps" not in arrivals:
        return None
    ends = np.cumsum([round(part["for_s"] * 1e9) for part in arrivals["steps"]])
    numbers = np.searchsorted(ends[:-1], times, side="right") + 1
    return np.asarray(numbers, dtype=np.int16)


def rate_per_s(part: dict[str, Any], capacity: float | None, rate: str = "rate_per_s", share: str = "") -> float:
    """
    Return a schedule's arrivals per second; a share is of the `capacity` that calibration found.

    Raises:
        ValueError: it is a share, and no capacity is known.
    """
    share = share or "share_of_capacity"
    if part.get(rate) is not None:
        return float(part[rate])
    if part.get("every_ms") is not None:
        return 1000.0 * float(part.get("size", 1)) / float(part["every_ms"])
    if capacity is None:
        raise ValueError(f"{share} = {part.get(share)} is a share of a capacity that was not measured")
    return float(part[share]) * capacity


def _constant(arrivals: dict[str, Any], window_ns: int, rng: np.random.Generator, capacity: float | None) -> Schedule:
    for name in ("uniform", "bursts", "poisson"):
        if part := arrivals.get(name):
            size = part.get("size", 1)
            # The gap as it was written, where it was: 1000 / (1000 / gap) is not always the same number.
            every_ms = part.get("every_ms") or 1000 * size / rate_per_s(part, capacity)
            if name == "poisson":
                return poisson(window_ns, rate_per_s(part, capacity), rng)
            return uniform(window_ns, every_ms) if name == "uniform" else bursts(window_ns, size, every_ms)
    raise ValueError(f"unknown arrival schedule: {sorted(arrivals)}")


def warm_up(arrivals: dict[str, Any]) -> dict[str, Any]:
    """Return what the warm-up sends: the first step, a ramp's starting rate, a tenth of a batch, else the same."""
    if parts := arrivals.get("steps"):
        return {key: value for key, value in parts[0].items() if key != "for_s"}
    if part := arrivals.get("ramp"):
        rate = {"rate_per_s": part.get("from_per_s"), "share_of_capacity": part.get("from_share")}
        return {part["shape"]: {"size": part.get("size", 1), **{k: v for k, v in rate.items() if v is not None}}}
    if part := arrivals.get("batch"):
        return {"batch": {"size": -(-part["size"] // 10)}}
    return arrivals


def schedule(
    arrivals: dict[str, Any], window_s: float, rng: np.random.Generator, capacity: float | None = None
) -> Schedule:
    """
    Build the schedule that a study declares (`arrivals` as plain JSON values).

    `capacity` in requests per second is what shares are of. A closed loop has no schedule: its column is blank
    (zeros), and as long as the most requests that the window may hold.

    Raises:
        ValueError: no known schedule is named, or a share is of a capacity that was not measured.
    """
    window_ns = round(window_s * 1e9)
    if part := arrivals.get("batch"):
        return np.zeros(part["size"], dtype=np.int64)
    if part := arrivals.get("closed"):
        return np.zeros(most_of_closed(part, window_s), dtype=np.int64)
    if part := arrivals.get("ramp"):
        names = (("from_per_s", "from_share"), ("to_per_s", "to_share"))
        first, last = (rate_per_s(part, capacity, rate, share) for rate, share in names)
        return ramp(window_ns, part["shape"], part.get("size", 1), (first, last), rng)
    if parts := arrivals.get("steps"):
        return steps(window_ns, parts, rng, capacity)
    return _constant(arrivals, window_ns, rng, capacity)


def expected(arrivals: dict[str, Any], window_s: float, capacity: float | None = None) -> float:
    """Return how many requests a window is to hold: the mean where drawn, the most of a closed loop."""
    if part := arrivals.get("batch"):
        return float(part["size"])
    if part := arrivals.get("closed"):
        return float(most_of_closed(part, window_s))
    if part := arrivals.get("ramp"):
        ends = (("from_per_s", "from_share"), ("to_per_s", "to_share"))
        return sum(rate_per_s(part, capacity, rate, share) for rate, share in ends) / 2 * window_s
    if parts := arrivals.get("steps"):
        return sum(expected(part, part["for_s"], capacity) for part in parts)
    return (
        sum(rate_per_s(arrivals[name], capacity) for name in ("uniform", "bursts", "poisson") if name in arrivals)
        * window_s
    )


def most_of_closed(part: dict[str, Any], window_s: float) -> int:
    """Return the most requests that a closed loop may make in a window."""
    most = part["max_per_s"] * window_s
    if think_ms := part.get("think_ms"):
        most = min(most, part["workers"] * (window_s * 1000 / think_ms + 1))
    return max(int(part["workers"]), int(np.ceil(most)))


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
