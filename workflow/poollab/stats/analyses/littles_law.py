"""
The Little's-law study: how many connections are busy at each rate, where requests wait, and how many would be enough.

Each step of the rising load is judged by itself, from the requests that were scheduled in it.
"""

from collections.abc import Sequence
from typing import Any

from poollab.stats import littles_law_claims as claims
from poollab.stats import measured, sizing, steps, theory
from poollab.stats.analyses import Context
from poollab.stats.measured import Run

Row = dict[str, Any]

#: A step keeps its rate when this share of what was offered was completed within it.
KEPT = 0.99
#: What grew by less than this share of the first step's hold time is no queue.
SMALL = 0.10
#: Where one of the two grew by this many times the other, the queue is called by that one alone.
MAINLY = 2.0
INSTANCES = (1, 2, 5, 10, 20, 50)
HOLDS_MS = (1.0, 10.0, 100.0)
#: A load that rises to the limit may pass it at its end, and its requests then lie closer than any client is prompt:
#: such runs are used too, each step is judged alone, and how late requests were begun stands beside it.
USED = ("overloaded", "generator-late")


def build(context: Context) -> Row:
    """Return every step of every arm, the answers that follow, and the verdicts."""
    keys = measured.keys(context)
    found = {key: measured.read(context, key, USED) for key in keys}
    stepped = {key: runs for key, runs in found.items() if runs and steps.bounds(runs[0])}
    arms = sorted((_arm(runs) for runs in stepped.values()), key=lambda arm: (arm["connections"], arm["arm"]))
    machine = {**measured.machine(context), "database_cap_cores": _cap(stepped.values())}
    others = [_other(runs) for key, runs in found.items() if runs and key not in stepped]
    answers = {
        "rule": rule_of_thumb(arms, machine),
        "budget": budget(arms, machine),
        "holds": longer_holds(arms),
        "sizes": [row for runs in stepped.values() for row in sizing.sizes(runs)],
    }
    verdicts = claims.verdicts(arms, others, machine)
    return {
        "headline": claims.headline(arms, verdicts),
        "outside": "the section on the steps",
        "verdicts": verdicts,
        "machine": machine,
        "arms": arms,
        "others": others,
        "missing": [measured.uncounted(context, key) for key in keys if not found[key]],
        "targets": sizing.targets(),
        **answers,
    }


def _cap(conditions: Any) -> float | None:
    caps = {run.row["database_cap_cores"] for runs in conditions for run in runs}
    return next(iter(caps)) if len(caps) == 1 else None


def _arm(runs: list[Run]) -> Row:
    first = runs[0]
    rows = [steps.numbers(runs, bounds) for bounds in steps.bounds(first)]
    return {
        **{key: first.record[key] for key in ("workload", "arm", "limits")},
        "client": first.client,
        "pool_size": first.size,
        "processes": first.processes,
        "connections": first.size * first.processes,
        "runs": len(runs),
        "not_ok": {str(run.record["cell"]): str(run.record["status"]) for run in runs if run.record["status"] != "ok"},
        "steps": [_judged(row, rows[0]) for row in rows],
    }


def _judged(row: Row, first: Row) -> Row:
    """Add to a step what only a look at the first step tells."""
    hold = first["hold_mean_ns"]
    return {
        **row,
        "kept": row["achieved_per_s"] >= KEPT * row["offered_per_s"],
        "planned_busy": None if hold is None else row["offered_per_s"] * hold / 1e9,
        "hold_growth": None if not hold or row["hold_mean_ns"] is None else row["hold_mean_ns"] / hold,
        "queue": queue(row, first),
    }


