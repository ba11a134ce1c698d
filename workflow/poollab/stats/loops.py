"""How closed loops are called: by their workers, and by what else tells one from another loop of the same study."""

from typing import Any

from poollab.stats.say import counted

Row = dict[str, Any]


def label(rows: list[Row]) -> None:
    """
    Give each row the `label` of its loop and its own `name` in it, so that no two loops are taken for one.

    The name is the pool's size, with the arm where several arms of a loop have pools of that size.
    """
    clients = {row["client"] for row in rows}
    for row in rows:
        think = row["think_ns"] / 1e6
        parts = [counted(row["workers"], "worker"), *([f"{think:g} ms think time"] if think else [])]
        row["label"] = ", ".join([*parts, *([row["client"]] if len(clients) > 1 else [])])
    workloads: dict[str, set[str]] = {}
    for row in rows:
        workloads.setdefault(row["label"], set()).add(row["workload"])
    for row in rows:
        row["label"] += f", {row['workload']}" if len(workloads[row["label"]]) > 1 else ""
    for row in rows:
        same = sum((r["label"], r["pool_size"]) == (row["label"], row["pool_size"]) for r in rows)
        row["name"] = str(row["pool_size"]) if same == 1 else f"{row['pool_size']} ({row['arm']})"


def by_label(rows: list[Row]) -> dict[str, list[Row]]:
    """Return the rows of each loop."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["label"], []).append(row)
    return found
