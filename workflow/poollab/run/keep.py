"""Judge a run and write its files; run.json comes last, so a cell is complete or absent."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from poollab.data import store
from poollab.data.schemas import FORMAT_VERSION
from poollab.errors import SafetyStop
from poollab.load.rows import OK
from poollab.quantiles import nearest_rank
from poollab.run import gather, tables, validity
from poollab.run.cell import Observed, Plan, about
from poollab.run.guard import Guard


def keep(plan: Plan, observed: Observed, scratch: Path, out: Path, block: int, guard: Guard) -> dict[str, Any]:
    """Write requests, warm-up, samples and the record of one run; return the record."""
    facts, spec = observed.facts, observed.spec
    (measured, errors), (warm, warm_errors) = (gather.rows(scratch, spec, name) for name in ("measure", "warm_up"))
    shape = validity.shape_of(plan.settings, measured)
    ends = replace(validity.ends_of(spec, measured, facts, observed.sessions), sessions_left=observed.sessions_left)
    samples = tables.samples(observed.sampler.columns, observed.zero_ns)
    others = validity.host_use(samples)
    limits = (guard.limits.other_cpu, guard.limits.steal)
    verdict = validity.judge(measured, plan.windows[1], plan.settings["allowed_errors"], ends, others, limits, shape)
    origin = about(plan)
    files = {
        "requests.parquet": store.write_parquet(
            out / "requests.parquet",
            tables.requests(measured, facts["backends"], errors, shape.steps, closed=shape.closed),
            **origin,
        ),
        "warmup.parquet": store.write_parquet(
            out / "warmup.parquet",
            tables.requests(warm, facts["backends"], warm_errors, closed=shape.closed),
            **origin,
        ),
        "samples.parquet": store.write_parquet(out / "samples.parquet", samples, **origin),
    }
    record = {
        "format": FORMAT_VERSION,
        **{key: getattr(plan, key) for key in ("study", "cell", "workload", "arm", "limits", "repeat")},
        "block": block,
        "status": verdict.status,
        "reasons": verdict.reasons,
        "started_at": observed.started_at,
        "settings": plan.settings,
        "settings_hash": plan.settings_hash,
        "calibration": plan.calibration,
        "schedule_hash": observed.stimulus.digest,
        "first_lateness_p99_ns": verdict.first_lateness_p99_ns,
        "overall_p99_ns": nearest_rank((gather.end(measured) - measured["scheduled"])[measured["status"] == OK], 0.99),
        "window_s": plan.windows[1],
        "counters": {side: [asdict(reading) for reading in pair] for side, pair in observed.counters.items()},
        "server_active_ns": list(observed.active_ns),
        "zero_ns": observed.zero_ns,
        "caps": {side: asdict(caps) for side, caps in observed.caps.items()},
        **asdict(ends),
        "generator": {key: facts[key] for key in gather.KEPT if key in facts},
        "host": {**asdict(others), "waited_s": round(guard.waited_s, 1), "clock_stepped_s": _clock_step(observed)},
        "files": files,
    }
    store.write_json(out / "run.json", record)
    return record


def _clock_step(observed: Observed) -> float:
    """Return by how many seconds the wall clock was stepped during the window; 0 below half a second."""
    start, end = observed.counters["database"]
    step = observed.wall_s - (end.at_ns - start.at_ns) / 1e9
    return round(step, 1) if abs(step) > 0.5 else 0.0


def keep_attempt(folder: Path, plan: Plan, stop: SafetyStop, block: int) -> None:
    """Keep what was seen of a run that the guard broke off, outside the results."""
    if stop.samples:
        store.write_parquet(folder / "samples.parquet", tables.samples(stop.samples, stop.zero_ns), **about(plan))
    store.write_json(folder / "attempt.json", {"cell": plan.cell, "block": block, "reason": str(stop)})
