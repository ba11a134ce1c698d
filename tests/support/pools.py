"""Results of a pool benchmark as its cells leave them: two rows, two arms, three passes, with chosen times."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from poollab.data import store
from poollab.data.schemas import ITERATIONS, REQUESTS, STATUSES
from poollab.stats.analyses import Context

PROOF = {
    "module": "asyncpg.pool",
    "class_name": "Pool",
    "package": "asyncpg",
    "version": "0.1",
    "driver": "asyncpg 0.1",
    "settings": {"max_size": 50, "reset": True},
}
MODEL: dict[str, Any] = {
    "repeats": 3,
    "client": "asyncpg",
    "arms": {"old": {"client": "psycopg-async", "size": 50}, "new": {"client": "asyncpg", "size": 50}},
    "pairs": {"async": {"baseline": "old", "candidate": "new"}, "sync": None},
    "confirm": {"threshold": 0.1, "passes": 3},
    "limits": None,
    "workloads": {
        name: {"benchmark": {"family": "rapid-fire", "mode": "async", "callers": 2, "pool": 2}}
        for name in ("one", "two")
    },
}


def results(folder: Path, times_ms: dict[str, list[list[float] | str]], model: dict[str, Any] | None = None) -> Context:
    """
    Leave cells and return what an analysis reads.

    `times_ms` maps `<row>.<arm>` to its passes, each the times of its iterations in ms, or the status of a pass that
    has none.
    """
    records: dict[str, Any] = {}
    for key, passes in times_ms.items():
        row, arm = key.split(".")
        for number, times in enumerate(passes, start=1):
            cell = f"{key}.r{number}"
            records[cell] = _cell(folder / "cells" / cell, cell, row, arm, times)
    return Context(model=model or MODEL, runs=[], conditions=[], records=records, folder=folder, study="s")


def _cell(out: Path, cell: str, row: str, arm: str, times: list[float] | str) -> dict[str, Any]:
    about = {"study": "s", "cell": cell, "settings": "hash"}
    common = {"cell": cell, "workload": row, "arm": arm, "limits": "", "block": 1, "settings_hash": "hash"}
    if times == "not-needed":
        return {**common, "status": times, "files": {}}
    durations = [1.0] if isinstance(times, str) else times
    store.write_parquet(out / "iterations.parquet", _iterations(durations), **about)
    store.write_parquet(out / "requests.parquet", requests(len(durations)), **about)
    cpus = {"database": [0], "load_generator": [1], "load_generator_read_back": [1], "note": ""}
    bench = {"implementations": {"async": PROOF}, "connects": 5, "cpus": cpus}
    return {
        **common,
        "status": times if isinstance(times, str) else "ok",
        "settings": {"workload": {"benchmark": {**MODEL["workloads"][row]["benchmark"], "operations": 3}}},
        "benchmark": bench,
        "counters": {"database": [{"cpu_ns": 0}, {"cpu_ns": 60_000}]},
    }


def _iterations(times: list[float]) -> pa.Table:
    rows = [
        {
            "iteration": number,
            "warm_up": number == 0,
            "began_ns": number * 1000,
            # The warm-up is far slower, so that a reader who counts it gets another number.
            "duration_ns": round((1000 if number == 0 else times[number - 1]) * 1e6),
            "operations": 6,
            "failed": 0,
            "connects": 0,
            "generator_cpu_ns": 1200,
            "rss_bytes": 40 << 20,
        }
        for number in range(len(times) + 1)
    ]
    return pa.Table.from_pylist(rows, schema=ITERATIONS)


def requests(iterations: int, late_ns: int = 0, lasts_ns: int = 20) -> pa.Table:
    """
    Six check-outs for each iteration, one after another, which take the connections 0 and 1 in turn.

    Each begins `late_ns` after it was due, and lasts `lasts_ns`.
    """
    count = 6 * iterations
    at = np.arange(count, dtype=np.int64) * 100
    known = {
        "request": np.arange(count, dtype=np.int32),
        **{f"{name}_ns": at + shift for name, shift in (("scheduled", -late_ns), ("started", 0), ("acquired", 7))},
        "result_ns": at + 7,
        "released_ns": at + lasts_ns,
        "status": pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, dtype=np.int8)), pa.array(list(STATUSES))),
        "connection": (np.arange(count) % 2).astype(np.int32),
        "closed": np.ones(count, dtype=bool),
        "process": np.zeros(count, dtype=np.int16),
    }
    arrays = [pa.array(known[f.name]) if f.name in known else pa.nulls(count, f.type) for f in REQUESTS]
    return pa.Table.from_arrays(arrays, schema=REQUESTS)
