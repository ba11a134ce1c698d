"""The tail-latency study: rate, tail and use of the pool by workers and pool, and how near theory and CPU are."""

from itertools import groupby
from types import ModuleType
from typing import Any, Final

from poollab.report import cells, measures, words
from poollab.report.cells import Table, column
from poollab.report.figures import loop_rate, loop_time
from poollab.report.tables import WEAK_NOTE

Row = dict[str, Any]

HEADING: Final = "Rate and tail by workers and pool"
LEAVES_OUT: Final[frozenset[str]] = frozenset({"quota"})
FIGURES: Final[tuple[ModuleType, ...]] = (loop_rate, loop_time)


def build(context: Row) -> Row:
    """Return tables, the sentence on S1, the runs that are far out, and limitations, from analysis.json."""
    found = context["analysis"]
    rows = found["conditions"]
    return {
        "conditions": rows,
        "reference": _reference(found["reference"]),
        "outliers": [_outlier(o) for o in found["outliers"]],
        "limitations": _limitations(found),
        "tables": {"use": _use(rows), "times": _times(rows), "theory": _theory(rows, found["goal"])},
    }


def by_workers(rows: list[Row]) -> list[tuple[int, list[Row]]]:
    """Return the conditions of each number of workers, pools from the smallest."""
    ordered = sorted(rows, key=lambda r: (r["workers"], r["pool_size"]))
    return [(count, list(mine)) for count, mine in groupby(ordered, key=lambda r: int(r["workers"]))]


def _bodies(rows: list[Row], cells_of: Any) -> list[tuple[str, list[Row]]]:
    return [
        (words.plural(count, "worker"), [cells.row(str(row["pool_size"]), cells_of(row)) for row in mine])
        for count, mine in by_workers(rows)
    ]


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
        "that ended ok in all runs with status ok",
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
                "In flight: from asking for a connection to giving it back. Peaks are the largest of the runs, means "
                "the mean."
            )
        ],
    )


def _theory(rows: list[Row], goal: float) -> Table:
    def shown(row: Row) -> list[cells.Cell]:
        return [
            cells.number(row["achieved_per_s"]),
            cells.number(row["theory_per_s"]),
            cells.number(row["ratio"], 3),
            measures.us(row["client_cpu_per_request_s"]),
            measures.us(row["server_cpu_per_request_s"]),
            cells.number(row["cpu_ceiling_per_s"]),
            cells.text(row["goal"]),
        ]

    return cells.table(
        "loop-theory",
        f"The rate beside that of the theory, min(C, P) / S1, and beside the rate at which the CPU would run out; n = "
        f"{len(rows)} conditions",
        [
            column("pool", "connections"),
            column("rate", "per s"),
            column("min(C, P) / S1", "per s"),
            column("ratio"),
            column("client CPU a request", "\u00b5s"),
            column("server CPU a request", "\u00b5s"),
            column("CPU ceiling", "per s"),
            column(f"goal: {goal:.2f}"),
        ],
        _bodies(rows, shown),
        [
            (
                "CPU ceiling: all CPUs of the host over the CPU that a request costs on both sides, or one CPU for the "
                "client's one thread of Python where that is less. The cost is that of the condition itself, and it "
                "may fall as the rate rises. Near the ceiling queries wait for a CPU, so the rate bends before it."
            )
        ],
    )


def _reference(found: Row) -> str:
    if found["hold_ns"] is None:
        return "One worker on its own was not measured, so there is no S1 and no theory to compare with."
    nominal = "" if found["nominal_ns"] is None else f" The statement asks for {found['nominal_ns'] / 1e6:g} ms."
    return (
        f"S1, the mean hold of one worker on a pool of {found['pool_size']}, is {found['hold_ns'] / 1e6:.3f} ms "
        f"({found['requests']:,} requests in {words.plural(found['runs'], 'run')}).{nominal} The theory takes S1."
    )


def _outlier(found: Row) -> str:
    others = words.plural(found["others"], "other run")
    weak = "" if cells.support(found["beyond"]) == "plain" else f" (weak, {found['beyond']} beyond)"
    lead = (
        f"{found['cell']}: p99 {found['p99_ns'] / 1e6:.2f} ms{weak}, {found['times']:.1f} times the median of {others}."
    )
    if found["spare"]:
        return f"{lead} It is itself a run that was added because another was far out."
    if not found["again"]:
        return f"{lead} It was not measured again."
    shown = words.listed([f"{a['cell']} {a['p99_ns'] / 1e6:.2f} ms" for a in found["again"]])
    same = any(again["same"] for again in found["again"])
    return f"{lead} Measured again for that: {shown}; {'it came back' if same else 'it did not come back'}."


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
    short = [r for r in found["conditions"] if r["goal"].startswith("not reached")]
    if short:
        names = words.listed([f"{words.plural(r['workers'], 'worker')} on {r['pool_size']}" for r in short[:6]])
        lines.append(
            f"In {words.plural(len(short), 'condition')} ({names}{', ...' if len(short) > 6 else ''}) the rate is "
            f"below {found['goal']:.0%} of the theory: there the pool alone does not explain the rate."
        )
    return lines
