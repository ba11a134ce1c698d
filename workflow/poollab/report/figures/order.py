"""p99 against the place in the executed order, marked by block: shows drift, which is why the order is shuffled."""

from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from poollab.report import cells, words
from poollab.report.figures import style
from poollab.report.figures.tail import shown_p99

NAME = "order"
PANEL_INCHES = 1.45
#: More labels than this in one panel would lie on each other.
MOST_LABELS = 30


def height(_group: dict[str, Any]) -> float:
    """Height of a group's panel in inches."""
    return PANEL_INCHES


def describe(context: dict[str, Any]) -> dict[str, Any]:
    """Return heading, caption, alt text; the table of all runs stands in the same section."""
    return {
        "heading": "p99 of each run in the order of execution",
        "caption": (
            "The number at a mark is the size of the pool. Colour and shape tell the block. Hollow: weak, 1 to 9 "
            "requests lie beyond. Cross: a run that is not ok, at the upper edge where it lies far out. Every scale "
            "starts at 0."
        ),
        "alt": (
            "p99 of the overall time against the place in the executed order, from 1 to "
            f"{context['runs']['measured']}, in {words.plural(context['blocks']['count'], 'block')}. "
            f"{_finding(context['groups'])}"
        ),
        "table": None,
    }


def _finding(groups: list[dict[str, Any]]) -> str:
    parts = []
    for group in groups:
        values = shown_p99([r for arm in group["arms"] for r in arm["runs"]], ok=True)
        decimals = words.decimals_for(max(values, default=0))
        ends = words.span(min(values), max(values), decimals) if values else "not shown"
        parts.append(f"{group['label']} {ends} ms")
    return f"Range over all ok runs: {'; '.join(parts) or '0 runs'}."


def draw(context: dict[str, Any]) -> Figure:
    """Draw one panel a workload, all with the same horizontal axis."""
    groups, last = context["groups"], context["runs"]["measured"]
    if not groups or not last:
        return style.nothing("no run was measured")
    figure, axes = style.panels([height(g) for g in groups])
    blocks = sorted({block for _, block in context["order"]})
    for panel, group in zip(axes, groups, strict=True):
        _panel(panel, group, blocks)
        _boundaries(panel, context["order"])
        panel.set_xlim(0.3, last + 0.9)
        panel.set_title(group["label"])
        panel.set_ylabel("p99, ms")
    axes[-1].set_xlabel("place in the executed order")
    style.key_above(figure, _key(blocks), min(len(blocks) + 1, 6))
    return figure


def _mark(blocks: list[int], block: int) -> tuple[str, str]:
    return style.BLOCKS[blocks.index(block) % len(style.BLOCKS)]


def _key(blocks: list[int]) -> list[Line2D]:
    marks = [
        Line2D([], [], color=c, marker=m, linestyle="none", label=f"block {b}")
        for b in blocks
        for c, m in [_mark(blocks, b)]
    ]
    return [
        *marks,
        Line2D([], [], marker="x", linestyle="none", color=style.INK, markeredgewidth=1.8, label="run not ok"),
    ]


def _panel(axes: Axes, group: dict[str, Any], blocks: list[int]) -> None:
    runs = [r for arm in group["arms"] for r in arm["runs"]]
    end = style.upper_limit(shown_p99(runs, ok=True), shown_p99(runs, ok=False))
    shown = [r for r in runs if shown_p99([r], ok=r["ok"])]
    for run in shown:
        y = min(run["p99"]["ms"], end)
        if run["ok"]:
            style.dot(axes, run["position"], y, *_mark(blocks, run["block"]), cells.support(run["p99"]["beyond"]))
        else:
            style.cross(axes, run["position"], y)
        if len(shown) <= MOST_LABELS:
            offset: dict[str, Any] = {"xytext": (0, -7), "textcoords": "offset points"}
            axes.annotate(
                str(run["pool_size"]),
                (run["position"], y),
                ha="center",
                va="top",
                fontsize=8,
                bbox=style.PLATE,
                **offset,
            )
    axes.set_ylim(0, end)
    style.quiet_grid(axes)


def _boundaries(axes: Axes, order: list[tuple[int, int]]) -> None:
    for (_, before), (position, block) in pairwise(order):
        if before != block:
            axes.axvline(position - 0.5, color=style.QUIET, linestyle="--", linewidth=1)
