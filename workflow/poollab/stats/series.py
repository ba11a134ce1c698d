"""
series.json: what the figures of the report draw besides the tables, made from the rows once.

A report is made from this and never from millions of rows, so it can be made again from a package. Rows are read
run by run: memory holds one run, and of those before it their slowest 1 % at most.

    runs        {cell: spectrum}: [[share, overall_ns, beyond], ...], as far as at least one request lies beyond
    conditions  for each condition with an ok run: its slowest 1 % by interval, and what it was sent and gave over time
    timelines   one run each: see stats/timelines.py
    lags        of each overloaded run: see stats/lag.py
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from poollab.data import store
from poollab.data.schemas import RUNS
from poollab.quantiles import beyond
from poollab.stats import lag, timelines
from poollab.stats.rows import ABSENT, NEEDED, OPTIONAL, PARTS, Rows, overall, parts

Ints = npt.NDArray[np.int64]
Row = dict[str, Any]

#: Shares at which a run's spectrum is drawn: even steps on the log distance from 1.
GRID = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.985, 0.99, 0.993, 0.995, 0.997, 0.998, 0.9985, 0.999,
        0.9993, 0.9995, 0.9997, 0.9998, 0.9999, 0.99995, 0.99999)  # fmt: skip
#: Bins of the window in which the delivered load is counted.
BINS = 24
KEYS = ("workload", "arm", "limits")


def build(results: Path) -> Row:
    """
    Return the content of series.json from requests.parquet, runs.parquet, environment.json and the cells.

    Raises:
        DataError: a file is missing, truncated or of another shape.
    """
    model = store.read_json(results / "environment.json")["study"]["model"]
    runs = {row["cell"]: row for row in store.read_parquet(results / "runs.parquet", RUNS).to_pylist()}
    spectra: dict[str, list[list[float]]] = {}
    pooled: dict[tuple[str, ...], list[Row]] = {}
    slow, lags = _slow(list(runs.values())), []
    for cell, rows in by_cell(results / "requests.parquet"):
        run = runs[cell]
        measure_s = float(windows_of(model, run["workload"])["measure_s"])
        spectra[cell] = spectrum(overall(rows.where(rows.ok)))
        if run["status"] == "ok":
            key = tuple(run[k] for k in KEYS)
            pooled.setdefault(key, []).append(_part(rows, measure_s, slow[key]))
        if "overloaded" in run["status"].split("+"):
            lags.append(lag.build(rows, run, measure_s))
    shown = timelines.chosen(list(runs.values()))
    return {
        "format": 1,
        "runs": spectra,
        "conditions": [_condition(model, key, found, slow[key]) for key, found in pooled.items()],
        "lags": lags,
        "timelines": [timelines.build(results / "cells", r, windows_of(model, r["workload"])) for r in shown],
    }


def _slow(runs: list[Row]) -> dict[tuple[str, ...], int]:
    """Return how many ok requests of each condition lie beyond its p99: no run can hold more of them."""
    counts: dict[tuple[str, ...], int] = {}
    for run in runs:
        key = tuple(run[k] for k in KEYS)
        counts[key] = counts.get(key, 0) + (run["requests_ok"] if run["status"] == "ok" else 0)
    return {key: beyond(count, 0.99) for key, count in counts.items()}


def windows_of(model: Mapping[str, Any], workload: str) -> Row:
    """Return the windows of a workload: its own, those of the workload that it takes after, or the study's."""
    own = model["workloads"].get(workload) or {}
    other = model["workloads"].get(own.get("same") or "") or {}
    given = own.get("windows") or other.get("windows") or {}
    return {**model["windows"], **{name: value for name, value in given.items() if value is not None}}


def by_cell(path: Path) -> Iterator[tuple[str, Rows]]:
    """Give (cell, rows) for each cell of requests.parquet, whose rows lie together; holds one cell at a time."""
    file = pq.ParquetFile(path, read_dictionary=["cell"])
    wanted = [name for name in ("cell", *NEEDED, *OPTIONAL) if name in file.schema_arrow.names]
    held: list[pa.Table] = []
    name = ""
    for batch in file.iter_batches(batch_size=1 << 18, columns=wanted):
        table = pa.Table.from_batches([batch])
        for cell in pc.unique(table["cell"]).to_pylist():
            if held and cell != name:
                yield name, Rows.of(pa.concat_tables(held))
                held = []
            name = cell
            held.append(table.filter(pc.equal(table["cell"], cell)))
    if held:
        yield name, Rows.of(pa.concat_tables(held))


def spectrum(times: Ints) -> list[list[float]]:
    """Return [[share, overall_ns, beyond]] by nearest rank, as far as at least one request lies beyond."""
    ordered, count = np.sort(times), len(times)
    found = [(share, beyond(count, share)) for share in GRID]
    return [[share, int(ordered[count - k - 1]), k] for share, k in found if k]


def _condition(model: Mapping[str, Any], key: tuple[str, ...], found: list[Row], count: int) -> Row:
    measure_s = float(windows_of(model, key[0])["measure_s"])
    return {
        **dict(zip(KEYS, key, strict=True)),
        "slowest": slowest(found, count),
        "delivered": _delivered(found, measure_s),
    }


def slowest(found: list[Row], count: int) -> Row:
    """
    Return mean intervals of the slowest 1 % of a condition's ok requests: the `count` beyond the rank of its p99.

    `found` holds for each run `overall` and `parts` of its `count` slowest; the means are over the same requests, so
    they add up.
    """
    times = np.concatenate([run["overall"] for run in found])
    if not count:
        return {"requests": 0, "means_ns": None}
    last = np.argsort(times, kind="stable")[len(times) - count :]
    means: dict[str, float | None] = {"overall": float(times[last].mean())}
    for name in PARTS:
        each = [run["parts"][name] for run in found]
        means[name] = None if any(e is None for e in each) else float(np.concatenate(each)[last].mean())
    return {"requests": count, "means_ns": means}


def _part(rows: Rows, measure_s: float, count: int) -> Row:
    """Return what of one run goes into its condition: of single requests only the slowest `count`."""
    edges = np.linspace(0, measure_s * 1e9, BINS + 1)
    done, begun = rows.where(rows.ok), rows.where(rows.started_ns != ABSENT)
    late = begun.started_ns - begun.scheduled_ns
    place = np.digitize(begun.scheduled_ns, edges) - 1
    times = overall(done)
    last = np.argsort(times, kind="stable")[max(0, len(times) - count) :]
    return {
        "overall": times[last],
        "parts": {name: None if values is None else values[last] for name, values in parts(done).items()},
        "offered": np.histogram(rows.scheduled_ns, edges)[0],
        "completed": np.histogram(done.end_ns, edges)[0],
        "latest": [int(late[place == i].max(initial=-1)) for i in range(BINS)],
    }


def _delivered(found: list[Row], measure_s: float) -> Row:
    """Return requests scheduled and completed in each bin of the window, and the largest scheduling delay there."""
    latest = np.max([run["latest"] for run in found], axis=0)
    return {
        "runs": len(found),
        "bin_s": measure_s / BINS,
        "offered": [int(n) for n in np.sum([run["offered"] for run in found], axis=0)],
        "completed": [int(n) for n in np.sum([run["completed"] for run in found], axis=0)],
        "latest_ns": [int(v) if v >= 0 else None for v in latest],
    }
