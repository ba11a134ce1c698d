"""
One run over time, of the smallest and of the largest pool of one workload.

Which run is shown is a rule and no choice: the workload (and limits) with the longest mean acquisition wait at its
smallest pool, there the smallest and the largest pool, of each the ok run whose p99 of the overall time is the median
(of an even number the lower of the two in the middle).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from poollab.data.schemas import SAMPLES
from poollab.data.store import read_parquet
from poollab.stats import in_use, waits
from poollab.stats.rows import ABSENT, NEEDED, OPTIONAL, Rows

Row = dict[str, Any]
Floats = npt.NDArray[np.float64]

#: Bins of the window over which the levels are given.
BINS = 48


def chosen(runs: list[Row]) -> list[Row]:
    """List the runs to show by the rule above (rows of RUNS): none where no run is ok, one with a single pool."""
    arms: dict[tuple[str, str], dict[tuple[int, str], list[Row]]] = {}
    for run in runs:
        if run["status"] == "ok" and run["overall_p99_ns"] is not None:
            of = arms.setdefault((run["workload"], run["limits"]), {})
            of.setdefault((run["pool_size"], run["arm"]), []).append(run)
    if not arms:
        return []
    waited = {key: _waited(of[min(of)]) for key, of in arms.items()}
    of = arms[max(waited, key=lambda key: (waited[key], key))]
    return [_median(of[size]) for size in sorted({min(of), max(of)})]


def _waited(runs: list[Row]) -> float:
    return float(np.mean([r["acquisition_wait_mean_ns"] or 0.0 for r in runs]))


def _median(runs: list[Row]) -> Row:
    ordered = sorted(runs, key=lambda r: (r["overall_p99_ns"], r["position"]))
    return ordered[(len(ordered) - 1) // 2]


def build(cells: Path, run: Row, windows: Mapping[str, Any]) -> Row:
    """
    Return one run over time, with its warm-up; times in ns since zero, levels in bins.

    Raises:
        DataError, OSError: the run's files are missing or truncated.
    """
    folder = cells / run["cell"]
    rows = [_given_back(_rows(folder / f"{name}.parquet")) for name in ("warmup", "requests")]
    begun, got, end, left = (np.concatenate(c) for c in zip(*map(_stamps, rows), strict=True))
    spans = [_waits(part, int(run["pool_size"])) for part in rows]
    asked, served = (np.concatenate(c) for c in zip(*spans, strict=True))
    window = float(windows["measure_s"]) * 1e9
    width = window / BINS
    first = float(begun.min(initial=0.0))
    last = max(window, float(left.max(initial=0.0)), float(end.max(initial=0.0)))
    edges = np.arange(np.floor(first / width), np.ceil(last / width) + 1) * width
    return {
        **{key: run[key] for key in ("cell", "workload", "arm", "limits", "pool_size", "repeat", "overall_p99_ns")},
        "cap_cores": run["database_cap_cores"],
        "bin_ns": width,
        "first_ns": float(edges[0]),
        "window_ns": window,
        "last_ns": last,
        "overall": _overall(begun, end, edges),
        "in_use": _level(got, left, edges),
        "waiting": _level(asked, served, edges),
        "cpu": _cpu(folder / "samples.parquet"),
    }


def _rows(path: Path) -> Rows:
    names = pq.read_schema(path).names
    return Rows.of(pq.read_table(path, columns=[n for n in (*NEEDED, *OPTIONAL) if n in names]))


def _given_back(rows: Rows) -> Rows:
    """Return the requests whose connection was given back: only their spans have an end."""
    return rows.where((rows.acquired_ns != ABSENT) & (rows.released_ns != ABSENT))


def _stamps(rows: Rows) -> tuple[Floats, ...]:
    # A connection that is passed on is one connection: its first user's stamp of the release comes too late.
    columns = (rows.scheduled_ns, rows.acquired_ns, rows.end_ns, in_use.freed_ns(rows))
    return tuple(column.astype(np.float64) for column in columns)


def _waits(rows: Rows, size: int) -> tuple[Floats, Floats]:
    """Return begin and end of the wait of those that found all connections taken: taking a free one is no wait."""
    mine = rows.where(waits.waited(rows, size))
    return mine.asking_ns.astype(np.float64), mine.acquired_ns.astype(np.float64)


def _overall(scheduled: Floats, end: Floats, edges: Floats) -> Row:
    """Return median and largest overall time of the requests scheduled in each bin; None where there is none."""
    place, times = np.digitize(scheduled, edges) - 1, end - scheduled
    inside = [times[place == i] for i in range(len(edges) - 1)]
    return {
        "median_ns": [float(np.median(t)) if len(t) else None for t in inside],
        "max_ns": [int(t.max()) if len(t) else None for t in inside],
    }


def _level(start: Floats, end: Floats, edges: Floats) -> Row:
    """Return mean and largest number of requests between two stamps in each bin, exactly from the stamps."""
    at = np.concatenate([[edges[0]], start, end])
    step = np.concatenate([[0.0], np.ones(len(start)), -np.ones(len(end))])
    # At equal times an end comes before a start: a connection passed on is one connection.
    order = np.lexsort((step, at))
    at, level = at[order], np.cumsum(step[order])
    area = np.concatenate([[0.0], np.cumsum(level[:-1] * np.diff(at))])
    mean = np.diff(np.interp(edges, at, area)) / np.diff(edges)
    place = np.searchsorted(at, edges, side="right")
    before = level[np.maximum(place - 1, 0)]
    peaks = [level[place[i] : place[i + 1]].max(initial=before[i]) for i in range(len(edges) - 1)]
    return {"mean": [round(float(v), 4) for v in mean], "max": [int(v) for v in peaks]}


def _cpu(path: Path) -> Row | None:
    """Return the database's CPU use in cores and the share of throttled periods between successive samples."""
    table = read_parquet(path, SAMPLES) if path.is_file() else None
    if table is None or table.num_rows < 2 or table["database_cpu_ns"].null_count:
        return None
    at = table["at_ns"].to_numpy().astype(np.float64)
    keep = np.concatenate([[True], np.diff(at) > 0])
    used = np.diff(table["database_cpu_ns"].to_numpy()[keep]) / np.diff(at[keep])
    return {
        "at_ns": [int(v) for v in at[keep]],
        "cores": [round(float(v), 5) for v in used],
        "throttled": _throttled(table, keep),
    }


def _throttled(table: pa.Table, keep: npt.NDArray[np.bool_]) -> list[float | None] | None:
    if table["database_periods"].null_count or table["database_throttled"].null_count:
        return None
    periods, throttled = (np.diff(table[f"database_{n}"].to_numpy()[keep]) for n in ("periods", "throttled"))
    return [round(float(t / p), 5) if p else None for t, p in zip(throttled, periods, strict=True)]
