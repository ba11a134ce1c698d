"""Judge a run and write its files; run.json comes last, so a cell is complete or absent."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from poollab.data import store
from poollab.data.schemas import FORMAT_VERSION
from poollab.load.rows import OK
from poollab.quantiles import nearest_rank
from poollab.run import tables, validity
from poollab.run.cell import Observed, Plan, about


def keep(plan: Plan, observed: Observed, scratch: Path, out: Path, block: int) -> dict[str, Any]:
    """Write requests, warm-up, samples and the record of one run; return the record."""
    facts, spec = observed.facts, observed.spec
    measured = tables.read_columns(scratch / "measure.bin", spec["measure"]["count"])
    warm = tables.read_columns(scratch / "warm_up.bin", spec["warm_up"]["count"])
    ends = validity.ends_of(spec, measured, facts, observed.sessions)
    verdict = validity.judge(measured, plan.windows[1], plan.settings["allowed_errors"], ends)
    origin = about(plan)
    files = {
        "requests.parquet": store.write_parquet(
            out / "requests.parquet", tables.requests(measured, facts["backends"], facts["errors"]), **origin
        ),
        "warmup.parquet": store.write_parquet(
            out / "warmup.parquet", tables.requests(warm, facts["backends"], facts["warm_up_errors"]), **origin
        ),
        "samples.parquet": store.write_parquet(
            out / "samples.parquet", tables.samples(observed.sampler.columns, observed.zero_ns), **origin
        ),
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
        "schedule_hash": observed.stimulus.digest,
        "first_lateness_p99_ns": verdict.first_lateness_p99_ns,
        "overall_p99_ns": nearest_rank((measured["released"] - measured["scheduled"])[measured["status"] == OK], 0.99),
        "window_s": plan.windows[1],
        "counters": {side: [asdict(reading) for reading in pair] for side, pair in observed.counters.items()},
        "zero_ns": observed.zero_ns,
        "caps": {side: asdict(caps) for side, caps in observed.caps.items()},
        **asdict(ends),
        "generator": {key: facts[key] for key in ("plan", "loop", "timer", "driver", "max_rss_bytes")},
        "files": files,
    }
    store.write_json(out / "run.json", record)
    return record
