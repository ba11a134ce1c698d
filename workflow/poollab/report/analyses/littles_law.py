"""The Little's-law study: every step of the rising load, busy connections, and how many would be enough."""

from types import ModuleType
from typing import Any, Final

from poollab.report import cells, lawtables, measures, uncounted, words
from poollab.report.cells import Table, column
from poollab.report.figures import law_busy, law_queue, law_tail
from poollab.report.tables import WEAK_NOTE
from poollab.stats.measured import EXECUTOR

Row = dict[str, Any]

HEADING: Final = "Step by step: busy connections and where requests wait"
LEAVES_OUT: Final[frozenset[str]] = frozenset({"quota", "tail", "wait", "answer"})
FIGURES: Final[tuple[ModuleType, ...]] = (law_queue, law_busy, law_tail)


def build(context: Row) -> Row:
    """Return tables, sentences and limitations from analysis.json."""
    found = context["analysis"]
    arms = [{**arm, "label": label(arm)} for arm in found["arms"]]
    return {
        "arms": arms,
        "rule": lawtables.rule_text(found["rule"]),
        "targets": lawtables.targets_text(found["targets"]),
        "limitations": _limitations(found),
        "uses_not_ok": "the steps" if _not_ok(found) else "",
        "tables": {
            "steps": [_steps(arm) for arm in arms],
            "busy": _busy(arms),
            "rule": lawtables.rule(found["rule"]),
            "budget": lawtables.budget(found["budget"]),
            "holds": lawtables.holds(found["holds"], found["others"]),
            "sizes": lawtables.sizes(found["sizes"], found["targets"]),
        },
    }


def _not_ok(found: Row) -> bool:
    """Tell whether runs stand in this section that are in no number elsewhere."""
    return any(arm["not_ok"] for arm in found["arms"]) or any(other["status"] != "ok" for other in found["others"])


def label(arm: Row) -> str:
    """Return how an arm is called: connections in all, and how they are shared out."""
    if arm["processes"] == 1:
        return words.plural(arm["connections"], "connection")
    return f"{words.plural(arm['connections'], 'connection')} ({arm['processes']} x {arm['pool_size']})"


def _steps(arm: Row) -> Table:
    rows = []
    for step in arm["steps"]:
        shown = [
            cells.number(step["offered_per_s"], 1),
            cells.number(step["achieved_per_s"], 1),
            cells.number(step["database_cores"], 2),
            measures.percentile(step["late_p99"]),
            measures.ms(step["wait_mean_ns"], 3),
            measures.ms(step["hold_mean_ns"], 3),
            measures.percentile(step["overall_p99"]),
            measures.share(step["utilisation"], 1),
            measures.share(step["waited_share"], 1),
            cells.text(step["queue"]),
        ]
        rows.append(cells.row(str(step["step"]), shown, "" if step["kept"] else "rate not kept"))
    count = sum(step["requests"] for step in arm["steps"])
    return cells.table(
        f"law-steps-{arm['arm']}",
        f"{arm['label']}: every step of the load, over n = {count:,} requests in {words.plural(arm['runs'], 'run')}",
        [
            column("step"),
            column("offered", "per s"),
            column("achieved", "per s"),
            column("database CPU", "cores"),
            column("begun late, p99", "ms"),
            column("mean wait", "ms"),
            column("mean hold", "ms"),
            column("overall p99", "ms"),
            column("pool busy", "%"),
            column("found none free", "%"),
            column("where requests wait"),
        ],
        [("", rows)],
        [WEAK_NOTE, _QUEUE_NOTE],
    )


_QUEUE_NOTE = (
    "Where requests wait is read from growth since the first step: in the pool when the acquisition wait grew at least "
    "twice as much as the hold time, in the database when it is the other way round, in both between, none when each "
    "grew by less than a tenth of the first hold time. A client short of CPU lengthens the hold time too."
)


def _busy(arms: list[Row]) -> Table:
    def row(arm: Row, step: Row) -> Row:
        numbers = [step[key] for key in ("planned_busy", "predicted_busy", "measured_busy")]
        return cells.row(
            str(step["step"]),
            [
                cells.number(step["offered_per_s"], 1),
                *(cells.number(n, 2) for n in numbers),
                cells.number(step["peak_busy"]),
                cells.number(arm["connections"]),
            ],
        )

    return cells.table(
        "law-busy",
        f"Busy connections by Little's law and from the stamps, in n = {sum(len(a['steps']) for a in arms)} steps",
        [
            column("step"),
            column("offered", "per s"),
            column("offered x hold at step 1", "connections"),
            column("achieved x hold", "connections"),
            column("measured mean", "connections"),
            column("measured peak", "connections"),
            column("there are", "connections"),
        ],
        [(arm["label"], [row(arm, step) for step in arm["steps"]]) for arm in arms],
        [
            (
                "Offered x hold at step 1 is what can be known before the load comes. Achieved x hold uses the hold "
                "time of the step itself and comes from the same stamps as the measured mean. The two differ by "
                "requests under way at the ends of a step and, where requests wait, by the moment between a connection "
                "being handed on and the stamp of the one that gave it back: the mean counts a connection once, the "
                "hold time to the stamp."
            )
        ],
    )


def _limitations(found: Row) -> list[str]:
    lines = [
        "CPU of a step is interpolated between samples a tenth of a second apart, so its ends are known to about that.",
        (
            "The step of a request is that in which it was due; one that ends in the next step counts for the first in "
            "every mean and percentile, and for the next in what was completed."
        ),
        "One cheap read from memory was asked for. Writes and reads from disk hold connections longer and need more.",
    ]
    if lengths := sorted({round(s["to_s"] - s["from_s"], 3) for arm in found["arms"] for s in arm["steps"]}):
        lines.append(
            f"A step lasts {words.listed([f'{length:g}' for length in lengths])} s here, against 60 s in the write-up: "
            "near the limit a queue may still be growing when its step ends."
        )
    late = {cell: status for arm in found["arms"] for cell, status in arm["not_ok"].items()}
    if late:
        names = words.listed([f"{cell} ({status})" for cell, status in list(late.items())[:6]])
        lines.append(
            f"{names} {'is' if len(late) == 1 else 'are'} used here all the same: each step is judged by itself, steps "
            "whose rate was not kept are marked, and how late requests were begun stands beside the rest and is part "
            "of the overall time."
        )
    if any(row["client"] == EXECUTOR for row in (*found["arms"], *found["others"])):
        lines.append(
            f"With {EXECUTOR} a wait is counted from the scheduled moment, since a caller waits for a free thread "
            "before a connection is asked for: where requests wait in the pool, they may wait for either."
        )
    few = min((arm["runs"] for arm in found["arms"]), default=0)
    if 0 < few < 3:
        lines.append(
            f"With {words.plural(few, 'run')} of an arm, single steps are noisy: read trends, not single cells."
        )
    return [*uncounted.line(found["missing"]), *lines]
