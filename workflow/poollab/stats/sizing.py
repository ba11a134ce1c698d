"""
How many connections a stated wait needs at each rate: recorded arrivals and holds, replayed on pools of any size.

The assumption: a request holds its connection as long as it did when it was measured. Where more connections let
more queries share a database that has no CPU left, holds grow, and a replay of holds measured with few says too
little.
"""

from typing import Any

import numpy as np

from poollab.stats import in_use, steps, theory
from poollab.stats.measured import Run
from poollab.stats.rows import ABSENT, Ints

Row = dict[str, Any]

#: Longest acquisition wait (ms) that SHARE of the requests may have.
TARGETS_MS = (1.0, 10.0)
SHARE = 0.95
#: More connections in one process than this are not tried.
MOST = 64


def targets() -> Row:
    """Return the stated wait targets and how they are to be read."""
    return {"wait_ms": list(TARGETS_MS), "share": SHARE, "most": MOST}


def sizes(runs: list[Run]) -> list[Row]:
    """Return for each step the connections in each process that meet each target; None where MOST are too few."""
    first = runs[0]
    return [
        {
            "arm": first.record["arm"],
            "workload": first.record["workload"],
            "limits": first.record["limits"],
            "step": step.number,
            "processes": first.processes,
            "offered_per_s": sum(int((run.rows.step == step.number).sum()) for run in runs) / step.seconds / len(runs),
            "size": _needed(runs, step),
        }
        for step in steps.bounds(first)
    ]


def _needed(runs: list[Run], step: steps.Bounds) -> list[int | None]:
    """Return what the most demanding process of any run needs, target by target."""
    each: list[list[int | None]] = []
    for run in runs:
        holds = in_use.freed_ns(run.rows) - run.rows.acquired_ns
        mine = (run.rows.step == step.number) & run.rows.ok & (run.rows.acquired_ns != ABSENT)
        for number in np.unique(run.rows.process[mine]).tolist():
            chosen = mine & (run.rows.process == number)
            each.append(_of_process(run.seen.asking_ns[chosen], holds[chosen]))
    return [_most([found[i] for found in each]) for i in range(len(TARGETS_MS))]


def _of_process(asking_ns: Ints, holds_ns: Ints) -> list[int | None]:
    order = np.argsort(asking_ns, kind="stable")
    wanted = [round(target * 1e6) for target in TARGETS_MS]
    return theory.smallest_sizes(asking_ns[order], holds_ns[order], wanted, SHARE, MOST)


def _most(found: list[int | None]) -> int | None:
    known = [size for size in found if size is not None]
    return max(known) if known and len(known) == len(found) else None
