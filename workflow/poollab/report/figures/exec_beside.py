"""Requests beside computing: percentiles by client, counted from the scheduled and from the started moment."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from poollab.report import cells, executiontables, measures, words
from poollab.report.figures import style
from poollab.report.words import to_ms

NAME = "exec-beside"
ROW_INCHES = 0.42
MOMENTS = ("scheduled", "started")
MARKS = {"p50": ("#0072b2", "o"), "p95": ("#009e73", "s"), "p99": ("#d55e00", "D")}

Row = dict[str, Any]


def height(_group: Row) -> float:
    """Height that a group adds in inches: none, as all clients stand in one part."""
    return 0.0


def describe(context: Row) -> Row:
    """Return heading, caption, alt text and the numbers behind the figure."""
    rows = context["special"]["beside"]
    return {
        "heading": "Requests beside computing, and the moment to count from",
        "caption": (
            "The same requests twice: left from the moment at which each was due, right from the moment at which its "
            "task or thread began it. Hollow: weak, 1 to 9 requests lie beyond. Bar: the largest. The scale is "
            "logarithmic."
        ),
        "alt": f"Dot plots of p50, p95 and p99 by client. {_finding(rows)}",
        "table": executiontables.zero(rows) | {"id": "figure-exec-beside"} if rows else None,
    }


def _by_workload(rows: list[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["workload"], []).append(row)
    return found


def _finding(rows: list[Row]) -> str:
    parts = []
    for workload, mine in _by_workload(rows).items():
        shown = [
            f"{executiontables.name(r)} {_p95(r, 'scheduled')} ({_p95(r, 'started')} from its start)" for r in mine
        ]
        parts.append(f"{workload}: {', '.join(shown)}")
    return f"p95 in ms: {'; '.join(parts) or 'nothing measured, 0 runs'}."


def _p95(row: Row, moment: str) -> str:
    return words.number(measures.plain_ms(row["zero"][moment]["p95"]), 1)


def draw(context: Row) -> Figure:
    """Draw two panels for each workload, a row for each client."""
    found = _by_workload(context["special"]["beside"])
    if not found:
        return style.nothing("no request beside computing was measured")
    heights = [0.7 + ROW_INCHES * len(rows) for rows in found.values()]
    figure, axes = style.grid(heights, len(MOMENTS), sharex="row")
    for line, (workload, rows) in zip(axes, found.items(), strict=True):
        for at, (panel, moment) in enumerate(zip(line, MOMENTS, strict=True)):
            _panel(panel, rows, moment)
            panel.set_title(f"{workload}, from the {moment} moment", fontsize=8)
            panel.set_yticks(range(len(rows)), [_label(r) if at == 0 else "" for r in rows])
    for panel in axes[-1]:
        panel.set_xlabel("ms")
    handles = [Line2D([], [], color=c, marker=m, linestyle="none", label=k) for k, (c, m) in MARKS.items()]
    most = Line2D([], [], color=style.INK, marker="|", markersize=10, linestyle="none", label="largest")
    style.key_above(figure, [*handles, most])
    return figure


def _label(row: Row) -> str:
    return f"{row['label']}\nwith processes" if row["compute_in"] == "processes" else str(row["label"])


def _panel(axes: Axes, rows: list[Row], moment: str) -> None:
    for y, row in enumerate(rows):
        found = row["zero"][moment]
        for rank, (colour, marker) in MARKS.items():
            if (value := measures.plain_ms(found[rank])) is not None:
                style.dot(axes, value, y, colour, marker, cells.support(found[rank]["beyond"]))
        if (most := to_ms(found["max_ns"])) is not None:
            axes.plot([most], [y], marker="|", markersize=12, color=style.INK, linestyle="none")
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.xaxis.set_minor_formatter(lambda *_: "")
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(axis="x", color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)
