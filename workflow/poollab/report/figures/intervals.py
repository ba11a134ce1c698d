"""Where the time goes: stacked means of the four intervals by pool, one panel a workload."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from poollab.report import cells, tables, words
from poollab.report.figures import style
from poollab.report.groups import INTERVAL_NAMES

NAME = "intervals"
ROW_INCHES = 0.34


def height(group: dict[str, Any]) -> float:
    """Height of a group's panel in inches."""
    return 0.62 + ROW_INCHES * len(group["arms"])


def describe(context: dict[str, Any]) -> dict[str, Any]:
    """Return heading, caption, alt text and no table: the tables of means stand above the figure."""
    return {
        "heading": "Where the time goes: mean of each interval by pool",
        "caption": (
            "Means over the same requests, so the parts add up to the overall mean at the end of each bar. Each "
            "panel has its own scale, and every scale starts at 0. Parts too narrow for a number are in the table."
        ),
        "alt": f"Stacked bars of the 4 mean intervals by pool. {_finding(context['groups'])}",
        "table": _table(context["groups"]),
    }


def _finding(groups: list[dict[str, Any]]) -> str:
    parts = []
    for group in groups:
        decimals = words.decimals_for(max((a["means_ms"]["overall"] or 0 for a in group["arms"]), default=0))
        shown = [f"{words.number(a['means_ms']['overall'], decimals)} at {a['label']}" for a in group["arms"]]
        parts.append(f"{group['label']} {words.listed(shown)}")
    return f"Mean overall time in ms by pool: {'; '.join(parts) or 'nothing measured, 0 runs'}."


def _table(groups: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the numbers behind the figure: means only, one body a workload."""
    if not groups:
        return None
    tables_of = [tables.intervals(g) for g in groups]
    bodies = [(g["label"], _without_ranges(t)) for g, t in zip(groups, tables_of, strict=True)]
    return cells.table(
        "figure-intervals",
        "Numbers of the figure: mean of each interval by pool, with n requests",
        tables_of[0]["columns"],
        bodies,
    )


def _without_ranges(table: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**row, "cells": [{**cell, "range": None} for cell in row["cells"]]} for row in table["bodies"][0]["rows"]]


def draw(context: dict[str, Any]) -> Figure:
    """Draw one panel a workload with horizontal bars, the smallest pool at the top."""
    groups = context["groups"]
    if not groups:
        return style.nothing("no condition was measured")
    figure, axes = style.panels([height(g) for g in groups])
    for panel, group in zip(axes, groups, strict=True):
        _panel(panel, group)
    axes[-1].set_xlabel("mean, ms")
    keys = [
        Patch(
            facecolor=style.INTERVALS[n][0], hatch=style.INTERVALS[n][1], edgecolor=style.INK, label=n.replace("_", " ")
        )
        for n in INTERVAL_NAMES
    ]
    figure.legend(handles=keys, loc="outside upper center", ncols=4, frameon=False)
    return figure


def _panel(axes: Axes, group: dict[str, Any]) -> None:
    overall = [a["means_ms"]["overall"] for a in group["arms"]]
    end = max((v for v in overall if v is not None), default=0) * 1.18 or 1.0
    decimals = words.decimals_for(end / 1.18)
    for y, arm in enumerate(group["arms"]):
        _bar(axes, y, arm["means_ms"], end, decimals)
    axes.set_yticks(range(len(overall)), [style.arm_label(a) for a in group["arms"]])
    axes.set(xlim=(0, end), ylim=(len(overall) - 0.4, -0.6))
    axes.set_title(f"{group['label']}: {group['arrivals']}")


def _bar(axes: Axes, y: int, means: dict[str, float | None], end: float, decimals: int) -> None:
    total = means["overall"]
    if total is None:
        axes.text(end * 0.01, y, "not measured: no run with status ok", va="center", color=style.QUIET)
        return
    left = 0.0
    for name in INTERVAL_NAMES:
        width, (colour, hatch) = means[name] or 0.0, style.INTERVALS[name]
        axes.barh([y], [width], left=left, height=0.62, color=colour, hatch=hatch, edgecolor=style.INK, linewidth=0.6)
        if width > 0.09 * end:
            axes.text(
                left + width / 2,
                y,
                words.number(width, decimals),
                ha="center",
                va="center",
                fontsize=8,
                bbox=style.PLATE,
            )
        left += width
    axes.text(left + end * 0.008, y, words.number(total, decimals), va="center", fontweight="bold")
