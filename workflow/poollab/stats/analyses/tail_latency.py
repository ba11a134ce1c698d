"""
The tail-latency study: what a pool does to the tail of a closed loop, and whether theory and CPU explain it.

The statement sleeps in the server, so the theory of a closed loop is exact but for CPU: at most min(C, P) / S1
requests a second, with C workers, P connections and S1 the mean hold of one worker on one connection.
"""

import re
from typing import Any

from poollab.quantiles import beyond
from poollab.stats import in_use, measured, outliers, theory
from poollab.stats import tail_latency_claims as claims
from poollab.stats.analyses import Context
from poollab.stats.measured import Run
from poollab.stats.percentiles import pooled
from poollab.stats.rows import Ints

Row = dict[str, Any]

#: The goal: this share of the theoretical rate where CPU allows it.
GOAL = 0.95
#: A pool is called nearly full while more than this share of it is in use.
NEARLY_FULL = 0.9


def build(context: Context) -> Row:
    """Return the numbers of each condition, S1, the runs that are far out, and the verdicts."""
    machine = measured.machine(context)
    found = {key: measured.read(context, key) for key in measured.keys(context)}
    found = {key: runs for key, runs in found.items() if runs and workers(runs[0]) is not None}
    reference = _reference(list(found.values()))
    ordinary = int(context.model["repeats"]) - int(context.model.get("spare_repeats") or 0)
    planned = {(c["workload"], c["arm"], c["limits"]): int(c["runs_planned"]) for c in context.conditions}
    rows = [
        {**_condition(runs, reference["hold_ns"], machine), "runs_planned": planned[k]} for k, runs in found.items()
    ]
    rows.sort(key=lambda row: (row["workers"], row["pool_size"], row["arm"]))
    verdicts = claims.verdicts(rows, reference, machine, context.margin)
    return {
        "headline": claims.headline(rows, verdicts),
        "verdicts": verdicts,
        "reference": reference,
        "machine": machine,
        "goal": GOAL,
        "conditions": rows,
        "outliers": [outlier for runs in found.values() for outlier in _outliers(runs, ordinary)],
    }


def workers(run: Run) -> int | None:
    """Return the number of workers of a closed loop, None for other arrivals."""
    closed = run.arrivals.get("closed")
    return int(closed["workers"]) if closed else None


def _reference(conditions: list[list[Run]]) -> Row:
    """Return S1: the mean hold of one worker, on one connection where that was measured, else on the smallest pool."""
    alone = [runs for runs in conditions if workers(runs[0]) == 1]
    if not alone:
        return {"hold_ns": None, "nominal_ns": None, "pool_size": None, "requests": 0, "runs": 0}
    mine = min(alone, key=lambda runs: runs[0].size)
    holds = [measured.hold_ns(run.done) for run in mine]
    return {
        "hold_ns": measured.pooled_mean(holds),
        "nominal_ns": nominal_ns(mine[0]),
        "pool_size": mine[0].size,
        "requests": sum(map(len, holds)),
        "runs": len(mine),
    }


def nominal_ns(run: Run) -> int | None:
    """Return how long the statement asks the server to sleep, or None where it does not."""
    statements = [str(step["query"]["sql"]) for step in run.steps if "query" in step]
    asked = [float(value) for text in statements for value in re.findall(r"pg_sleep\(\s*([\d.]+)", text)]
    return round(sum(asked) * 1e9) if asked else None


def _condition(good: list[Run], hold_ns: float | None, machine: Row) -> Row:
    first, done = good[0], [run.done for run in good]
    values = [measured.wait_and_query_ns(rows) for rows in done]
    size, count = first.size * first.processes, workers(first) or 0
    rate = _rate(good)
    return {
        **{key: first.record[key] for key in ("workload", "arm", "limits")},
        "workers": count,
        "pool_size": size,
        "runs_ok": len(good),
        "requests": sum(map(len, values)),
        "achieved_per_s": rate,
        "mean_ns": measured.pooled_mean(values),
        "by_run": [_run(run, v) for run, v in zip(good, values, strict=True)],
        **{f"p{q}": pooled(values, q / 100) for q in (50, 95, 99)},
        "max_ns": max((int(v.max()) for v in values if len(v)), default=None),
        "release_mean_ns": measured.pooled_mean([rows.released_ns - rows.result_ns for rows in done]),
        "hold_mean_ns": measured.pooled_mean([measured.hold_ns(rows) for rows in done]),
        **_use(good, size),
        **_against_theory(good, rate, min(count, size), hold_ns, machine),
    }


