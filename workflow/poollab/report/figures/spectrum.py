"""The percentile spectrum of the overall time: a thin line a run, a thick median, as far as the data go."""

import math
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from poollab.report import cells, words
from poollab.report.figures import style

NAME = "spectrum"
COLUMNS = 3
PANEL_INCHES = 2.1
TICKS = (0.5, 0.9, 0.99, 0.999, 0.9999)
#: Shares of the table behind the figure.
SHOWN = (0.5, 0.9, 0.95, 0.98, 0.99, 0.999)

Row = dict[str, Any]


def height(_group: Row) -> float:
    """Height in inches that a group takes of a row of panels."""
    return PANEL_INCHES / COLUMNS


def describe(context: Row) -> Row:
    """Return heading, caption, alt text and the numbers behind the figure."""
    return {
        "heading": "Percentile spectrum of the overall time",
        "caption": (
            "Each thin line is an ok run, the thick one the median of the pool's runs at that percentile. The scale "
            "stretches towards 100 %, so that the slow end can be read. A line is drawn only as far as a request "
            f"lies beyond it; where fewer than {cells.ENOUGH_BEYOND} do, in a single run, it is dotted and weak."
        ),
        "alt": f"Lines of the overall time's percentiles by pool, up to the slowest. {_finding(context['groups'])}",
        "table": _table(context["groups"]),
    }


def _at(arm: Row, share: float) -> Row | None:
    return next((point for point in arm["spectrum"] if point["share"] == share), None)


def _finding(groups: list[Row]) -> str:
    parts = []
    for group in groups:
        shown = []
        for arm in group["arms"]:
            low, high = _at(arm, 0.5), _at(arm, 0.95)
            ends = [words.number(point["ms"] if point else None, 2) for point in (low, high)]
            shown.append(f"{ends[0]} and {ends[1]} at {arm['label']}")
        parts.append(f"{group['label']} {words.listed(shown)}")
    return f"Median over the runs of p50 and p95 in ms by pool: {'; '.join(parts) or '0 runs'}."


def _table(groups: list[Row]) -> Row:
    return cells.table(
        "figure-spectrum",
        "Numbers of the figure: the median over ok runs of each run's own percentile of the overall time, in ms, with "
        "n runs ok",
        [
            cells.column("pool", "connections"),
            *(cells.column(f"p{share * 100:g}", "ms") for share in SHOWN),
            cells.column("n", "runs ok"),
        ],
        [(g["label"], [_row(a) for a in g["arms"]]) for g in groups],
        [
            (
                "\u25cb: weak, in a single run 1 to 9 requests lie beyond. A dash: no request lies beyond. The table "
                "of this section pools the requests of all runs and reaches further."
            )
        ],
    )


def _row(arm: Row) -> Row:
    made = []
    for share in SHOWN:
        point = _at(arm, share)
        cell = cells.number(point["ms"] if point else None, 2, missing="not shown: no request of a run lies beyond")
        made.append(cell | {"weak": bool(point) and point is not None and point["support"] == "weak"})
    return cells.row(arm["label"], [*made, cells.number(arm["runs_ok"])])


def draw(context: Row) -> Figure:
    """Draw one panel a workload."""
    groups = context["groups"]
    if not groups:
        return style.nothing("no condition was measured")
    columns = min(COLUMNS, len(groups))
    figure, rows = style.grid([PANEL_INCHES] * -(-len(groups) // columns), columns)
    panels = [panel for row in rows for panel in row]
    for panel, group in zip(panels, groups, strict=False):
        _panel(panel, group)
        panel.set_xlabel("percentile")
    for panel in panels[len(groups) :]:
        panel.set_axis_off()
    for row in rows:
        row[0].set_ylabel("overall time, ms")
    labels = list(dict.fromkeys(a["label"] for g in groups for a in g["arms"]))
    largest = max(groups, key=lambda g: len(g["arms"]))["arms"]
    keys = [
        Line2D([], [], linewidth=2.2, label=f"pool {a['label']}", **style.pool_style(i, len(largest)))
        for i, a in enumerate(largest)
        if a["label"] in labels
    ]
    style.key_above(figure, keys, min(len(keys), 5))
    return figure


def place(share: float) -> float:
    """Return where a share stands on the scale that stretches towards 1."""
    return -math.log10(1 - share)


def _panel(axes: Axes, group: Row) -> None:
    count, furthest, top = len(group["arms"]), 0.9, 0.0
    for i, arm in enumerate(group["arms"]):
        look = style.pool_style(i, count)
        for run in (r for r in arm["runs"] if r["ok"]):
            _line(axes, run["spectrum"], {**look, "linewidth": 0.6})
            furthest = max([furthest, *(p["share"] for p in run["spectrum"])])
            top = max([top, *(p["ms"] for p in run["spectrum"])])
        _line(axes, arm["spectrum"], {**look, "linewidth": 2.2})
    axes.set_xlim(place(0.5) - 0.02, place(furthest) + 0.05)
    ticks = [t for t in TICKS if t <= furthest]
    axes.set_xticks([place(t) for t in ticks], [f"p{t * 100:g}" for t in ticks])
    axes.set_ylim(0, top * 1.05 or 1.0)
    axes.set_title(group["label"])
    style.quiet_grid(axes)
    if not top:
        axes.text(place(0.5), 0.5, "no percentile of an ok run to show", color=style.QUIET)


def _line(axes: Axes, points: list[Row], look: Row) -> None:
    plain = [p for p in points if p["support"] == "plain"]
    weak = points[max(len(plain) - 1, 0) :]
    for part, how in ((plain, look), (weak if len(weak) > 1 else [], look | {"linestyle": ":"})):
        if part:
            axes.plot([place(p["share"]) for p in part], [p["ms"] for p in part], **how)
