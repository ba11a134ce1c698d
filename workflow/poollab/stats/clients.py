"""How rows of several clients are called, and which are compared: nothing may be lost where a client has two arms."""

from collections.abc import Sequence
from itertools import product
from typing import Any

Row = dict[str, Any]
Pair = tuple[Row, Row]


def label(rows: Sequence[Row], *same: str) -> None:
    """
    Give each row its `label`: its client, or its arm where a client stands twice among rows that are alike in `same`.

    Where an arm stands twice there too, its workload is named with it.
    """
    for row in rows:
        mine = [r for r in rows if all(r[key] == row[key] for key in same) and r["client"] == row["client"]]
        once = sum(r["arm"] == row["arm"] for r in mine) == 1
        by_arm = row["arm"] if once else f"{row['arm']}, {row['workload']}"
        row["label"] = row["client"] if len(mine) == 1 else by_arm


def by_workload(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the rows of each workload, in the order in which they come."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["workload"], []).append(row)
    return found


def pairs(ones: Sequence[Row], others: Sequence[Row]) -> list[Pair]:
    """Return every pair of rows of two clients; only those with pools of one size, where there are such."""
    found = list(product(ones, others))
    return [(one, other) for one, other in found if one["pool_size"] == other["pool_size"]] or found


def which(pair: Pair, among: Sequence[Pair]) -> str:
    """Name the two arms of a pair where there are several pairs, else nothing."""
    one, other = pair
    return f"{one['arm']}, {other['arm']}" if len(among) > 1 else ""
