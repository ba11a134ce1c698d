"""
The tail-latency study: what a pool does to the tail of a closed loop, and whether theory and CPU explain it.

The statement sleeps in the server, so the theory of a closed loop is exact but for CPU: at most
min(P / S1, C / (S1 + Z)) requests a second, with C workers, P connections, think time Z, and S1 the mean hold of one
worker on one connection with the same client and request. Without think time that is min(C, P) / S1.
"""

import json
import re
from typing import Any

from poollab.stats import in_use, loops, measured, spares, theory
from poollab.stats import tail_latency_claims as claims
from poollab.stats.analyses import Context, Key
from poollab.stats.measured import Run
from poollab.stats.percentiles import pooled
from poollab.stats.rows import ABSENT, Ints, Rows

Row = dict[str, Any]

#: The goal: this share of the theoretical rate where CPU allows it.
GOAL = 0.95
#: A pool is called nearly full while more than this share of it is in use.
NEARLY_FULL = 0.9
SIDES = ("generator", "database")


def build(context: Context) -> Row:
    """Return the numbers of each condition, S1, the runs that are far out, the spare runs, and the verdicts."""
    machine = measured.machine(context)
    keys = [key for key in measured.keys(context) if _closed(context, key)]
    read = {key: measured.read(context, key) for key in keys}
    found = {key: runs for key, runs in read.items() if runs}
    references = _references(list(found.values()))
    planned = {(c["workload"], c["arm"], c["limits"]): int(c["runs_planned"]) for c in context.conditions}
    rows = [
        {**_condition(runs, references.get(_asks(runs[0])), machine), "runs_planned": planned[key]}
        for key, runs in found.items()
    ]
    loops.label(rows)
    rows.sort(key=lambda row: (row["workers"], row["label"], row["pool_size"], row["arm"]))
    verdicts = claims.verdicts(rows, machine, context.margin)
    return {
        "headline": claims.headline(rows, verdicts),
        "verdicts": verdicts,
        "references": list(references.values()),
        "machine": machine,
        "goal": GOAL,
        "conditions": rows,
        "missing": [measured.uncounted(context, key) for key in keys if key not in found],
        **_far_out(context, found, keys),
    }


def _closed(context: Context, key: Key) -> bool:
    """Tell whether a condition's workload is a closed loop."""
    records = (r for r in context.records.values() if (r["workload"], r["arm"], r["limits"]) == key)
    return any((record["settings"]["workload"].get("arrivals") or {}).get("closed") for record in records)


def _far_out(context: Context, found: dict[Key, list[Run]], keys: list[Key]) -> Row:
    """Return the runs that are far out, and every spare run."""
    added = {key: spares.added(context, key) for key in keys}
    some = bool(context.model.get("spare_repeats"))
    return {
        "outliers": [o for key, runs in found.items() for o in spares.far_out(runs, added[key], planned=some)],
        "spares": [row for rows in added.values() for row in rows],
    }


def workers(run: Run) -> int:
    """Return the number of workers of a closed loop."""
    return int(run.arrivals["closed"]["workers"])


def think_ns(run: Run) -> float:
    """Return how long each worker of a closed loop waits between two requests."""
    return float(run.arrivals["closed"].get("think_ms") or 0.0) * 1e6


def _asks(run: Run) -> str:
    """Return what S1 depends on: the client, and what a request does."""
    return json.dumps([run.client, run.steps], sort_keys=True)


def _references(conditions: list[list[Run]]) -> dict[str, Row]:
    """Return S1 for each client and request of which one worker alone was measured, on the smallest pool with one."""
    alone: dict[str, list[list[Run]]] = {}
    for runs in conditions:
        if workers(runs[0]) == 1:
            alone.setdefault(_asks(runs[0]), []).append(runs)
    return {asks: _reference(min(found, key=lambda runs: runs[0].size)) for asks, found in alone.items()}


