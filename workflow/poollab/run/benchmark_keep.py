"""Judge a benchmark's cell and write its files; run.json comes last, so a cell is complete or absent."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from poollab.data import store
from poollab.data.schemas import FORMAT_VERSION
from poollab.load.families.work import SHAPES
from poollab.load.rows import OK, UNFINISHED
from poollab.quantiles import nearest_rank
from poollab.run import benchmark_tables, plausible, tables, validity
from poollab.run.benchmark import Seen
from poollab.run.cell import Plan, about
from poollab.run.guard import Guard

Ints = npt.NDArray[np.int64]


def keep(plan: Plan, seen: Seen, scratch: Path, out: Path, block: int, guard: Guard) -> dict[str, Any]:
    """Write requests, warm-up, iterations, samples and the record of one run; return the record."""
    row, facts = plan.settings["workload"]["benchmark"], seen.facts
    columns = benchmark_tables.read_stamps(scratch / "stamps.bin", facts["operations"])
    warm = columns["iteration"] < row["warm_up_iterations"]
    timed = benchmark_tables.iterations(columns, facts, row["warm_up_iterations"])
    samples = tables.samples(seen.sampler.columns, seen.zero_ns)
    others = seen.others
    made = {
        "requests.parquet": benchmark_tables.requests(columns, ~warm, facts),
        "warmup.parquet": benchmark_tables.requests(columns, warm, facts),
        "iterations.parquet": timed,
        "samples.parquet": samples,
    }
    measured = {name: column[~warm] for name, column in columns.items()}
    ends = _ends(row, columns, warm, seen)
    found = [
        *_host(others, guard),
        *_errors(measured, plan.settings["allowed_errors"]),
        *_unclean(row, ends),
        *_implausible(row, measured),
    ]
    files = {name: store.write_parquet(out / name, table, **about(plan)) for name, table in made.items()}
    times = [it["duration_ns"] for it in timed.to_pylist() if not it["warm_up"]]
    record = {
        "format": FORMAT_VERSION,
        **{key: getattr(plan, key) for key in ("study", "cell", "workload", "arm", "limits", "repeat")},
        "block": block,
        "status": "+".join(dict.fromkeys(word for word, _ in found)) or "ok",
        "reasons": "; ".join(text for _, text in found),
        "started_at": seen.started_at,
        "settings": plan.settings,
        "settings_hash": plan.settings_hash,
        "schedule_hash": facts["digest"],
        "first_lateness_p99_ns": None,
        "overall_p99_ns": nearest_rank((measured["released"] - measured["scheduled"])[measured["status"] == OK], 0.99),
        "window_s": (seen.counters["database"][1].at_ns - seen.counters["database"][0].at_ns) / 1e9,
        "counters": {side: [asdict(reading) for reading in pair] for side, pair in seen.counters.items()},
        "zero_ns": seen.zero_ns,
        "caps": {side: asdict(caps) for side, caps in seen.caps.items()},
        **ends,
        "generator": {"plan": "simple statement", "timer": "none", **_generator(facts)},
        "host": {**asdict(others), "waited_s": round(guard.waited_s, 1), "clock_stepped_s": _clock_step(seen)},
        "benchmark": _benchmark(row, facts, times, seen),
        "files": files,
    }
    store.write_json(out / "run.json", record)
    return record


def _benchmark(row: Mapping[str, Any], facts: Mapping[str, Any], times: list[int], seen: Seen) -> dict[str, Any]:
    """Return the result of the row with the proof of what ran."""
    return {
        "iterations": len(times),
        "mean_ns": float(np.mean(times)) if times else None,
        "median_ns": nearest_rank(np.array(times, dtype=np.int64), 0.5),
        "unhurried_ns": sum(facts["unhurried_ns"][row["warm_up_iterations"] :]),
        "implementations": facts["implementations"],
        "connects": len(facts["connects"]),
        "connects_timed": sum(it["connects"] for it in facts["iterations"]),
        "cpus": {**seen.placed, "load_generator_read_back": facts["cpus"]},
        "switch_interval_s": facts["switch_interval_s"],
        "python": facts["python"],
    }


def _generator(facts: Mapping[str, Any]) -> dict[str, Any]:
    first = next(iter(facts["implementations"].values()))
    return {
        "loop": facts["loop"],
        "driver": {"module": first["package"], "version": first["version"]},
        "max_rss_bytes": facts["max_rss_bytes"],
    }


def _ends(
    row: Mapping[str, Any], columns: Mapping[str, Ints], warm: npt.NDArray[np.bool_], seen: Seen
) -> dict[str, Any]:
    """
    Return the same facts about connections as other runs have; None for what was not looked at.

    A pool that each iteration makes anew has no connections of its own that could be kept.
    """
    fresh, facts = SHAPES[row["family"]].fresh, seen.facts
    inside = sum(it["connects"] for it in facts["iterations"] if it["iteration"] >= row["warm_up_iterations"])
    unfinished = columns["status"] == UNFINISHED
    return {
        "pool_size": row["pool"],
        "connections": None if fresh else sum(at < facts["zero_ns"] for at, _ in facts["connects"]),
        "sessions_before": seen.sessions[0],
        "sessions_after": seen.sessions[1],
        "new_connections": None if fresh else inside,
        "reachable": None,
        "warm_up_drained": not unfinished[warm].any(),
        "finished": not unfinished[~warm].any(),
    }


def _host(others: validity.HostUse, guard: Guard) -> Iterator[tuple[str, str]]:
    yield from validity.busy(others, (guard.limits.other_cpu, guard.limits.steal))


def _errors(columns: Mapping[str, Ints], allowed: float) -> Iterator[tuple[str, str]]:
    failed, count = int((columns["status"] != OK).sum()), len(columns["status"])
    if failed > allowed * count:
        yield "errors", f"{failed} of {count} check-outs did not end ok"


def _unclean(row: Mapping[str, Any], ends: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """A full pool keeps its sessions, and makes none inside the clock."""
    if SHAPES[row["family"]].fresh:
        return
    for when in ("before", "after"):
        found = ends[f"sessions_{when}"]
        if found not in (None, ends["pool_size"]):
            yield "unclean", f"{found} server sessions {when} the measured iterations, expected {ends['pool_size']}"
    if ends["new_connections"]:
        yield "unclean", f"{ends['new_connections']} connections were made inside the clock"


def _implausible(row: Mapping[str, Any], columns: Mapping[str, Ints]) -> Iterator[tuple[str, str]]:
    """No more connections are held at once than the pools of a row have together."""
    fault = plausible.fault(columns, int(row["pool"]))
    if fault is not None:
        yield "unclean", fault


def _clock_step(seen: Seen) -> float:
    """Return by how many seconds the wall clock was stepped meanwhile; 0 below half a second."""
    start, end = seen.counters["database"]
    step = seen.wall_s - (end.at_ns - start.at_ns) / 1e9
    return round(step, 1) if abs(step) > 0.5 else 0.0
