"""
A run that did not keep its rate, over time: how late its answers were, and how fast that grew.

Percentiles of such a run say how long it went on and nothing else, since it had no steady state; its lag does.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from poollab.stats.rows import ABSENT, Rows

Row = dict[str, Any]

#: Bins of the window over which the lag is given.
BINS = 24


def build(rows: Rows, run: Row, measure_s: float) -> Row:
    """
    Return the lag (end - scheduled, ns) of one run in bins of its window, and its growth in ms for each second.

    The growth is a least-squares line over all requests that ended; None for fewer than two of them. Requests
    that never ended are counted in `unended` and are in no lag.
    """
    ended = rows.where(rows.end_ns != ABSENT)
    lag, at = ended.end_ns - ended.scheduled_ns, ended.scheduled_ns
    place = np.digitize(at, np.linspace(0, measure_s * 1e9, BINS + 1)) - 1
    inside = [lag[place == number] for number in range(BINS)]
    return {
        **{key: run[key] for key in ("cell", "workload", "arm", "limits", "repeat", "status")},
        "bin_s": measure_s / BINS,
        "median_ns": [float(np.median(each)) if len(each) else None for each in inside],
        "max_ns": [int(each.max()) if len(each) else None for each in inside],
        "growth_ms_per_s": _growth(at, lag),
        "unended": int((rows.end_ns == ABSENT).sum()),
    }


def _growth(at: npt.NDArray[np.int64], lag: npt.NDArray[np.int64]) -> float | None:
    if len(at) < 2 or at.min() == at.max():
        return None
    slope = float(np.polyfit(at / 1e9, lag / 1e6, 1)[0])
    return round(slope, 4)
