"""The execution-models study: which limit each client meets, and whether the execution model moves it."""

from types import ModuleType
from typing import Any, Final

from poollab.report import cells, executiontables, uncounted, words
from poollab.report.cells import Table, column
from poollab.report.figures import exec_beside, exec_ceiling, exec_waits
from poollab.stats import clients

Row = dict[str, Any]

HEADING: Final = "Three ceilings: connections, CPU, waits"
LEAVES_OUT: Final[frozenset[str]] = frozenset(
    {"answer", "tail", "wait", "time", "timeline", "delivered", "limiter", "quota"}
)
FIGURES: Final[tuple[ModuleType, ...]] = (exec_ceiling, exec_waits, exec_beside)


def build(context: Row) -> Row:
    """Return tables, sentences and limitations from analysis.json."""
    found = context["analysis"]
    gone = {question: uncounted.notes(found["missing"], question) for question in ("ceiling", "waits", "beside")}
    return {
        "ceiling": found["ceiling"],
        "waits": executiontables.paired_waits(found["waits"]),
        "beside": found["beside"],
        "limitations": _limitations(found),
        "uses_not_ok": "computing" if any(row["statuses"] != ["ok"] for row in found["beside"]) else "",
        "tables": {
            "ceiling": _ceiling(found["ceiling"], gone["ceiling"]),
            "executor": _executor(found["executor"], gone["ceiling"]),
            "sequence": _sequence(found["sequence"], uncounted.notes(found["missing"], "sequence")),
            "waits": executiontables.waits(found["waits"], gone["waits"]),
            "beside": executiontables.beside(found["beside"], gone["beside"]),
            "zero": executiontables.zero(found["zero"]),
        },
    }


def _ceiling(rows: list[Row], notes: list[str]) -> Table:
    bodies: list[tuple[str, list[Row]]] = []
    for line, mine in executiontables.lines(rows).items():
        bodies.append((line, [cells.row(executiontables.pool(row), _batch(row)) for row in mine]))
    return cells.table(
        "exec-ceiling",
        f"Time from the first to the last of n = {executiontables.count(rows)} queries that are due at once, by client "
        "and pool",
        [
            column("pool", "connections"),
            column("time", "ms"),
            column("n x S1 / P", "ms"),
            column("ratio"),
            column("mean hold", "ms"),
            column("runs ok"),
        ],
        bodies,
        [
            (
                "In square brackets: the smallest and the largest run. S1 is the mean hold of the same client on one "
                "connection, so a longer hold on a larger pool shows as a ratio above 1."
            ),
            *_failed(rows),
            *notes,
        ],
    )


def _batch(row: Row) -> list[cells.Cell]:
    return [
        executiontables.took(row),
        cells.number(words.to_ms(row["theory_ns"]), 1),
        cells.number(row["ratio"], 2),
        cells.number(words.to_ms(row["hold_mean_ns"]), 2),
        cells.number(row["runs"]),
    ]


def _failed(rows: list[Row]) -> list[str]:
    """Say where requests failed: the theory takes those that ended ok, and a shorter batch is no faster client."""
    some = [row for row in rows if row["completed"] < row["batch"]]
    if not some:
        return []
    shown = words.listed([f"{r['completed']:,.1f} of {r['batch']:,} with {r['arm']}" for r in some])
    return [f"Not all requests ended ok, and in n x S1 / P only those that did are counted: on average {shown}."]


def _executor(found: Row, notes: list[str]) -> Table:
    batches = clients.by_workload(found["rows"])
    bodies = [
        (workload if len(batches) > 1 else "", [_beside_threads(row) for row in rows])
        for workload, rows in batches.items()
    ]
    return cells.table(
        "exec-executor",
        f"The same n = {executiontables.count(found['rows'])} queries on a pool of {found['size'] or 0}, relative to "
        "plain threads",
        [
            column("client"),
            column("time", "ms"),
            column("relative to threads"),
            column("at once at most", "threads"),
            column("runs ok"),
        ],
        bodies,
        [*_base(found["rows"]), *_other_size(found), *notes],
    )


def _beside_threads(row: Row) -> Row:
    return cells.row(
        row["label"],
        [
            executiontables.took(row),
            cells.number(row["relative"], 3, missing="no run with plain threads counts"),
            cells.number(row["threads"], missing="no threads"),
            cells.number(row["runs"]),
        ],
    )


def _base(rows: list[Row]) -> list[str]:
    """Name the arm that others are set against, where plain threads have several."""
    names = list(dict.fromkeys(row["base"] for row in rows if row["base"] and row["label"] != row["client"]))
    return [f"Relative to {words.listed(names)}, the first arm with plain threads."] if names else []


def _other_size(found: Row) -> list[str]:
    """Say that the comparison is not on the pool that it is meant for."""
    if found["size"] in (None, found["asked_size"]):
        return []
    return [
        (
            f"Compared on a pool of {found['size']} and not of {found['asked_size']}: it is the largest on which every "
            "client has a run that counts."
        )
    ]


def _sequence(rows: list[Row], notes: list[str]) -> Table:
    bodies: dict[str, list[Row]] = {}
    for row in rows:
        times = [row["trip_mean_ns"], row["trip_p50"]["ns"], row["whole_mean_ns"], row["whole_p50"]["ns"]]
        shown = [cells.number(None if t is None else t / 1e3, 1) for t in times]
        cpu = cells.number(None if row["client_cpu_s"] is None else row["client_cpu_s"] * 1e6, 1)
        bodies.setdefault(f"{row['workload']}: {row['sql']}", []).append(
            cells.row(row["label"], [*shown, cpu, cells.number(row["requests"])])
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
                "With pool: from the moment at which the caller asks (scheduled: its last operation has ended) to "
                "having given the connection back, so an executor's way to its thread and back is in it. Client CPU is "
                "all CPU of the generator over the requests."
            ),
            *notes,
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
    if found["executor"]["size"] is None and found["ceiling"]:
        lines.append(
            "On no pool does every client have a run that counts, so a driver in an executor is not compared with the "
            "others."
        )
    lines += _other_size(found["executor"])
    statuses = sorted({s for row in found["beside"] for s in row["statuses"] if s != "ok"})
    if statuses:
        lines.append(
            f"Runs with computing ended {words.listed(statuses)} and are used here all the same: that requests are "
            "late or fall behind is what is measured."
        )
    weak = [row for row in found["beside"] if 0 < row["zero"]["scheduled"]["p99"]["beyond"] < cells.ENOUGH_BEYOND]
    if weak:
        lines.append("The p99 of requests beside computing is weak (hollow): verdicts rest on p50 and p95.")
    return [*uncounted.line(found["missing"]), *lines]
