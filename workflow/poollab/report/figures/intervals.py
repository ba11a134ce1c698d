"""Where the time goes: stacked means of the intervals by pool, of all requests and of the slowest 1 %."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from poollab.report import cells, words
from poollab.report.figures import style
from poollab.report.groups import INTERVAL_NAMES, intervals_of

NAME = "intervals"
ROW_INCHES = 0.34

Group = dict[str, Any]


def height(group: Group) -> float:
    """Height of a group's panels in inches."""
    return style.row_height(group, ROW_INCHES)


def describe(context: dict[str, Any]) -> dict[str, Any]:
    """Return heading, caption, alt text and the numbers of the slowest requests (those of all stand in the section)."""
    return {
        "heading": "Mean of each interval by pool: all requests, and the slowest 1 %",
        "caption": (
            "Means over the same requests add up, so the parts of a bar make its overall mean; percentiles of parts "
            "would not. The slowest 1 % are the requests beyond the rank of the pooled p99; with fewer than "
            f"{cells.ENOUGH_BEYOND} of them the bar is called weak. Each panel has its own scale, and every scale "
            "starts at 0."
        ),
        "alt": f"Stacked bars of the mean intervals by pool. {_finding(context['groups'])}",
        "table": _table(context["groups"]),
    }


def _finding(groups: list[Group]) -> str:
    parts = []
    for group in groups:
        decimals = words.decimals_for(max((a["means_ms"]["overall"] or 0 for a in group["arms"]), default=0))
        shown = [
            f"{words.number(a['means_ms']['overall'], decimals)} and "
            f"{words.number((a['slowest']['means_ms'] or {}).get('overall'), decimals)} at {a['label']}"
            for a in group["arms"]
        ]
        parts.append(f"{group['label']} {words.listed(shown)}")
    return (
        "Mean overall time in ms by pool, of all requests and of the slowest 1 %: "
        f"{'; '.join(parts) or 'nothing measured, 0 runs'}."
    )


def _table(groups: list[Group]) -> dict[str, Any] | None:
    if not groups:
        return None
    names = [n for n in groups[0]["arms"][0]["means_ms"] if n == "overall" or any(n in intervals_of(g) for g in groups)]
    return cells.table(
        "slowest",
        "Numbers of the right half: mean of each interval over the slowest 1 % of the ok requests, in ms, n requests",
        [
            cells.column("pool", "connections"),
            *(cells.column(n.replace("_", " "), "ms") for n in names),
            cells.column("n", "requests"),
        ],
        [(g["label"], [_row(a, names) for a in g["arms"]]) for g in groups],
    )


def _row(arm: Group, names: list[str]) -> dict[str, Any]:
    means = arm["slowest"]["means_ms"] or {}
    decimals = words.decimals_for(means.get("overall"))
    shown = [cells.number(means.get(n), decimals, missing="not shown: too few requests") for n in names]
    return cells.row(arm["label"], [*shown, cells.number(arm["slowest"]["requests"])])


def draw(context: dict[str, Any]) -> Figure:
    """Draw two panels a workload, the smallest pool at the top."""
    groups = context["groups"]
    if not groups:
        return style.nothing("no condition was measured")
    figure, axes = style.grid([height(g) for g in groups], 2)
    for (left, right), group in zip(axes, groups, strict=True):
        _panel(left, group, [(a["means_ms"], None) for a in group["arms"]])
        _panel(right, group, [(a["slowest"]["means_ms"], a["slowest"]["requests"]) for a in group["arms"]])
        right.set_yticks([])
        left.set_title(f"{group['label']}: all requests")
        right.set_title("the slowest 1 %")
    for panel in axes[-1]:
        panel.set_xlabel("mean, ms")
    names = [n for n in style.INTERVALS if n in INTERVAL_NAMES or any(n in intervals_of(g) for g in groups)]
    style.key_above(figure, [_patch(n) for n in names], min(len(names), 4))
    return figure


def _patch(name: str) -> Patch:
    colour, hatch = style.INTERVALS[name]
    return Patch(facecolor=colour, hatch=hatch, edgecolor=style.INK, label=name.replace("_", " "))


def _panel(axes: Axes, group: Group, bars: list[tuple[dict[str, float | None] | None, int | None]]) -> None:
    totals = [means["overall"] for means, _ in bars if means and means["overall"] is not None]
    end = max(totals, default=0) * 1.3 or 1.0
    decimals = words.decimals_for(max(totals, default=0))
    style.pool_rows(axes, group)
    for y, (means, count) in enumerate(bars):
        _bar(axes, y, means, count, end, decimals)
    axes.set_xlim(0, end)


def _bar(
    axes: Axes, y: int, means: dict[str, float | None] | None, count: int | None, end: float, decimals: int
) -> None:
    total = means["overall"] if means else None
    if means is None or total is None:
        reason = "no run with status ok" if count is None else "too few requests"
        axes.text(end * 0.01, y, f"not shown: {reason}", va="center", color=style.QUIET)
        return
    left = 0.0
    for name, (colour, hatch) in style.INTERVALS.items():
        width = means.get(name)
        if width is None:
            continue
        axes.barh([y], [width], left=left, height=0.62, color=colour, hatch=hatch, edgecolor=style.INK, linewidth=0.6)
        if width > 0.17 * end:
            shown: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8, "bbox": style.PLATE}
            axes.text(left + width / 2, y, words.number(width, decimals), **shown)
        left += width
    weak = " weak" if count is not None and cells.support(count) == "weak" else ""
    axes.text(left + end * 0.012, y, words.number(total, decimals) + weak, va="center", fontweight="bold")
