"""Two implementations of a pool: ratios row by row with their words, waits, connections, costs, and what really ran."""

from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

from poollab.report import cells, measures, words
from poollab.report.cells import Cell, Table, column
from poollab.report.figures import speedup
from poollab.report.tables import WEAK_NOTE

Row = dict[str, Any]

HEADING: Final = "Candidate against baseline, row by row"
LEAVES_OUT: Final = frozenset(
    {"answer", "tail", "wait", "time", "timeline", "order", "delivered", "limiter", "own", "method", "limitations"}
)
FIGURES: Final[tuple[ModuleType, ...]] = (speedup,)
ROLES: Final = ("baseline", "candidate")
#: Status of a pass that was left out because the first one did not differ.
NOT_NEEDED: Final = "not-needed"
#: From this share of the check-outs on an order of reuse is named.
CLEAR: Final = 0.5


def build(context: Row) -> Row:
    """Return tables and sentences of the comparison, from analysis.json."""
    found = context["analysis"]
    rows = found["rows"]
    return {
        "rows": rows,
        "confirm": {"threshold": f"{found['confirm']['threshold']:.0%}", "passes": found["confirm"]["passes"]},
        "arms": list(found["proof"]),
        "not_needed": sum(word == NOT_NEEDED for row in rows for r in ROLES for word in row["arms"][r]["statuses"]),
        "aa": _aa(found["aa"]),
        "disagree": [f"{_head(row)}: {row['sentence']}" for row in rows if row["disagree"]],
        "placement": [_placement(way) for way in found["placement"]],
        "tables": {
            "speedup": _speedup(rows),
            "waits": _waits(rows),
            "connections": _connections(rows),
            "costs": _costs(rows),
            "proof": _proof(found["proof"]),
        },
    }


def _bodies(rows: list[Row], shown: Callable[[Row], list[Cell]]) -> list[tuple[str, list[Row]]]:
    """Return one body for each family and pair of arms, in the order in which the study file first names them."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        label = f"{row['family']}: {row['called']['baseline']} / {row['called']['candidate']}"
        found.setdefault(label, []).append(cells.row(_head(row), shown(row)))
    return list(found.items())


def _head(row: Row) -> str:
    return f"{row['workload']}, limits {row['limits']}" if row["limits"] else str(row["workload"])


def _ratio(row: Row, key: str) -> Cell:
    return cells.number(row[key], 2, missing="not shown: too few values, or not measured")


def _speedup(rows: list[Row]) -> Table:
    def shown(row: Row) -> list[Cell]:
        one, other = (row["arms"][role]["times"] for role in ROLES)
        return [
            measures.ms(one["mean_ns"], 3),
            measures.ms(other["mean_ns"], 3),
            cells.number(row["ratio"], 2, low=row["ratio_min"], high=row["ratio_max"]),
            _ratio(row, "median_ratio"),
            *[_ratio(row, f"use_p{share}_ratio") for share in (95, 99)],
            cells.text(f"{one['n']} / {other['n']}"),
            cells.text(
                " / ".join(words.MISSING if t["spread"] is None else f"{t['spread']:.0%}" for t in (one, other))
            ),
            cells.text(row["word"] + ("; the median says otherwise" if row["disagree"] else "")),
        ]

    return cells.table(
        "speedup",
        f"Time of an iteration, baseline / candidate: above 1 the candidate is faster; n = {len(rows)} rows",
        [
            column("row"),
            column("baseline mean", "ms"),
            column("candidate mean", "ms"),
            column("ratio of means", "smallest and largest pass"),
            column("ratio of medians"),
            column("ratio of p95", "check-outs"),
            column("ratio of p99", "check-outs"),
            column("n", "iterations"),
            column("spread", "standard deviation / mean"),
            column("word"),
        ],
        _bodies(rows, shown),
        [
            (
                "Over the passes in which both arms have a run that counts; a row whose arms did not differ in the "
                "first pass has that pass only. Means, medians, n and spread are of iterations. p95 and p99 are of "
                "check-outs, from asking for a connection to having given it back with all that was done in between, "
                "and are compared where 10 or more lie beyond them in both arms: of 60 iterations none lies beyond p99 "
                "and 3 beyond p95. How many check-outs there were is in the table of waits."
            )
        ],
    )


def _rank(found: Row, share: int) -> Cell:
    ends = {"run_min_ms": None, "run_max_ms": None, "run_beyond": 0}
    value = found[f"p{share}_ns"]
    return cells.percentile(
        {"ms": None if value is None else value / 1e6, "beyond": found[f"beyond_p{share}"], **ends}, 3
    )


def _waits(rows: list[Row]) -> Table:
    def shown(row: Row) -> list[Cell]:
        both = [row["arms"][role]["wait"] for role in ROLES]
        values = [
            cell for found in both for cell in (measures.ms(found["median_ns"], 3), _rank(found, 95), _rank(found, 99))
        ]
        ratios = [_ratio(row, f"wait_p{share}_ratio") for share in (95, 99)]
        return [*values, *ratios, cells.text(f"{both[0]['n']:,} / {both[1]['n']:,}")]

    heads = [column(f"{role} {name}", "ms") for role in ROLES for name in ("p50", "p95", "p99")]
    return cells.table(
        "waits",
        f"Acquisition wait of each check-out, in ms, over those that ended ok; n = {len(rows)} rows",
        [column("row"), *heads, column("ratio of p95"), column("ratio of p99"), column("n", "check-outs")],
        _bodies(rows, shown),
        [WEAK_NOTE],
    )


def _both(row: Row, text: Callable[[Row], str]) -> list[Cell]:
    return [cells.text(text(row["arms"][role])) for role in ROLES]


def _connections(rows: list[Row]) -> Table:
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
                "LIFO: the connection that was given back last was taken, FIFO: the one given back first; by the "
                "stamps of check-outs that found two or more idle ones. With many callers at once stamps of "
                "neighbours can stand in another order than the pool saw them."
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
    if not total:
        return "no choice"
    newest, oldest = (found[key] / total for key in ("newest", "oldest"))
    if max(newest, oldest) < CLEAR:
        return f"neither (LIFO {newest:.0%}, FIFO {oldest:.0%})"
    return f"LIFO {newest:.0%}" if newest >= oldest else f"FIFO {oldest:.0%}"


def _costs(rows: list[Row]) -> Table:
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


def _proof(found: dict[str, list[Row]]) -> Table:
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


def _aa(found: Row | None) -> str:
    if found is None:
        return ""
    claimed = f": {', '.join(found['claimed'])}" if found["claimed"] else ""
    kept = "kept" if found["kept"] else "missed"
    untold = f" Of {words.plural(found['untold'], 'further row')} nothing can be told." if found["untold"] else ""
    return (
        f"Both arms of {words.plural(found['rows'], 'row')} are the same implementation, so every difference there is "
        f"noise. Called different: {len(found['claimed'])}{claimed}. The goal of at most {found['goal']:.0%} is {kept}."
        f"{untold}"
    )


def _placement(way: Row) -> str:
    runs = words.plural(way["runs"], "run")
    if way["note"]:
        return f"{runs}: the two sides were not kept apart ({way['note']})."
    sides = [
        f"{side} on CPU {words.listed([str(n) for n in way[key]])}"
        for side, key in (("server", "database"), ("client", "load_generator_read_back"))
    ]
    shared = ", which are threads of one core" if way.get("one_core") else ""
    return f"{runs}: {' and '.join(sides)}{shared}."
