"""The tail-latency study: rate, tail and use of the pool by workers and pool, and how near theory and CPU are."""

from types import ModuleType
from typing import Any, Final

from poollab.report import cells, measures, reruns, uncounted, words
from poollab.report.cells import Table, column
from poollab.report.figures import loop_rate, loop_time
from poollab.report.tables import WEAK_NOTE
from poollab.stats.measured import EXECUTOR

Row = dict[str, Any]

HEADING: Final = "Rate and tail by workers and pool"
LEAVES_OUT: Final[frozenset[str]] = frozenset({"quota"})
FIGURES: Final[tuple[ModuleType, ...]] = (loop_rate, loop_time)


def build(context: Row) -> Row:
    """Return tables, the sentence on S1, the runs that are far out, the spare runs, and limitations."""
    found = context["analysis"]
    rows = found["conditions"]
    return {
        "conditions": rows,
        "reference": _reference(found["references"]),
        "outliers": [reruns.outlier(o) for o in found["outliers"]],
        "spares": [reruns.spare(s) for s in found["spares"]],
        "limitations": _limitations(found),
        "tables": {"use": _use(rows), "times": _times(rows), "theory": _theory(rows, found["goal"])},
    }


def _bodies(rows: list[Row], cells_of: Any) -> list[tuple[str, list[Row]]]:
    bodies: dict[str, list[Row]] = {}
    for row in rows:
        bodies.setdefault(row["label"], []).append(cells.row(row["name"], cells_of(row)))
    return list(bodies.items())


def _from(rows: list[Row]) -> str:
    """Say from when on the caller of an executor waits, where there is one."""
    return f" With {EXECUTOR} from the scheduled moment." if any(row["client"] == EXECUTOR for row in rows) else ""


def _times(rows: list[Row]) -> Table:
    def shown(row: Row) -> list[cells.Cell]:
        tail = [measures.percentile(row[key]) for key in ("p50", "p95", "p99")]
        return [
            cells.number(row["achieved_per_s"]),
            *tail,
            measures.ms(row["max_ns"]),
            measures.ms(row["release_mean_ns"], 3),
            cells.number(row["requests"]),
            cells.number(row["runs_ok"]),
        ]

    return cells.table(
        "loop-times",
        "Requests a second, and acquisition wait and query together (without the release), in ms, over the n requests "
        f"that ended ok in all runs with status ok.{_from(rows)}",
        [
            column("pool", "connections"),
            column("rate", "per s"),
            column("p50", "ms"),
            column("p95", "ms"),
            column("p99", "ms"),
            column("max", "ms"),
            column("mean release", "ms"),
            column("n", "requests"),
            column("runs ok"),
        ],
        _bodies(rows, shown),
        [WEAK_NOTE, "The maximum is one request, and says nothing of the next run's."],
    )


def _use(rows: list[Row]) -> Table:
    def shown(row: Row) -> list[cells.Cell]:
        return [
            cells.number(row["peak_in_flight"]),
            cells.number(row["peak_in_use"]),
            cells.number(row["mean_in_use"], 1),
            measures.share(row["utilisation"], 1),
            measures.share(row["nearly_full_share"], 1),
            measures.ms(row["hold_mean_ns"], 3),
        ]

    return cells.table(
        "loop-use",
        f"Use of the pool over the window, counted from the stamps of n = {sum(r['requests'] for r in rows):,} "
        "requests",
        [
            column("pool", "connections"),
            column("peak in flight", "requests"),
            column("peak in use", "connections"),
            column("mean in use", "connections"),
            column("utilisation", "%"),
            column("time above 90 %", "%"),
            column("mean hold", "ms"),
        ],
        _bodies(rows, shown),
        [
            (
                f"In flight: from asking for a connection to giving it back.{_from(rows)} Peaks are the largest of the "
                "runs, means the mean."
            )
        ],
    )