def queue(row: Row, first: Row) -> str:
    """
    Say where requests wait at a step: none, in the pool, in the database, in both; by growth since the first step.

    A longer hold is called a queue in the database, though a client that is short of CPU lengthens it too.
    """
    if None in (row["hold_mean_ns"], first["hold_mean_ns"], row["wait_mean_ns"], first["wait_mean_ns"]):
        return "not known"
    wait = row["wait_mean_ns"] - first["wait_mean_ns"]
    hold = row["hold_mean_ns"] - first["hold_mean_ns"]
    large = SMALL * first["hold_mean_ns"]
    if wait < large and hold < large:
        return "none"
    if wait >= MAINLY * hold:
        return "in the pool"
    return "in the database" if hold >= MAINLY * wait else "in both"


def _other(runs: list[Run]) -> Row:
    """Return a condition at one rate, such as the same load with a longer hold."""
    first, done = runs[0], [run.seen.where(run.rows.ok) for run in runs]
    hold = measured.pooled_mean([measured.hold_ns(rows) for rows in done])
    return {
        **{key: first.record[key] for key in ("workload", "arm", "limits")},
        "client": first.client,
        "connections": first.size * first.processes,
        "runs": len(runs),
        "status": "+".join(sorted({str(run.record["status"]) for run in runs})),
        "offered_per_s": measured.mean([run.row["offered_per_s"] for run in runs]),
        "achieved_per_s": measured.mean([run.row["achieved_per_s"] for run in runs]),
        "wait_mean_ns": measured.pooled_mean([measured.wait_ns(rows) for rows in done]),
        "hold_mean_ns": hold,
        "most_per_s": None if not hold else first.size * first.processes / (hold / 1e9),
    }


def last_kept(arm: Row) -> Row | None:
    """Return the last step up to which an arm completed what was offered, or None where it never did."""
    kept = None
    for step in arm["steps"]:
        if not step["kept"]:
            break
        kept = step
    return kept


def rule_of_thumb(arms: Sequence[Row], machine: Row) -> Row:
    """
    Return cores x 2 + spindles beside the connections that were really busy at the highest rate that was kept.

    The table fits in memory, for which the rule counts no spindle. Cores are the host's, or the database's cap.
    """
    cap, cpus = machine["database_cap_cores"], machine["cpus"]
    cores = theory.cores(cpus, cap) if cpus else cap
    kept = [(arm, step) for arm in arms if (step := last_kept(arm)) is not None]
    return {
        "cores": cores,
        "spindles": 0,
        "connections": None if cores is None else 2 * cores,
        "measured": [
            {
                "arm": arm["arm"],
                "connections": arm["connections"],
                "achieved_per_s": step["achieved_per_s"],
                "busy": step["measured_busy"],
                "utilisation": step["utilisation"],
                "waited_share": step["waited_share"],
            }
            for arm, step in kept
        ],
    }


def budget(arms: Sequence[Row], machine: Row) -> list[Row]:
    """Return for numbers of application instances the pool that the server's limit leaves each, and what fits."""
    limit = machine["max_connections"]
    if limit is None or not arms:
        return []
    largest = max(arm["pool_size"] for arm in arms)
    return [
        {
            "instances": count,
            "limit": limit,
            "reserved": claims.RESERVED,
            "each": (limit - claims.RESERVED) // count,
            "pool": largest,
            "together": count * largest,
            "fits": count * largest <= limit - claims.RESERVED,
        }
        for count in INSTANCES
    ]


def longer_holds(arms: Sequence[Row]) -> list[Row]:
    """Return what each arm can complete at most, how many connections its last kept rate needs, and if it has them."""
    kept = [(arm, last_kept(arm)) for arm in arms]
    return [_longer(arm, step["achieved_per_s"] if step else None, ms) for arm, step in kept for ms in HOLDS_MS]


def _longer(arm: Row, rate_per_s: float | None, hold_ms: float) -> Row:
    needed = None if rate_per_s is None else rate_per_s * hold_ms / 1e3
    return {
        "arm": arm["arm"],
        "connections": arm["connections"],
        "hold_ms": hold_ms,
        "most_per_s": arm["connections"] / (hold_ms / 1e3),
        "rate_per_s": rate_per_s,
        "needed_at_rate": needed,
        "enough": None if needed is None else needed <= arm["connections"],
    }
