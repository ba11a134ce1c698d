"""Tables of the Little's-law study beside its steps: the rule of thumb, budgets, longer holds, sizes for a wait."""

from typing import Any

from poollab.report import cells, measures, words
from poollab.report.cells import Table, column

Row = dict[str, Any]


def rule(found: Row) -> Table:
    """Return what the highest rate that was kept really used."""
    rows = [
        cells.row(
            words.plural(m["connections"], "connection"),
            [
                cells.number(m["achieved_per_s"], 1),
                cells.number(m["busy"], 2),
                measures.share(m["utilisation"], 1),
                measures.share(m["waited_share"], 1),
            ],
        )
        for m in found["measured"]
    ]
    return cells.table(
        "law-rule",
        f"What the highest rate that was kept really used, n = {words.plural(len(rows), 'arm')}",
        [
            column("arm"),
            column("highest rate kept", "per s"),
            column("busy", "connections"),
            column("pool busy", "%"),
            column("found none free", "%"),
        ],
        [("", rows)],
    )


def rule_text(found: Row) -> str:
    """Return the rule of thumb beside what was measured, in words."""
    if found["connections"] is None:
        return "The rule of thumb needs the number of cores, which was not recorded."
    used = [f"{m['busy']:.2f} of {m['connections']}" for m in found["measured"]]
    beside = f"On average {words.listed(used)} were busy at the highest rate that was kept." if used else ""
    cores = f"{found['cores']:g} {'core' if found['cores'] == 1 else 'cores'}"
    return (
        f"The rule of thumb, cores x 2 + spindles, gives {found['connections']:g} for the {cores} "
        f"that the database may use and no spindle (the table fits in memory). {beside}"
    )


def budget(rows: list[Row]) -> Table:
    """Return how the server's connections are shared out over instances."""
    limit = rows[0]["limit"] if rows else 0
    shown = [
        cells.row(
            str(row["instances"]),
            [
                cells.number(row["each"]),
                cells.number(row["pool"]),
                cells.number(row["together"]),
                cells.text("yes" if row["fits"] else "no"),
            ],
        )
        for row in rows
    ]
    kept = rows[0]["reserved"] if rows else 0
    return cells.table(
        "law-budget",
        f"The server's {limit} connections, {kept} of them kept back for superusers, shared out over n instances",
        [
            column("instances"),
            column("each may have", "connections"),
            column("larger pool here", "connections"),
            column("together", "connections"),
            column("fits"),
        ],
        [("", shown)],
    )


def holds(rows: list[Row], others: list[Row]) -> Table:
    """Return what a longer hold does, by Little's law and as measured."""
    bodies: dict[str, list[Row]] = {}
    for row in rows:
        name = f"{words.plural(row['connections'], 'connection')}: by Little's law"
        bodies.setdefault(name, []).append(_by_law(row))
    for row in others:
        name = f"{words.plural(row['connections'], 'connection')}: measured, {row['workload']}"
        bodies.setdefault(name, []).append(_as_measured(row))
    return cells.table(
        "law-holds",
        f"What the hold time does: n = {len(rows) + len(others)} cases",
        [
            column("hold"),
            column("most that the pool completes", "per s"),
            column("rate", "per s"),
            column("needed at that rate", "connections"),
            column("busy at that rate", "connections"),
        ],
        list(bodies.items()),
        [
            (
                "The rate of the calculated rows is the highest that the arm kept, and what it would need with such a "
                "hold is rate x hold: nothing of that was measured, and a pool that has fewer does not keep the rate. "
                "Hold time is what each connection costs."
            )
        ],
    )


def _by_law(row: Row) -> Row:
    numbers = [
        cells.number(row["most_per_s"]),
        cells.number(row["rate_per_s"], missing="no rate was kept"),
        cells.number(row["needed_at_rate"], 1, missing="no rate was kept"),
        cells.number(None, missing="calculated: nothing was busy"),
    ]
    mark = "more than the pool has" if row["enough"] is False else ""
    return cells.row(f"{row['hold_ms']:g} ms", numbers, mark)


def _as_measured(row: Row) -> Row:
    hold, rate = row["hold_mean_ns"], row["achieved_per_s"]
    busy = None if hold is None or rate is None else rate * hold / 1e9
    numbers = [
        cells.number(row["most_per_s"]),
        cells.number(rate, 1),
        cells.number(None, missing="measured: see busy"),
        cells.number(busy, 1),
    ]
    mark = "" if row["status"] == "ok" else row["status"]
    return cells.row(words.MISSING if hold is None else f"{hold / 1e6:.2f} ms", numbers, mark)


def sizes(rows: list[Row], targets: Row) -> Table:
    """Return the pool sizes that meet each wait target, step by step."""
    bodies: dict[str, list[Row]] = {}
    for row in rows:
        shown = [
            cells.number(size, missing=f"more than {targets['most']} in each process") if size else _too_many(targets)
            for size in row["size"]
        ]
        bodies.setdefault(f"hold times of {row['arm']}", []).append(
            cells.row(str(row["step"]), [cells.number(row["offered_per_s"], 1), *shown, cells.number(row["processes"])])
        )
    return cells.table(
        "law-sizes",
        f"Connections in each process with which {targets['share']:.0%} of the requests wait no longer than the "
        f"target, n = {len(rows)} steps",
        [
            column("step"),
            column("offered", "per s"),
            *(column(f"for {target:g} ms", "connections") for target in targets["wait_ms"]),
            column("processes"),
        ],
        list(bodies.items()),
        [
            (
                "Take the sizes from the hold times of the arm with fewer connections: those of the other hold its own "
                "queue. A size is that of the most demanding process of any run."
            )
        ],
    )


def _too_many(targets: Row) -> cells.Cell:
    return cells.number(None, missing=f"not met with {targets['most']} connections in each process")


def targets_text(targets: Row) -> str:
    """Return how pool sizes for a stated wait are found, in words."""
    waits = " or ".join(f"{t:g} ms" for t in targets["wait_ms"])
    return (
        f"How large must a pool be so that {targets['share']:.0%} of the requests wait at most {waits}? The recorded "
        "arrivals of each step and the recorded hold time of each request are replayed, first come first served, on "
        "pools of any size. That assumes hold times that stay what they were, so it is a statement on waiting in the "
        "pool and none on how the database would behave with more connections."
    )