def _theory(rows: list[Row], goal: float) -> Table:
    def shown(row: Row) -> list[cells.Cell]:
        return [
            cells.number(row["achieved_per_s"]),
            cells.number(row["theory_per_s"], missing="no theory here"),
            cells.number(row["ratio"], 3, missing="no theory here"),
            measures.us(row["client_cpu_per_request_s"]),
            measures.us(row["server_cpu_per_request_s"]),
            cells.number(row["cpu_ceiling_per_s"]),
            cells.text(row["goal"]),
        ]

    bound = loop_rate.bound(rows)
    return cells.table(
        "loop-theory",
        f"The rate beside that of the theory, {bound}, and beside the rate at which the CPU would run out; n = "
        f"{len(rows)} conditions",
        [
            column("pool", "connections"),
            column("rate", "per s"),
            column(bound, "per s"),
            column("ratio"),
            column("client CPU a request", "\u00b5s"),
            column("server CPU a request", "\u00b5s"),
            column("CPU ceiling", "per s"),
            column(f"goal: {goal:.2f}"),
        ],
        _bodies(rows, shown),
        [
            "C: workers. P: connections of the pool. S1: mean hold of one worker alone. Z: think time, where given.",
            (
                "CPU ceiling: all CPUs of the host over the CPU that a request costs on both sides, or what one side "
                "may use (its cap, and one CPU for each client process, which has one thread of Python) over its own "
                "cost where that is less. The cost is that of the condition itself, and it may fall as the rate rises. "
                "Near the ceiling queries wait for a CPU, so the rate bends before it."
            ),
        ],
    )


def _reference(found: list[Row]) -> str:
    known = [one for one in found if one["hold_ns"] is not None]
    if not known:
        return (
            "One worker on its own, with the client and the request of the others, was not measured, so there is no S1 "
            "and no theory to compare with."
        )
    return " ".join([*(_s1(one, several=len(known) > 1) for one in known), "The theory takes S1."])


def _s1(found: Row, *, several: bool) -> str:
    nominal = "" if found["nominal_ns"] is None else f" The statement asks for {found['nominal_ns'] / 1e6:g} ms."
    who = f" ({found['workload']}, {found['client']})" if several else ""
    return (
        f"S1, the mean hold of one worker on a pool of {found['pool_size']}{who}, is {found['hold_ns'] / 1e6:.3f} ms "
        f"({found['requests']:,} requests in {words.plural(found['runs'], 'run')}).{nominal}"
    )


def _limitations(found: Row) -> list[str]:
    lines = [
        (
            "The statement sleeps: a connection is occupied and the server computes next to nothing. How a pool far "
            "above the server's cores behaves under real queries is another question (study littles-law)."
        ),
        (
            "The loop is closed: a slow answer delays the next request of its worker, so a burst that arrives whatever "
            "the server does would wait longer than the tail shown here."
        ),
    ]
    if any(row["client"] == EXECUTOR for row in found["conditions"]):
        lines.append(
            f"With {EXECUTOR} a request starts in a thread, while its caller asks when the request is due. Wait and "
            "query, and what is in flight, are counted from the scheduled moment there, so the wait for a free thread "
            "is in them; with the other clients they are counted from asking the pool. Its hold ends where the caller "
            "learns of the release, so its S1 is a little long and its theory a little low."
        )
    if any(row["think_ns"] for row in found["conditions"]):
        lines.append(
            "Where workers think between requests, fewer are in flight than there are workers, and how many depends on "
            "the pool: the right size is not judged there."
        )
    short = [r for r in found["conditions"] if r["goal"].startswith("not reached")]
    if short:
        names = words.listed([f"{row['label']} on {row['name']}" for row in short[:6]])
        lines.append(
            f"In {words.plural(len(short), 'condition')} ({names}{', ...' if len(short) > 6 else ''}) the rate is "
            f"below {found['goal']:.0%} of the theory: there the pool alone does not explain the rate."
        )
    return [*uncounted.line(found["missing"]), *lines]
