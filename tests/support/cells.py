"""A results folder of simulated cells, as the measuring part of the product would have left it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from poollab.data import store
from poollab.data.schemas import REQUESTS, SAMPLES, STATUSES
from poollab.stats.rows import ABSENT, Rows

CAPS = {"quota_us": 5000, "period_us": 10_000, "memory_bytes": None}
EMPTY = ("cpu_ns", "periods", "throttled", "throttled_ns", "memory_bytes", "anon_bytes", "file_bytes", "shmem_bytes",
         "kernel_bytes", "inactive_file_bytes", "oom_kills")  # fmt: skip


def table(rows: Rows) -> pa.Table:
    """Return requests as a cell keeps them."""
    count = len(rows)

    def stamp(values: Any) -> pa.Array:
        return pa.array(values, mask=values == ABSENT)

    words = pa.DictionaryArray.from_arrays(pa.array(rows.status), pa.array(list(STATUSES)))
    columns = {
        "request": pa.array(np.arange(count, dtype=np.int32)),
        **{name: stamp(getattr(rows, name)) for name in REQUESTS.names if name.endswith("_ns")},
        "status": words,
        "error_class": pa.nulls(count, pa.string()),
        "connection": pa.array(rows.connection, mask=rows.connection < 0),
        "connection_use": pa.nulls(count, pa.int32()),
        "process": pa.array(rows.process),
        "step": pa.array(rows.step, mask=rows.step < 0),
        "closed": pa.array(rows.closed),
    }
    return pa.Table.from_arrays([columns[name] for name in REQUESTS.names], schema=REQUESTS)


class Folder:
    """A study's results folder that is filled cell by cell; `finish` writes what names the cells."""

    def __init__(self, path: Path, workloads: dict[str, Any], pools: list[int], window_s: float) -> None:
        self.path, self.pools, self.window_s = path, pools, window_s
        self.workloads = {name: {"arrivals": arrivals} for name, arrivals in workloads.items()}
        self.cells: dict[str, dict[str, Any]] = {}

    def add(self, workload: str, size: int, repeat: int, rows: Rows, status: str = "ok", **more: Any) -> None:
        """Write one cell."""
        name = f"{workload}.pool-{size}.r{repeat}"
        about = {"study": "simulated", "cell": name, "settings": "0" * 16}
        folder = self.path / "cells" / name
        store.write_parquet(folder / "requests.parquet", table(rows), **about)
        store.write_parquet(folder / "warmup.parquet", table(rows.where(np.zeros(len(rows), dtype=bool))), **about)
        store.write_parquet(folder / "samples.parquet", SAMPLES.empty_table(), **about)
        keys = {"cell": name, "workload": workload, "arm": f"pool-{size}", "limits": "", "repeat": repeat}
        self.cells[name] = {**keys, "study": "simulated", "settings_hash": "0" * 16}
        start, end = ({"at_ns": at, **dict.fromkeys(EMPTY)} for at in (0, round(self.window_s * 1e9)))
        record = {
            **self.cells[name],
            "block": 1,
            "status": status,
            "reasons": "" if status == "ok" else f"made {status}",
            "started_at": "2026-11-30T12:00:00.000+00:00",
            "settings": {"client": "asyncpg", "arm": {"size": size}, "workload": self.workloads[workload]},
            "schedule_hash": "1" * 16,
            "first_lateness_p99_ns": 0,
            "window_s": self.window_s,
            "counters": {side: [start, end] for side in ("database", "generator")},
            "caps": {"database": CAPS, "load_generator": CAPS},
            "zero_ns": len(self.cells),
            "pool_size": size,
            "sessions_before": size,
            "sessions_after": size,
            "server_active_ns": [None, None],
            "generator": {"plan": "generic"},
            "host": {},
            **more,
        }
        store.write_json(folder / "run.json", record)

    def finish(self) -> dict[str, Any]:
        """Write the session file, a block and its end; return the study's model."""
        model = {
            "analysis": "pool-size",
            "margin": 0.05,
            "pools": self.pools,
            "arms": None,
            "limits": None,
            "workloads": self.workloads,
            "windows": {"warm_up_s": 1.0, "measure_s": self.window_s},
        }
        session = {
            "study": {"name": "simulated", "file": "simulated.yaml", "title": "Simulated", "model": model},
            "study_hash": "2" * 16,
            "lab": {"kind": "none", "why": "simulated"},
            "planned": list(self.cells),
            "cells": self.cells,
        }
        block = {"started_at": "2026-11-30T12:00:00Z", "environment": {}, "proof": {}, "seed": {}}
        store.write_json(self.path / "state" / "session.json", session)
        store.write_json(self.path / "state" / "blocks" / "1" / "block.json", block)
        return model


def read(path: Path, name: str) -> Any:
    """Return the content of a JSON file of the results."""
    return json.loads((path / name).read_text("utf-8"))
