"""
What a study file asks for: how many requests, and how many of them by which moment.

It is computed here again, from the declaration alone, so that the delivered load is not held against itself.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Part = dict[str, Any]


def count(arrivals: Part, window_s: float, capacity_per_s: float | None = None) -> float | None:
    """Return how many requests are asked for (the mean, where drawn); None for a closed loop or an unknown capacity."""
    if batch := arrivals.get("batch"):
        return float(batch["size"])
    if steps := arrivals.get("steps"):
        return _total([count(step, step["for_s"], capacity_per_s) for step in steps])
    part: Part = arrivals.get("uniform") or arrivals.get("bursts") or {}
    if every_ms := part.get("every_ms"):
        return float(math.ceil((window_s * 1000 - 5e-7) / every_ms) * part.get("size", 1))
    ends = _rates(arrivals, capacity_per_s)
    if ends is None:
        return None
    if part:
        size = part.get("size", 1)
        return float(math.ceil(round(ends[0] / size * window_s, 6)) * size)
    return sum(ends) / 2 * window_s


def random(arrivals: Part) -> bool:
    """Tell whether all arrivals are drawn (Poisson)."""
    if steps := arrivals.get("steps"):
        return all(random(step) for step in steps)
    return bool(arrivals.get("poisson")) or (arrivals.get("ramp") or {}).get("shape") == "poisson"


def cumulative(arrivals: Part, times_s: Floats, window_s: float, capacity_per_s: float | None) -> Floats | None:
    """Return how many random arrivals are asked for up to each time; None where the rate is not known."""
    if steps := arrivals.get("steps"):
        return _over_steps(steps, times_s, capacity_per_s)
    ends = _rates(arrivals, capacity_per_s)
    if ends is None:
        return None
    grown: Floats = ends[0] * times_s + (ends[1] - ends[0]) * times_s**2 / (2 * window_s)
    return grown


def _over_steps(steps: list[Part], times_s: Floats, capacity_per_s: float | None) -> Floats | None:
    due, begin = np.zeros(len(times_s)), 0.0
    for step in steps:
        inside = np.clip(times_s - begin, 0, step["for_s"])
        part = cumulative({k: v for k, v in step.items() if k != "for_s"}, inside, step["for_s"], capacity_per_s)
        if part is None:
            return None
        due, begin = due + part, begin + step["for_s"]
    return due


def _rates(arrivals: Part, capacity_per_s: float | None) -> tuple[float, float] | None:
    """Return the rates at the beginning and the end of the window, in requests per second."""
    ramp: Part = arrivals.get("ramp") or {}
    part: Part = arrivals.get("uniform") or arrivals.get("bursts") or arrivals.get("poisson") or {}
    if ramp:
        ends = [_rate(ramp.get(f"{end}_per_s"), ramp.get(f"{end}_share"), capacity_per_s) for end in ("from", "to")]
    else:
        every_ms = part.get("every_ms")
        stated = 1000 * part.get("size", 1) / every_ms if every_ms else part.get("rate_per_s")
        ends = [_rate(stated, part.get("share_of_capacity"), capacity_per_s)] * 2
    return None if ends[0] is None or ends[1] is None else (ends[0], ends[1])


def _rate(rate_per_s: float | None, share: float | None, capacity_per_s: float | None) -> float | None:
    if rate_per_s is not None:
        return float(rate_per_s)
    return None if share is None or capacity_per_s is None else share * capacity_per_s


def _total(counts: list[float | None]) -> float | None:
    return None if None in counts else sum(n for n in counts if n is not None)
