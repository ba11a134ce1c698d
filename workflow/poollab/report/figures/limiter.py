"""What the database used of what it could have: CPU beside its cap, throttled periods, memory."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from poollab.report import words
from poollab.report.figures import style
from poollab.report.words import MIB, scale

NAME = "limiter"
ROW_INCHES = 0.3
COLOUR = "#0072b2"

Row = dict[str, Any]


def height(group: Row) -> float:
    """Height of a group's panels in inches."""
    return style.row_height(group, ROW_INCHES)


def describe(context: Row) -> Row:
    """Return heading, caption, alt text and no table: the tables of CPU and memory stand in the same section."""
    return {
        "heading": "CPU, throttling and memory of the database by pool",
        "caption": (
            "The tick beyond a bar of CPU is the cap. Throttled periods are counted only where the group was active "
            "and are no share of time or of waiting. Every scale starts at 0. The numbers stand in the tables of "
            "this section."
        ),
        "alt": f"Bars of the database's CPU, throttled periods and memory by pool. {_finding(context['groups'])}",
        "table": None,
    }


def _finding(groups: list[Row]) -> str:
    parts = []
    for group in groups:
        shown = [
            f"{words.number(a['database']['cpu_cores'], 3)} cores and "
            f"{words.number(scale(a['database']['memory_mean_bytes'], 1 / MIB), 0)} MiB at {a['label']}"
            for a in group["arms"]
        ]
        parts.append(f"{group['label']} {words.listed(shown)}")
    return f"CPU and memory by pool: {'; '.join(parts) or '0 runs'}."


def draw(context: Row) -> Figure:
    """Draw three panels a workload."""
    groups = context["groups"]
    if not groups:
        return style.nothing("no condition was measured")
    figure, axes = style.grid([height(g) for g in groups], 3)
    for row, group in zip(axes, groups, strict=True):
        databases = [a["database"] for a in group["arms"]]
        caps = [d["cap_cores"] for d in databases]
        _panel(row[0], group, [d["cpu_cores"] for d in databases], 3, caps)
        _panel(row[1], group, [scale(d["throttle_ratio"], 100) for d in databases], 1, [None] * len(caps), 100.0)
        _panel(row[2], group, [scale(d["memory_mean_bytes"], 1 / MIB) for d in databases], 0, [None] * len(caps))
        row[0].set_title(group["label"])
        for panel in row[1:]:
            panel.set_yticks([])
    for panel, label in zip(axes[-1], ("CPU used, cores", "throttled periods, %", "mean memory, MiB"), strict=True):
        panel.set_xlabel(label)
    tick = Line2D([], [], marker="|", markersize=11, markeredgewidth=2.4, linestyle="none", color=style.INK)
    tick.set_label("cap of the database")
    style.key_above(figure, [tick])
    return figure


def _panel(
    axes: Axes, group: Row, values: list[float | None], decimals: int, caps: list[float | None], whole: float = 0.0
) -> None:
    known = [v for v in [*values, *caps] if v is not None]
    end = max([*known, whole], default=0.0) * 1.3 or 1.0
    style.pool_rows(axes, group)
    for y, (value, cap) in enumerate(zip(values, caps, strict=True)):
        if value is None:
            axes.text(end * 0.01, y, "not measured", va="center", color=style.QUIET, fontsize=8)
            continue
        axes.barh([y], [value], height=0.6, color=COLOUR, edgecolor=style.INK, linewidth=0.6)
        if cap is not None:
            axes.plot([cap, cap], [y - 0.36, y + 0.36], color=style.INK, linewidth=2.4)
        axes.text(value + end * 0.015, y, words.number(value, decimals), va="center", fontsize=8, bbox=style.PLATE)
    axes.set_xlim(0, end)
