"""The wait for a connection: who waited at all, and how long those did."""

from typing import Any

from poollab.report import cells, tables, words
from poollab.report.cells import Table, column

Group = dict[str, Any]


def build(groups: list[Group]) -> Table:
    """Return the table, over workloads that use connections."""
    mine = [g for g in groups if g["connections"]]
    return cells.table(
        "wait",
        "Requests that asked for a connection while all of the pool were taken, and the acquisition wait of those "
        "alone, in ms, over the n ok requests of all runs with status ok",
        [
            tables.pool_column(),
            column("n", "requests"),
            column("waited", "requests"),
            column("share", "%"),
            column("wait p50, of those", "ms"),
            column("wait p95, of those", "ms"),
            column("wait p99, of those", "ms"),
            column("mean wait, of all", "ms"),
        ],
        [(g["label"], [_row(a, _decimals(g)) for a in g["arms"]]) for g in mine],
        [
            (
                "Who waited is counted exactly, from the stamps, and not by a threshold: taking a free connection "
                "costs some microseconds too, and those are no wait. A percentile is missing where nobody waited."
            ),
            tables.WEAK_NOTE,
        ],
    )


def _decimals(group: Group) -> int:
    return words.decimals_for(max((a["wait"]["p99"]["ms"] or 0 for a in group["arms"]), default=0) or None)


def _row(arm: Group, decimals: int) -> dict[str, Any]:
    wait = arm["wait"]
    ranks = []
    for name in ("p50", "p95", "p99"):
        nobody = wait["requests"] == 0
        cell = cells.percentile(wait[name], decimals)
        ranks.append(cell | {"missing": "nobody waited"} if nobody else cell)
    return cells.row(
        arm["label"],
        [
            cells.number(arm["requests_ok"]),
            cells.number(wait["requests"]),
            cells.number(words.scale(wait["share"], 100), 1),
            *ranks,
            cells.number(arm["means_ms"]["acquisition_wait"], 3),
        ],
    )
