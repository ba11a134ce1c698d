"""Whether the load was delivered: offered and completed rate over the window, and our own lateness."""

from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from poollab.report import cells, words
from poollab.report.figures import style

NAME = "delivered"
PANEL_INCHES = 1.35

Row = dict[str, Any]


def height(_group: Row) -> float:
    """Height of a group's panels in inches."""
    return PANEL_INCHES


def describe(context: Row) -> Row:
    """Return heading, caption, alt text and the numbers behind the figure."""
    return {
        "heading": "Offered and completed rate over the window, and the scheduling delay",
        "caption": (
            "Left: requests scheduled (grey, wide) and completed (one line a pool) per second, the mean of the ok "
            "runs. Right: the largest scheduling delay of any request that began in that part of the window, in any "
            "ok run. A generator that falls behind shows as a line that rises towards the right."
        ),
        "alt": f"Rates and scheduling delay over the window by pool. {_finding(context['groups'])}",
        "table": _table(context["groups"]),
    }


def _halves(arm: Row) -> tuple[float | None, float | None]:
    """Return the largest scheduling delay of the first and of the second half of the window in ms."""
    values = (arm["delivered"] or {"latest_ms": []})["latest_ms"]
    middle = len(values) // 2
    first, second = ([v for v in part if v is not None] for part in (values[:middle], values[middle:]))
    return max(first, default=None), max(second, default=None)


def _finding(groups: list[Row]) -> str:
    shares = [
        100 * a["achieved_per_s"] / a["offered_per_s"]
        for g in groups
        for a in g["arms"]
        if a["achieved_per_s"] is not None and a["offered_per_s"]
    ]
    late = [half for g in groups for a in g["arms"] for half in _halves(a) if half is not None]
    most = f"; no request began more than {words.number(max(late), 2)} ms late" if late else ""
    if not shares and any(a["runs_ok"] for g in groups for a in g["arms"]):
        return f"No rate was offered: requests came all at once or one after another{most}."
    share = f"{words.span(min(shares), max(shares), 1)} % of the offered rate" if shares else "nothing (0 runs)"
    return f"By condition {share} was achieved over the observed time{most}."


def _table(groups: list[Row]) -> Row:
    return cells.table(
        "figure-delivered",
        "Numbers of the figure: rates as in the table of this section, and the largest scheduling delay in each half "
        "of the window, over n ok runs",
        [
            cells.column("pool", "connections"),
            cells.column("offered", "per s"),
            cells.column("achieved", "per s"),
            cells.column("largest delay, first half", "ms"),
            cells.column("largest delay, second half", "ms"),
            cells.column("n", "runs ok"),
        ],
        [(g["label"], [_row(a) for a in g["arms"]]) for g in groups],
    )


def _row(arm: Row) -> Row:
    halves = [cells.number(half, 2) for half in _halves(arm)]
    rates = [cells.number(arm["offered_per_s"], 2), cells.number(arm["achieved_per_s"], 2)]
    return cells.row(arm["label"], [*rates, *halves, cells.number(arm["runs_ok"])])


def draw(context: Row) -> Figure:
    """Draw two panels a workload."""
    groups = context["groups"]
    if not groups:
        return style.nothing("no condition was measured")
    figure, axes = style.grid([height(g) for g in groups], 2)
    for (left, right), group in zip(axes, groups, strict=True):
        _rates(left, group)
        _delays(right, group)
    for panel in axes[-1]:
        panel.set_xlabel("time in the window, s")
    largest = max(groups, key=lambda g: len(g["arms"]))["arms"]
    keys = [Line2D([], [], color="#b0b5bb", linewidth=5, label="offered")]
    for i, arm in enumerate(largest):
        keys.append(Line2D([], [], linewidth=1.4, label=f"pool {arm['label']}", **style.pool_style(i, len(largest))))
    style.key_above(figure, keys, min(len(keys), 5))
    return figure


def _edges(arm: Row) -> list[float]:
    bins = arm["delivered"]
    return [i * bins["bin_s"] for i in range(len(bins["offered_per_s"]) + 1)]


def _rates(axes: Axes, group: Row) -> None:
    arms = [(i, a) for i, a in enumerate(group["arms"]) if a["delivered"]]
    for i, arm in arms:
        bins, edges = arm["delivered"], _edges(arm)
        if i == arms[0][0]:
            axes.stairs(bins["offered_per_s"], edges, baseline=None, color="#b0b5bb", linewidth=5)
        look = style.pool_style(i, len(group["arms"]))
        axes.stairs(bins["completed_per_s"], edges, baseline=None, linewidth=1.4, **look)
    top = max((max(a["delivered"]["offered_per_s"] + a["delivered"]["completed_per_s"]) for _, a in arms), default=1.0)
    _finish(axes, group, top, "requests per s", bool(arms))
    axes.set_title(group["label"])


def _delays(axes: Axes, group: Row) -> None:
    arms = [(i, a) for i, a in enumerate(group["arms"]) if a["delivered"]]
    top = 0.0
    for i, arm in arms:
        values, edges = arm["delivered"]["latest_ms"], _edges(arm)
        middles = [(a + b) / 2 for a, b in pairwise(edges)]
        shown = [(m, v) for m, v in zip(middles, values, strict=True) if v is not None]
        look = style.pool_style(i, len(group["arms"]))
        axes.plot([m for m, _ in shown], [v for _, v in shown], linewidth=1.4, **look)
        top = max([top, *(v for _, v in shown)])
    _finish(axes, group, top, "delay, ms", bool(arms))
    axes.set_title("largest scheduling delay")


def _finish(axes: Axes, _group: Row, top: float, label: str, found: bool) -> None:  # noqa: FBT001 - one caller
    axes.set_ylim(0, top * 1.15 or 1.0)
    axes.set_ylabel(label)
    style.quiet_grid(axes)
    if not found:
        axes.text(0.02, 0.5, "no ok run", color=style.QUIET, transform=axes.transAxes)