def _reference(mine: list[Run]) -> Row:
    holds = [measured.hold_ns(run.done) for run in mine]
    return {
        "client": mine[0].client,
        "workload": mine[0].record["workload"],
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


def _condition(good: list[Run], reference: Row | None, machine: Row) -> Row:
    first, done = good[0], [run.seen.where(run.rows.ok) for run in good]
    values = [measured.wait_and_query_ns(rows) for rows in done]
    size, rate = first.size * first.processes, _rate(good)
    return {
        **{key: first.record[key] for key in ("workload", "arm", "limits")},
        "client": first.client,
        "workers": workers(first),
        "think_ns": think_ns(first),
        "pool_size": size,
        "runs_ok": len(good),
        "requests": sum(map(len, values)),
        "achieved_per_s": rate,
        "mean_ns": measured.pooled_mean(values),
        "by_run": [_run(run, v) for run, v in zip(good, values, strict=True)],
        **{f"p{q}": pooled(values, q / 100) for q in (50, 95, 99)},
        "max_ns": max((int(v.max()) for v in values if len(v)), default=None),
        "release_mean_ns": measured.pooled_mean([_release_ns(rows) for rows in done]),
        "hold_mean_ns": measured.pooled_mean([measured.hold_ns(rows) for rows in done]),
        **_use(good, size),
        **_against_theory(good, rate, size, None if reference is None else reference["hold_ns"], machine),
    }


def _release_ns(rows: Rows) -> Ints:
    found: Ints = (rows.released_ns - rows.result_ns)[rows.acquired_ns != ABSENT]
    return found


def _run(run: Run, values: Ints) -> Row:
    """Return what a comparison by run needs."""
    return {
        "repeat": int(run.record["repeat"]),
        "block": int(run.record["block"]),
        "achieved_per_s": float(run.row["achieved_per_s"]),
        "mean_ns": float(values.mean()) if len(values) else None,
    }


def _rate(good: list[Run]) -> float:
    seconds = sum(float(run.row["observed_s"]) for run in good)
    return sum(float(run.row["achieved_per_s"]) * float(run.row["observed_s"]) for run in good) / seconds


def _use(good: list[Run], size: int) -> Row:
    """Return in flight, in use and the shares of the pool, over the windows of all runs (each counts alike)."""
    held = [in_use.level(in_use.held(run.rows), 0, run.window_ns) for run in good]
    asked = [in_use.level(in_use.in_flight(run.seen), 0, run.window_ns) for run in good]
    return {
        "peak_in_flight": max(level.peak for level in asked),
        "peak_in_use": max(level.peak for level in held),
        "mean_in_use": measured.mean([level.mean for level in held]),
        "utilisation": measured.mean([level.mean / size for level in held]),
        "nearly_full_share": measured.mean([level.share_above(NEARLY_FULL * size) for level in held]),
    }


def _against_theory(good: list[Run], rate: float, size: int, s1_ns: float | None, machine: Row) -> Row:
    """Set the rate beside the theory's, and beside the rate at which the CPU would run out."""
    count, think_s, whole = workers(good[0]), think_ns(good[0]) / 1e9, all(_whole(run) for run in good)
    s1_s = s1_ns / 1e9 if whole and s1_ns else None
    best = theory.closed_rate_per_s(count, size, s1_s, think_s) if s1_s else None
    cpu = _cpu(good, machine)
    ratio, ceiling = rate / best if best else None, cpu["cpu_ceiling_per_s"]
    return {
        "s1_ns": None if s1_s is None else s1_ns,
        "whole": whole,
        "needed": _needed(count, s1_s, think_s) if whole else None,
        "theory_per_s": best,
        "ratio": ratio,
        **cpu,
        "theory_of_ceiling": best / ceiling if best and ceiling else None,
        "goal": _goal(ratio, best, ceiling) if whole else "no theory, as part of a request holds no connection",
    }


def _needed(count: int, s1_s: float | None, think_s: float) -> float | None:
    """Return the connections below which the pool bounds the loop; without think time that takes no S1."""
    if not think_s:
        return float(count)
    return theory.connections_needed(count, s1_s, think_s) if s1_s else None


def _whole(run: Run) -> bool:
    """Tell whether every request holds a connection from its start to its end; else the rest is a think time too."""
    done = run.done
    return bool(((done.acquired_ns != ABSENT) & (done.asked_ns == ABSENT) & (done.ended_ns == ABSENT)).all())


def _cpu(good: list[Run], machine: Row) -> Row:
    """Return what a request costs on both sides, the cores that each can use, and the rate at which they run out."""
    client, server = (measured.mean([run.cpu_per_request_s(side) for run in good]) for side in SIDES)
    cpus = machine["cpus"]
    caps = [min((c for run in good if (c := run.row.get(f"{side}_cap_cores"))), default=None) for side in SIDES]
    ceiling = None
    if cpus and client and server:
        ceiling = theory.cpu_ceiling_per_s(cpus, client, server, good[0].processes, *caps)
    return {
        "client_cpu_per_request_s": client,
        "server_cpu_per_request_s": server,
        "server_cores": theory.cores(cpus, caps[1]) if cpus else caps[1],
        "cpu_ceiling_per_s": ceiling,
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
