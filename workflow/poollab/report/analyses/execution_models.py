"""The execution-models study: which limit each client meets, and whether the execution model moves it."""

from types import ModuleType
from typing import Any, Final

from poollab.report import cells, executiontables, words
from poollab.report.cells import Table, column
from poollab.report.figures import exec_beside, exec_ceiling, exec_waits

Row = dict[str, Any]

HEADING: Final = "Three ceilings: connections, CPU, waits"
LEAVES_OUT: Final[frozenset[str]] = frozenset(
    {"answer", "tail", "wait", "time", "timeline", "delivered", "limiter", "quota"}
)
FIGURES: Final[tuple[ModuleType, ...]] = (exec_ceiling, exec_waits, exec_beside)


def build(context: Row) -> Row:
    """Return tables, sentences and limitations from analysis.json."""
    found = context["analysis"]
    return {
        "ceiling": found["ceiling"],
        "waits": executiontables.paired_waits(found["waits"]),
        "beside": found["beside"],
        "limitations": _limitations(found),
        "uses_not_ok": "computing" if any(row["statuses"] != ["ok"] for row in found["beside"]) else "",
        "tables": {
            "ceiling": _ceiling(found["ceiling"]),
            "executor": _executor(found["executor"]),
            "sequence": _sequence(found["sequence"]),
            "waits": executiontables.waits(found["waits"]),
            "beside": executiontables.beside(found["beside"]),
            "zero": executiontables.zero(found["zero"]),
        },
    }


def _ceiling(rows: list[Row]) -> Table:
    bodies: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda r: (r["client"], r["pool_size"])):
        ends = {"low": row["took_min_ns"] / 1e6, "high": row["took_max_ns"] / 1e6}
        shown = [
            cells.number(row["took_mean_ns"] / 1e6, 1, **ends),
            cells.number(words.to_ms(row["theory_ns"]), 1),
            cells.number(row["ratio"], 2),
            cells.number(words.to_ms(row["hold_mean_ns"]), 2),
            cells.number(row["runs"]),
        ]
        bodies.setdefault(row["client"], []).append(cells.row(str(row["pool_size"]), shown))
    batch = max((row["batch"] for row in rows), default=0)
    return cells.table(
        "exec-ceiling",
        f"Time from the first to the last of n = {batch:,} queries that are due at once, by client and pool",
        [
            column("pool", "connections"),
            column("time", "ms"),
            column("n x S1 / P", "ms"),
            column("ratio"),
            column("mean hold", "ms"),
            column("runs ok"),
        ],
        list(bodies.items()),
        [
            (
                "In square brackets: the smallest and the largest run. S1 is the mean hold of the same client on one "
                "connection, so a longer hold on a larger pool shows as a ratio above 1."
            )
        ],
    )


def _executor(found: Row) -> Table:
    rows = [
        cells.row(
            row["client"],
            [
                cells.number(row["took_mean_ns"] / 1e6, 1, low=row["took_min_ns"] / 1e6, high=row["took_max_ns"] / 1e6),
                cells.number(row["relative"], 3),
                cells.number(row["threads"], missing="no threads"),
                cells.number(row["runs"]),
            ],
        )
        for row in found["rows"]
    ]
    count = max((row["batch"] for row in found["rows"]), default=0)
    return cells.table(
        "exec-executor",
        f"The same n = {count:,} queries on a pool of {found['size'] or 0}, relative to plain threads",
        [
            column("client"),
            column("time", "ms"),
            column("relative to threads"),
            column("at once at most", "threads"),
            column("runs ok"),
        ],
        [("", rows)],
    )


def _sequence(rows: list[Row]) -> Table:
    bodies: dict[str, list[Row]] = {}
    for row in rows:
        times = [row["trip_mean_ns"], row["trip_p50"]["ns"], row["whole_mean_ns"], row["whole_p50"]["ns"]]
        shown = [cells.number(None if t is None else t / 1e3, 1) for t in times]
        cpu = cells.number(None if row["client_cpu_s"] is None else row["client_cpu_s"] * 1e6, 1)
        bodies.setdefault(f"{row['workload']}: {row['sql']}", []).append(
            cells.row(row["client"], [*shown, cpu, cells.number(row["requests"])])
        )
    return cells.table(
        "exec-sequence",
        "One operation after another on one connection, in microseconds, over n requests",
        [
            column("client"),
            column("round trip, mean", "\u00b5s"),
            column("round trip, p50", "\u00b5s"),
            column("with pool, mean", "\u00b5s"),
            column("with pool, p50", "\u00b5s"),
            column("client CPU", "\u00b5s"),
            column("n", "requests"),
        ],
        list(bodies.items()),
        [
            (
                "With pool: from asking for the connection to having given it back, which is where an executor's way "
                "to its thread and back is counted. Client CPU is all CPU of the generator over the requests."
            )
        ],
    )


def _limitations(found: Row) -> list[str]:
    lines = [
        (
            "The server is on the same machine and answers in a fraction of a millisecond. The further away it is, the "
            "less the client's own cost shows; the pool's ceiling stays."
        ),
        (
            "Threads and coroutines are made before the clock starts. How long that takes for the measured window has "
            "a column of its own; resident memory counts those of the warm-up too."
        ),
        (
            "Python's own count (tracemalloc) slows every allocation down, so it has runs of its own, and their times "
            "are not compared."
        ),
        (
            "With psycopg-threads and psycopg-executor the wait for a free thread is scheduling delay, and coroutines "
            "have none: their requests wait in the pool instead. Mean acquisition waits of clients differ by that and "
            "must not be set beside each other, wherever this report or its data show them; times from the scheduled "
            "moment may."
        ),
    ]
    statuses = sorted({s for row in found["beside"] for s in row["statuses"] if s != "ok"})
    if statuses:
        lines.append(
            f"Runs with computing ended {words.listed(statuses)} and are used here all the same: that requests are "
            "late or fall behind is what is measured."
        )
    weak = [row for row in found["beside"] if 0 < row["zero"]["scheduled"]["p99"]["beyond"] < cells.ENOUGH_BEYOND]
    if weak:
        lines.append("The p99 of requests beside computing is weak (hollow): verdicts rest on p50 and p95.")
    return lines
