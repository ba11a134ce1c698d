"""The tables of a comparison of pools: times and words, waits, connections, costs, and what really ran."""

from collections.abc import Callable
from typing import Any, Final

from poollab.report import cells, measures, words
from poollab.report.cells import Cell, Table, column
from poollab.report.tables import WEAK_NOTE

Row = dict[str, Any]

ROLES: Final = ("baseline", "candidate")
#: From this share of the check-outs on an order of reuse is named.
CLEAR: Final = 0.5
#: With fewer check-outs that had a choice nothing is said of the order.
ENOUGH_CHOICES: Final = 20
#: Marks a ratio of check-outs whose callers did not take turns alike, and what it means.
INTERLEAVE: Final = "\u2021"
INTERLEAVE_NOTE: Final = (
    f"{INTERLEAVE} The arms interleave differently: their mean numbers of check-outs under way differ by more than 1.5 "
    "times, so a ratio of single check-outs compares unlike things."
)


def _bodies(rows: list[Row], shown: Callable[[Row], list[Cell]]) -> list[tuple[str, list[Row]]]:
    """Return one body for each family and pair of arms, in the order in which the study file first names them."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        label = f"{row['family']}: {row['called']['baseline']} / {row['called']['candidate']}"
        found.setdefault(label, []).append(cells.row(head(row), shown(row)))
    return list(found.items())


def head(row: Row) -> str:
    """Name a row."""
    return f"{row['workload']}, limits {row['limits']}" if row["limits"] else str(row["workload"])


def _ratio(row: Row, key: str, *ends: str) -> Cell:
    why = "not comparable" if row["incomparable"] else "not shown: too few values, or not measured"
    low, high = (row[end] for end in ends) if ends else (None, None)
    return cells.number(row[key], 2, low=low, high=high, missing=why)


def _tail(row: Row, key: str) -> Cell:
    """Return a ratio of percentiles over check-outs, which go by how callers take turns too."""
    cell = _ratio(row, key)
    return cell | {"note": INTERLEAVE} if row["interleave"] and row[key] is not None else cell


def _word(row: Row) -> str:
    """Return a row's word, with what weakens it."""
    beside = {"hold-bound": row["hold_bound"], "the median says otherwise": row["disagree"]}
    return "; ".join([row["word"], *(text for text, holds in beside.items() if holds)])


def speedup(rows: list[Row], *, first_decides: bool) -> Table:
    """Return times, ratios and the word of each row."""

    def shown(row: Row) -> list[Cell]:
        one, other = (row["arms"][role]["times"] for role in ROLES)
        return [
            cells.text(_word(row)),
            measures.ms(one["mean_ns"], 3),
            measures.ms(other["mean_ns"], 3),
            _ratio(row, "ratio", "ratio_min", "ratio_max"),
            _ratio(row, "median_ratio"),
            *[_tail(row, f"use_p{share}_ratio") for share in (95, 99)],
            cells.text(f"{one['n']} / {other['n']}"),
            cells.text(
                " / ".join(words.MISSING if t["spread"] is None else f"{t['spread']:.0%}" for t in (one, other))
            ),
            cells.number(words.scale(row["unhurried_share"], 100), 0, missing="not recorded"),
        ]

    once = "; a row whose arms did not differ in the first pass has that pass only" if first_decides else ""
    return cells.table(
        "speedup",
        f"Time of an iteration, baseline / candidate: above 1 the candidate is faster; n = {len(rows)} rows",
        [
            column("row"),
            column("word"),
            column("baseline mean", "ms"),
            column("candidate mean", "ms"),
            column("ratio of means", "smallest and largest pass"),
            column("ratio of medians"),
            column("ratio of p95", "check-outs"),
            column("ratio of p99", "check-outs"),
            column("n", "iterations"),
            column("spread", "standard deviation / mean"),
            column("holds and pauses", "% of the clock"),
        ],
        _bodies(rows, shown),
        [
            (
                f"Over the passes in which both arms have a run that counts{once}. Means, medians, n and spread are of "
                "iterations. p95 and p99 are of check-outs, from when one was due (its wave began, or its caller had "
                "given back the connection of before) to having given it back with all that was done in between, "
                "and are compared where 10 or more lie beyond them in both arms: of 60 iterations none lies beyond p99 "
                "and 3 beyond p95. How many check-outs there were is in the table of waits. Holds and pauses: what the "
                "drawn holds and the stated pauses would take alone, in the arm where that is less of the clock; above "
                "90 % a row is called hold-bound, since the pool has too little of its clock to make a difference."
            ),
            INTERLEAVE_NOTE,
        ],
    )


def _rank(found: Row, share: int) -> Cell:
    ends = {"run_min_ms": None, "run_max_ms": None, "run_beyond": 0}
    value = found[f"p{share}_ns"]
    return cells.percentile(
        {"ms": None if value is None else value / 1e6, "beyond": found[f"beyond_p{share}"], **ends}, 3
    )