def _run(run: Run, values: Ints) -> Row:
    """Return what a comparison by run needs."""
    return {
        "repeat": int(run.record["repeat"]),
        "block": int(run.record["block"]),
        "achieved_per_s": float(run.row["achieved_per_s"]),
        "mean_ns": float(values.mean()) if len(values) else 0.0,
    }


def _rate(good: list[Run]) -> float:
    seconds = sum(float(run.row["observed_s"]) for run in good)
    return sum(float(run.row["achieved_per_s"]) * float(run.row["observed_s"]) for run in good) / seconds


def _use(good: list[Run], size: int) -> Row:
    """Return in flight, in use and the shares of the pool, over the windows of all runs (each counts alike)."""
    held = [in_use.level(in_use.held(run.rows), 0, run.window_ns) for run in good]
    asked = [in_use.level(in_use.in_flight(run.rows), 0, run.window_ns) for run in good]
    return {
        "peak_in_flight": max(level.peak for level in asked),
        "peak_in_use": max(level.peak for level in held),
        "mean_in_use": measured.mean([level.mean for level in held]),
        "utilisation": measured.mean([level.mean / size for level in held]),
        "nearly_full_share": measured.mean([level.share_above(NEARLY_FULL * size) for level in held]),
    }


def _against_theory(good: list[Run], rate: float, at_once: int, hold_ns: float | None, machine: Row) -> Row:
    """Set the rate beside min(C, P) / S1 and beside the rate at which the CPU would run out."""
    best = at_once / (hold_ns / 1e9) if hold_ns else None
    client, server = (measured.mean([run.cpu_per_request_s(s) for run in good]) for s in ("generator", "database"))
    cpus = machine["cpus"]
    ceiling = theory.cpu_ceiling_per_s(cpus, client, server, good[0].processes) if cpus and client and server else None
    ratio = rate / best if best else None
    return {
        "theory_per_s": best,
        "ratio": ratio,
        "client_cpu_per_request_s": client,
        "server_cpu_per_request_s": server,
        "cpu_ceiling_per_s": ceiling,
        "theory_of_ceiling": best / ceiling if best and ceiling else None,
        "goal": _goal(ratio, best, ceiling),
    }


def _goal(ratio: float | None, best: float | None, ceiling: float | None) -> str:
    """Say whether the goal was reached, and if not, how much of the CPU the theoretical rate would need."""
    if ratio is None or best is None:
        return "no S1 to compare with"
    if ratio >= GOAL:
        return "reached"
    if ceiling is None:
        return "not reached, CPU not measured"
    return f"not reached, theory would need {best / ceiling:.0%} of the CPU ceiling"


def _outliers(runs: list[Run], ordinary: int) -> list[Row]:
    """Name each run whose p99 is far above the median of the other runs of its condition."""
    p99 = [pooled([measured.wait_and_query_ns(run.done)], 0.99)["ns"] for run in runs]
    known = [(run, float(value)) for run, value in zip(runs, p99, strict=True) if value is not None]
    values = [value for _, value in known]
    found = []
    for place, (run, value) in enumerate(known):
        times = outliers.times_others(values, place)
        if times is not None and times >= outliers.FAR:
            again = [(r, v) for r, v in known if _spare(r, ordinary) and r is not run]
            about = {"others": len(known) - 1, "spare": _spare(run, ordinary)}
            found.append({**_outlier(run, value, times, again), **about})
    return found


def _spare(run: Run, ordinary: int) -> bool:
    """Tell whether a run is one that is measured only where another is far out."""
    return int(run.record["repeat"]) > ordinary


def _outlier(run: Run, value: float, times: float, again: list[tuple[Run, float]]) -> Row:
    """A run measured again shows the same when it lies nearer (by its ratio) to this one than to the others' median."""
    return {
        "cell": run.record["cell"],
        "p99_ns": value,
        "beyond": beyond(len(run.done), 0.99),
        "times": times,
        "again": [{"cell": r.record["cell"], "p99_ns": v, "same": v * v >= value * value / times} for r, v in again],
    }
