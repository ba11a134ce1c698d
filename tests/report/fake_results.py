"""
A complete small results folder from synthetic stamps, written by simple code of its own.

The numbers of runs and conditions are computed here by hand and not by poollab.stats, so that the
report's tests stand alone; analysis.json and series.json are made from them by poollab.stats.
"""

import json
import math
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from fake_records import cleanup, environment
from fake_study import Fake, Row, model

from poollab.data import schemas
from poollab.stats import analyses, findings, littles, series, stimulus
from poollab.stats.rows import Rows

Stamps = dict[str, npt.NDArray[np.int64]]
INTERVALS = [name for name, _, _ in schemas.INTERVALS]


def write(folder: Path, fake: Fake) -> Path:
    """Write every file of a study's results that the report reads, and return the folder."""
    folder.mkdir(parents=True)
    planned = _planned(fake)
    executed = planned[: len(planned) - fake.unmeasured]
    if fake.swapped:
        executed = [executed[1], executed[0], *executed[2:]]
    measured = [_measure(fake, cell, at, _block(fake, at, len(executed))) for at, cell in enumerate(executed, 1)]
    runs = [run for run, _ in measured]
    _parquet(folder / "requests.parquet", [r for _, rows in measured for r in rows], schemas.ALL_REQUESTS)
    _both(folder / "runs", runs, schemas.RUNS)
    stamps = {run["cell"]: rows for run, rows in measured}
    _both(folder / "conditions", [_condition(fake, key, runs, stamps) for key in _conditions(fake)], schemas.CONDITIONS)
    (folder / "environment.json").write_text(
        json.dumps(environment(fake, [_name(cell) for cell in planned], runs)), "utf-8"
    )
    (folder / "cleanup.json").write_text(json.dumps(cleanup(fake)), "utf-8")
    for run, rows in measured:
        _cell_files(fake, folder / "cells" / run["cell"], run, rows)
    _analyse(fake, folder)
    return folder


def _analyse(fake: Fake, folder: Path) -> None:
    """Write what the analysis adds, by the statistics of the project."""
    runs, conditions = (pq.read_table(folder / f"{name}.parquet").to_pylist() for name in ("runs", "conditions"))
    per_run = {}
    for run in runs:
        rows = Rows.of(pq.read_table(folder / "cells" / run["cell"] / "requests.parquet"))
        arrivals = fake.workloads[run["workload"]]["arrivals"]
        per_run[run["cell"]] = {
            "littles": littles.of_run(rows, fake.window_s, None, None),
            "stimulus": stimulus.of_run(rows, arrivals, fake.window_s),
        }
    found = findings.whole(analyses.Context(model(fake), runs, conditions, per_run))
    (folder / "analysis.json").write_text(json.dumps(found), "utf-8")
    (folder / "series.json").write_text(json.dumps(series.build(folder)), "utf-8")


def _cell_files(fake: Fake, folder: Path, run: Row, rows: list[Row]) -> None:
    """Write a run's own files: its requests, a warm-up (its first second, 2 s earlier), ten samples a second."""
    folder.mkdir(parents=True)
    back = dict.fromkeys(schemas.STAMPS, -2_000_000_000)
    warm = [{**r, **{s: r[s] + back[s] for s in back}} for r in rows if r["scheduled_ns"] < 1_000_000_000]
    _parquet(folder / "requests.parquet", rows, schemas.REQUESTS)
    _parquet(folder / "warmup.parquet", warm, schemas.REQUESTS)
    ticks = range(round(fake.window_s * 10) + 1)
    cores, ratio = run["database_cpu_cores"], run["database_throttle_ratio"]
    samples = [
        {
            "at_ns": i * 100_000_000,
            "database_cpu_ns": round(cores * 1e8 * (i + 0.2 * (i % 2))),
            "database_periods": i * 6,
            "database_throttled": None if ratio is None else round(i * 6 * ratio),
        }
        for i in ticks
    ]
    _parquet(folder / "samples.parquet", samples, schemas.SAMPLES)


def _conditions(fake: Fake) -> list[tuple[str, str, str]]:
    return [(w, arm, limits) for w in fake.workloads for limits in fake.limits for arm in fake.arm_sizes]


def _planned(fake: Fake) -> list[tuple[str, str, str, int]]:
    cells: list[tuple[str, str, str, int]] = []
    for repeat in range(1, fake.repeats + 1):
        batch = [(*key, repeat) for key in _conditions(fake)]
        order = np.random.default_rng(repeat).permutation(len(batch))
        cells += [batch[i] for i in order]
    return cells


def _name(cell: tuple[str, str, str, int]) -> str:
    return ".".join([part for part in cell[:3] if part] + [f"r{cell[3]}"])


