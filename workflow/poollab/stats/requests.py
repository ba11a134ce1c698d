"""Interval means and percentiles of a set of requests."""

from typing import Any

import numpy as np
import pandas as pd

from poollab.data.schemas import INTERVALS, OVERALL, STATUSES
from poollab.quantiles import beyond, nearest_rank


def numbers(rows: pd.DataFrame) -> dict[str, Any]:
    """
    Return counts, interval means and percentiles of requests (columns as in data/schemas.py).

    Means and percentiles of intervals are over requests with status ok, which have all five stamps: the
    same rows for each interval, so the four means add up to the overall mean. The scheduling delay's
    percentile is over every request that was started, since lateness of a failed one counts too.
    """
    done = rows[rows["status"] == "ok"]
    values: dict[str, Any] = {"requests": len(rows), "requests_ok": len(done)}
    values |= {f"requests_{status}": int((rows["status"] == status).sum()) for status in STATUSES[1:]}
    for name, start, end in (*INTERVALS, OVERALL):
        values[f"{name}_mean_ns"] = float(interval(done, start, end).mean()) if len(done) else None
    overall = interval(done, *OVERALL[1:])
    for share in (50, 95, 99):
        values[f"overall_p{share}_ns"] = nearest_rank(overall, share / 100)
        values[f"overall_beyond_p{share}"] = beyond(len(overall), share / 100)
    values["overall_max_ns"] = int(overall.max()) if len(overall) else None
    late = interval(rows[rows["started_ns"].notna()], "scheduled_ns", "started_ns")
    values["scheduling_delay_p99_ns"] = nearest_rank(late, 0.99)
    values["scheduling_delay_max_ns"] = int(late.max()) if len(late) else None
    return values


def interval(rows: pd.DataFrame, start: str, end: str) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the differences of two stamps in ns as int64 (the rows must have both)."""
    return np.asarray(rows[end].astype("int64").to_numpy() - rows[start].astype("int64").to_numpy(), dtype=np.int64)