def waits(rows: list[Row]) -> Table:
    """Return how long check-outs waited, and how many were under way at once."""

    def shown(row: Row) -> list[Cell]:
        both = [row["arms"][role]["wait"] for role in ROLES]
        values = [
            cell for found in both for cell in (measures.ms(found["median_ns"], 3), _rank(found, 95), _rank(found, 99))
        ]
        ratios = [_tail(row, f"wait_p{share}_ratio") for share in (95, 99)]
        inside = [row["arms"][role]["concurrency"] for role in ROLES]
        at_once = cells.text(" / ".join(words.number(value, 1) for value in inside))
        return [*values, *ratios, at_once, cells.text(f"{both[0]['n']:,} / {both[1]['n']:,}")]

    heads = [column(f"{role} {name}", "ms") for role in ROLES for name in ("p50", "p95", "p99")]
    return cells.table(
        "waits",
        f"From when a check-out was due to its connection, in ms, over those that ended ok; n = {len(rows)} rows",
        [
            column("row"),
            *heads,
            column("ratio of p95"),
            column("ratio of p99"),
            column("mean concurrency", "check-outs at once"),
            column("n", "check-outs"),
        ],
        _bodies(rows, shown),
        [
            WEAK_NOTE,
            INTERLEAVE_NOTE,
            (
                "A check-out is due when its wave begins, and every further one of a caller when it has given back the "
                "connection of before. Mean concurrency, baseline / candidate: times of all check-outs, from asking "
                "the pool to having given back, over the time of the iterations; at 1 or below callers followed one "
                "another, whatever their number. Where that of the arms differs by more than 1.5 times, percentiles of "
                "check-outs differ by the order of the callers too: the word goes by whole iterations."
            ),
        ],
    )


def _both(row: Row, text: Callable[[Row], str]) -> list[Cell]:
    return [cells.text(text(row["arms"][role])) for role in ROLES]


def connections(rows: list[Row]) -> Table:
    """Return which connections were made and taken."""

    def shown(row: Row) -> list[Cell]:
        return [
            *_both(row, lambda arm: _span(arm["connects_timed"])),
            *_both(row, lambda arm: _span(arm["connections_used"])),
            *_both(row, lambda arm: _order(row, arm)),
        ]

    heads = [
        column(f"{role} {what}", unit)
        for what, unit in (
            ("made", "inside the clock"),
            ("used", "different ones"),
            ("taken first", "of the idle ones"),
        )
        for role in ROLES
    ]
    return cells.table(
        "connections",
        "Physical connections of a pass: made inside the clock, used at all, and which of the idle ones was taken; "
        f"n = {len(rows)} rows",
        [column("row"), *heads],
        _bodies(rows, shown),
        [
            (
                "LIFO: the connection given back last was taken, FIFO: the one given back first; by the stamps "
                "of check-outs that found two or more idle ones while nobody else was waiting. No choice: fewer than "
                f"{ENOUGH_CHOICES} such check-outs. With many callers at once stamps of neighbours can stand in "
                "another order than the pool saw them."
            )
        ],
    )


def _order(row: Row, arm: Row) -> str:
    if not arm["connects"]:
        return words.MISSING
    return "two pools" if row["mode"] == "mixed" else reuse(arm["reuse"])


def _span(values: list[int]) -> str:
    return words.span(min(values), max(values)) if values else words.MISSING


def reuse(found: Row) -> str:
    """Say how a pool chose among idle connections, by the share of its check-outs that could tell."""
    total = sum(found.values())
    if total < ENOUGH_CHOICES:
        return "no choice"
    newest, oldest = (found[key] / total for key in ("newest", "oldest"))
    if max(newest, oldest) < CLEAR:
        return f"neither (LIFO {newest:.0%}, FIFO {oldest:.0%})"
    return f"LIFO {newest:.0%}" if newest >= oldest else f"FIFO {oldest:.0%}"


def costs(rows: list[Row]) -> Table:
    """Return release, CPU and memory."""

    def shown(row: Row) -> list[Cell]:
        arms = [row["arms"][role] for role in ROLES]
        return [
            *[_us(arm["release"]["median_ns"]) for arm in arms],
            *[_us(arm["generator_cpu_per_operation_ns"]) for arm in arms],
            *[_us(arm["database_cpu_per_operation_ns"]) for arm in arms],
            *[cells.number(words.scale(arm["rss_max_bytes"], 1 / words.MIB), 1) for arm in arms],
        ]

    heads = [
        column(f"{role} {what}", unit)
        for what, unit in (
            ("release, p50", "\u00b5s"),
            ("client CPU", "\u00b5s a check-out"),
            ("server CPU", "\u00b5s a check-out"),
            ("memory", "MiB"),
        )
        for role in ROLES
    ]
    return cells.table(
        "costs",
        "Median release, CPU for each check-out on both sides, and the client's memory after the iteration with most; "
        f"n = {len(rows)} rows",
        [column("row"), *heads],
        _bodies(rows, shown),
        [
            (
                "Release is from the end of what was done with a connection to having given it back. Client CPU is "
                "that of the iterations; server CPU is that of the whole time from the first iteration to the last, "
                "with what is cleared in between. Memory is of the whole process: Python, driver, pool, all "
                "connections and the rows of this measurement, which are the same for both arms."
            )
        ],
    )


def _us(value_ns: float | None) -> Cell:
    return cells.number(words.scale(value_ns, 1 / 1e3), 1)


def proof(found: dict[str, list[Row]]) -> Table:
    """Return the pools that ran, arm by arm."""
    bodies = [
        (arm, [cells.row(f"{one['module']}.{one['class_name']}", _proof_cells(one)) for one in ran])
        for arm, ran in found.items()
    ]
    return cells.table(
        "implementations",
        "What ran, as the pool objects themselves say it; in mixed rows each arm has a pool of either kind; "
        f"n = {sum(len(ran) for ran in found.values())} pools",
        [column("class"), column("callers"), column("package"), column("driver"), column("settings besides the size")],
        bodies,
    )


def _proof_cells(one: Row) -> list[Cell]:
    settings = ", ".join(
        f"{key} = {value:g}" if isinstance(value, float) else f"{key} = {value}"
        for key, value in one["settings"].items()
    )
    return [
        cells.text(x) for x in (one["mode"], f"{one['package']} {one['version']}", one["driver"], settings or "none")
    ]