def _block(fake: Fake, position: int, count: int) -> int:
    return 1 + (position - 1) * fake.blocks // count


def _stamps(fake: Fake, cell: tuple[str, str, str, int], slower: float) -> Stamps:
    """Draw the stamps of one run: a batch waits where it is larger than the pool."""
    workload, arm, _, repeat = cell
    size = fake.arm_sizes[arm]
    rng = np.random.default_rng([repeat, size, len(workload), sum(map(ord, arm))])
    batch, every, trip = {"light-uniform": (1, 5, 0.2), "heavy-uniform": (1, 25, 2.0), "heavy-bursts": (10, 250, 9.0)}[
        workload
    ]
    instants = math.ceil(fake.window_s * 1000 / every)
    scheduled = np.repeat(np.arange(instants) * every, batch) * 1.0
    n, speed = len(scheduled), slower * rng.normal(1, 0.02)
    place = np.tile(np.arange(batch), instants)
    together = min(batch, size)
    start = rng.gamma(4, 0.02, n) * (1 + place / 4)
    round_trip = trip * (together / 5 if batch > 1 else 1) ** 0.6 * rng.gamma(40, 1 / 40, n) * speed
    wait = np.where(place >= size, trip * 0.8 * (place // size), 0) * rng.gamma(40, 1 / 40, n) + rng.gamma(9, 0.0012, n)
    release = trip * 0.15 * rng.gamma(20, 1 / 20, n) * speed
    steps = [scheduled, start, wait, round_trip, release]
    return dict(zip(schemas.STAMPS, np.rint(np.cumsum(steps, axis=0) * 1e6).astype(np.int64), strict=True))


def _measure(fake: Fake, cell: tuple[str, str, str, int], position: int, block: int) -> tuple[Row, list[Row]]:
    workload, arm, limits, repeat = cell
    status = fake.bad.get(_name(cell), "overloaded" if fake.bad_condition == f"{workload}.{arm}" else "ok")
    stamps = _stamps(fake, cell, 1.0 if status == "ok" else fake.far_out)
    size, n = fake.arm_sizes[arm], len(stamps["scheduled_ns"])
    keys = {"cell": _name(cell), "workload": workload, "arm": arm, "limits": limits, "repeat": repeat}
    used = min(size, 10 if workload == "heavy-bursts" else 1)
    rows = [
        {
            **keys,
            "block": block,
            "position": position,
            "request": i,
            "status": "ok",
            "connection": i % used,
            "connection_use": i // used + 1,
            "process": 0,
            "closed": False,
            **{s: int(stamps[s][i]) for s in schemas.STAMPS},
        }
        for i in range(n)
    ]
    run = {
        **keys,
        "position": position,
        "block": block,
        "client": "asyncpg",
        "pool_size": size,
        "status": status,
        "reasons": "" if status == "ok" else "achieved 97.1 % of the offered rate <b>and</b> the backlog grew",
        "started_at": 1_796_043_600_000 + position * 16_000,
        "connections_used": used,
        "sessions_before": size,
        "sessions_after": size,
        "plan_settled": "generic",
        "first_lateness_p99_ns": 210_000 + position,
        "schedule_hash": "0" * 16,
        "settings_hash": "1" * 16,
        **_numbers(fake, rows, size, workload),
    }
    return run, rows


def _overall(rows: list[Row]) -> npt.NDArray[np.int64]:
    return np.sort(np.array([r["released_ns"] - r["scheduled_ns"] for r in rows], dtype=np.int64))


def _rank(values: npt.NDArray[np.int64], q: int) -> int:
    return int(np.sort(values)[math.ceil(len(values) * q / 100) - 1])


def _numbers(fake: Fake, rows: list[Row], size: int, workload: str) -> Row:
    overall = _overall(rows)
    delay = np.array([r["started_ns"] - r["scheduled_ns"] for r in rows], dtype=np.int64)
    observed = fake.window_s * len({r["cell"] for r in rows}) + 0.01
    percentiles = {q: _rank(overall, q) for q in (50, 95, 99)}
    means = {n: float(np.mean([r[b] - r[a] for r in rows])) for n, a, b in schemas.INTERVALS}
    return {
        "requests": len(rows),
        "requests_ok": len(rows),
        **{f"requests_{s}": 0 for s in schemas.STATUSES[1:]},
        "observed_s": observed,
        "offered_per_s": len(rows) / (observed - 0.01),
        "achieved_per_s": len(rows) / observed,
        **{f"{n}_mean_ns": v for n, v in means.items()},
        "overall_mean_ns": sum(means.values()),
        **{f"overall_p{q}_ns": v for q, v in percentiles.items()},
        **{f"overall_beyond_p{q}": int((overall > v).sum()) for q, v in percentiles.items()},
        "overall_max_ns": int(overall[-1]),
        **_waiting(rows, size, workload),
        "scheduling_delay_p99_ns": _rank(delay, 99),
        "scheduling_delay_max_ns": int(delay.max()),
        **_side(
            fake,
            "database",
            0.02 + 0.002 * math.log(size),
            38 + 2 * size,
            observed,
            throttle=0.31 if "bursts" in workload else 0.02,
        ),
        **_side(fake, "generator", 0.031, 61, observed, throttle=0.0),
    }


def _waiting(rows: list[Row], size: int, workload: str) -> Row:
    """Return who waited: of a burst those behind the first `size`."""
    batch = 10 if workload == "heavy-bursts" else 1
    waits = np.array([r["acquired_ns"] - r["started_ns"] for r in rows if r["request"] % batch >= size], dtype=np.int64)
    ranks = {q: _rank(waits, q) if len(waits) else None for q in (50, 95, 99)}
    return {
        "requests_waited": len(waits),
        "waited_share": len(waits) / len(rows),
        **{f"waited_wait_p{q}_ns": v for q, v in ranks.items()},
        **{f"waited_beyond_p{q}": int((waits > (v or 0)).sum()) for q, v in ranks.items()},
    }


def _side(fake: Fake, side: str, cores: float, mib: float, observed: float, throttle: float) -> Row:
    periods = round(observed * 60)
    cap = 0.5 if fake.capped else None
    values = {
        "cap_cores": cap,
        "cpu_cores": cores,
        "cpu_of_cap": cores / cap if cap else None,
        "periods": periods if cap else None,
        "throttled": round(periods * throttle) if cap else None,
        "throttle_ratio": round(periods * throttle) / periods if cap else None,
        "throttled_s": periods * throttle * 0.004 if cap else None,
        "memory_start_bytes": int(mib * 2**20),
        "memory_mean_bytes": (mib + 0.4) * 2**20,
        "memory_max_bytes": int((mib + 1) * 2**20),
        "anon_mean_bytes": mib * 0.4 * 2**20,
        "shmem_mean_bytes": mib * 0.3 * 2**20,
        "kernel_mean_bytes": mib * 0.1 * 2**20,
        "page_cache_mean_bytes": mib * 0.2 * 2**20,
    }
    return {f"{side}_{key}": value for key, value in values.items()}


def _condition(fake: Fake, key: tuple[str, str, str], runs: list[Row], stamps: dict[str, list[Row]]) -> Row:
    workload, arm, limits = key
    mine = [r for r in runs if (r["workload"], r["arm"], r["limits"]) == key]
    ok = [r for r in mine if r["status"] == "ok"]
    row: Row = {
        "workload": workload,
        "arm": arm,
        "limits": limits,
        "client": "asyncpg",
        "pool_size": fake.arm_sizes[arm],
        "runs_planned": fake.repeats,
        "runs_measured": len(mine),
        "runs_ok": len(ok),
        "blocks": len({r["block"] for r in mine}),
        "connections_used_max": max((r["connections_used"] for r in ok), default=None),
        **dict.fromkeys(("requests", "requests_ok", *(f"requests_{s}" for s in schemas.STATUSES[1:])), 0),
    }
    if not ok:
        return row
    row |= _numbers(fake, [request for r in ok for request in stamps[r["cell"]]], fake.arm_sizes[arm], workload)
    for name in (
        "overall_p50",
        "overall_p95",
        "overall_p99",
        "scheduling_delay_p99",
        *(f"{n}_mean" for n in [*INTERVALS, "overall"]),
    ):
        values = [r[f"{name}_ns"] for r in ok]
        row |= {f"{name}_run_min_ns": min(values), f"{name}_run_max_ns": max(values)}
    return row


def _table(rows: list[Row], schema: pa.Schema) -> pa.Table:
    table = pa.table([pa.array([r.get(f.name) for r in rows], type=f.type) for f in schema], schema=schema)
    return table.replace_schema_metadata({"poollab_format": str(schemas.FORMAT_VERSION)})


def _parquet(path: Path, rows: list[Row], schema: pa.Schema) -> pa.Table:
    table = _table(rows, schema)
    pq.write_table(table, path)
    return table


def _both(stem: Path, rows: list[Row], schema: pa.Schema) -> None:
    pacsv.write_csv(_parquet(stem.with_suffix(".parquet"), rows, schema), stem.with_suffix(".csv"))


if __name__ == "__main__":
    write(Path(sys.argv[1]), eval(f"Fake({sys.argv[2] if len(sys.argv) > 2 else ''})"))  # noqa: S307 - a tool for looking, fed by its author
