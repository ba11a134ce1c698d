"""Busy connections over the offered rate: measured, and what Little's law says."""

from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from poollab.report import cells
from poollab.report.figures import law_lines, style

NAME = "law-busy"
height = law_lines.height


def describe(context: dict[str, Any]) -> dict[str, Any]:
    """Return heading, caption, alt text and the numbers behind the figure."""
    arms = context["special"]["arms"]
    columns = {
        "offered x hold at step 1": ("connections", lambda s: cells.number(s["planned_busy"], 2)),
        "achieved x hold": ("connections", lambda s: cells.number(s["predicted_busy"], 2)),
        "measured": ("connections", lambda s: cells.number(s["measured_busy"], 2)),
    }
    return {
        "heading": "Busy connections, predicted and measured",
        "caption": (
            "Marks and lines: mean number in use, counted from the stamps. Grey dashes: the offered rate times the "
            "hold time at the first step of the arm with the fewest connections, which can be known before the load "
            "comes. Both scales start at 0."
        ),
        "alt": f"Line chart of busy connections, {law_lines.ends(arms, _busy, 2, 'connections')}.",
        "table": law_lines.table("figure-law-busy", arms, columns),
    }


def _busy(step: dict[str, Any]) -> float | None:
    return float(step["measured_busy"])


def draw(context: dict[str, Any]) -> Figure:
    """Draw one panel with a line for each arm and the prediction of the first."""
    arms = context["special"]["arms"]
    if not arms:
        return style.nothing("no run with steps was measured")
    figure, axes = style.panels([law_lines.INCHES])
    law_lines.draw(axes[0], arms, _busy)
    first = [(s["offered_per_s"], s["planned_busy"]) for s in arms[0]["steps"] if s["planned_busy"] is not None]
    predicted: dict[str, Any] = {"color": style.QUIET, "linestyle": "--", "linewidth": 1.2}
    axes[0].plot([0, *(x for x, _ in first)], [0, *(y for _, y in first)], **predicted)
    axes[0].set_ylabel("connections in use, mean")
    axes[0].set_ylim(bottom=0)
    style.key_above(figure, [*law_lines.key(arms), Line2D([], [], label="rate x hold at step 1", **predicted)])
    return figure
