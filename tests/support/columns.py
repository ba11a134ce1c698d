"""Synthetic requests: the raw columns that the load generator would have written."""

from typing import Any

import numpy as np
import numpy.typing as npt

from poollab.load.rows import ABSENT, OK

Ints = npt.NDArray[np.int64]
MS = 1_000_000


def served(scheduled: Ints, *, late: Any = 0, wait: Any = 0, trip: Any = MS, release: Any = 1000) -> dict[str, Ints]:
    """Return columns of requests that all ended ok; each interval in ns is a number or one value for each request."""
    started = scheduled + np.broadcast_to(late, scheduled.shape).astype(np.int64)
    acquired = started + np.broadcast_to(wait, scheduled.shape).astype(np.int64)
    result = acquired + np.broadcast_to(trip, scheduled.shape).astype(np.int64)
    return {
        "scheduled": scheduled.astype(np.int64),
        "started": started,
        "acquired": acquired,
        "result": result,
        "released": result + np.broadcast_to(release, scheduled.shape).astype(np.int64),
        "status": np.full(scheduled.shape, OK, dtype=np.int64),
        "backend": 100 + np.arange(len(scheduled), dtype=np.int64) % 3,
    }


def every(gap_ns: int, count: int) -> Ints:
    """Return `count` evenly spaced arrivals from 0."""
    return np.arange(count, dtype=np.int64) * gap_ns


def fail(columns: dict[str, Ints], which: Any, status: int, *absent: str) -> None:
    """Give some requests another status and take stamps away from them."""
    columns["status"][which] = status
    for name in absent:
        columns[name][which] = ABSENT
