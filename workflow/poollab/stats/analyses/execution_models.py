"""
The execution-models study: threads, coroutines and synchronous calls from coroutines, and the limit that each meets.

Which question a workload asks is read from its shape: a batch of queries asks for the pool's ceiling, a batch of
waits for the price of waiting, one worker in a loop for the price of one operation, computing on a schedule for its
neighbours.
"""

from typing import Any

from poollab.stats import clients, measured
from poollab.stats import execution_models_claims as claims
from poollab.stats import execution_parts as parts
from poollab.stats.analyses import Context
from poollab.stats.measured import Run

Row = dict[str, Any]

CEILING, WAITS, SEQUENCE, BESIDE = "ceiling", "waits", "sequence", "beside"
#: Where requests compute in the caller, being late and falling behind is what is measured.
USED = {BESIDE: ("overloaded", "generator-late")}
#: Size of the pool at which a synchronous driver in an executor is compared; else the largest that all clients have.
EXECUTOR_SIZE = 8


def build(context: Context) -> Row:
    """Return the rows of each question, what is missing in them, and the verdicts."""
    found: dict[str, list[list[Run]]] = {CEILING: [], WAITS: [], SEQUENCE: [], BESIDE: []}
    missing = []
    for key in measured.keys(context):
        asked = _question(context, key)
        if not asked:
            continue
        if runs := measured.read(context, key, USED.get(asked, ())):
            found[asked].append(runs)
        else:
            missing.append({"question": asked, **measured.uncounted(context, key)})
    made = _made(found)
    verdicts = claims.verdicts(made, context.margin)
    words = {"headline": claims.headline(made, verdicts), "outside": "the section on computing"}
    return {**words, "verdicts": verdicts, "missing": missing, **made}


def _made(found: dict[str, list[list[Run]]]) -> Row:
    """Return the rows of each question, each with a label of its own."""
    ceiling = parts.ceiling(found[CEILING])
    size = _common_size(ceiling)
    same = [row for row in ceiling if row["pool_size"] == size]
    beside = [parts.beside(runs) for runs in found[BESIDE]]
    sequence = [parts.sequence(runs) for runs in found[SEQUENCE]]
    waits = [parts.waits(runs) for runs in found[WAITS]]
    clients.label(beside, "workload", "compute_in")
    clients.label(sequence, "workload")
    clients.label(waits, "traced")
    return {
        "ceiling": [{k: v for k, v in row.items() if k != "zero"} for row in ceiling],
        "sequence": sequence,
        "executor": {"size": size, "asked_size": EXECUTOR_SIZE, "rows": parts.against_threads(same)},
        "waits": waits,
        "beside": beside,
        "zero": [*beside, *(_at_once(row) for row in same)],
    }


def _at_once(row: Row) -> Row:
    """Return a batch as a row of the comparison of the two moments: all are due at once, and nothing computes."""
    return {**row, "compute": {}, "compute_in": "caller", "statuses": ["ok"]}


def _question(context: Context, key: tuple[str, str, str]) -> str:
    """Return what a condition's workload asks, empty where this study asks nothing like it."""
    record = next((r for r in context.records.values() if (r["workload"], r["arm"], r["limits"]) == key), None)
    if record is None:
        return ""
    arrivals, steps = record["settings"]["workload"]["arrivals"], record["settings"]["workload"]["request"]
    kinds = {kind for step in steps for kind in step}
    if "batch" in arrivals:
        return WAITS if kinds == {"wait"} else CEILING
    if "closed" in arrivals and arrivals["closed"]["workers"] == 1:
        return SEQUENCE
    return BESIDE if "compute" in kinds else ""


def _common_size(ceiling: list[Row]) -> int | None:
    """Return the pool size at which all clients of each workload were measured: the stated one, else the largest."""
    every = clients.by_workload(ceiling).values()
    shared = [n for n in {row["pool_size"] for row in ceiling} if all(_clients(r, n) == _clients(r) for r in every)]
    return EXECUTOR_SIZE if EXECUTOR_SIZE in shared else max(shared, default=None)


def _clients(rows: list[Row], size: int | None = None) -> set[str]:
    return {row["client"] for row in rows if size in (None, row["pool_size"])}
