"""Where requests wait: mean acquisition wait and mean hold time over the offered rate."""

from typing import Any

from matplotlib.figure import Figure

from poollab.report import measures
from poollab.report.figures import law_lines, style
from poollab.report.words import to_ms

NAME = "law-queue"
height = law_lines.height


def describe(context: dict[str, Any]) -> dict[str, Any]:
    """Return heading, caption, alt text and the numbers behind the figure."""
    arms = context["special"]["arms"]
    return {
        "heading": "Waiting in the pool and holding a connection, as the load rises",
        "caption": (
            "Left: from asking for a connection to having it. Right: from having it to giving it back. Where the right "
            "side rises, a query takes longer beside others. Each panel has its own scale, and every scale starts at 0."
        ),
        "alt": (
            f"Two line charts over the offered rate. Mean wait {law_lines.ends(arms, _wait, 2, 'ms')}. Mean hold "
            f"{law_lines.ends(arms, _hold, 2, 'ms')}."
        ),
        "table": law_lines.table(
            "figure-law-queue",
            arms,
            {
                "mean wait": ("ms", lambda s: measures.ms(s["wait_mean_ns"], 3)),
                "mean hold": ("ms", lambda s: measures.ms(s["hold_mean_ns"], 3)),
            },
        ),
    }


def _wait(step: dict[str, Any]) -> float | None:
    return to_ms(step["wait_mean_ns"])


def _hold(step: dict[str, Any]) -> float | None:
    return to_ms(step["hold_mean_ns"])


def draw(context: dict[str, Any]) -> Figure:
    """Draw the two panels beside each other."""
    arms = context["special"]["arms"]
    if not arms:
        return style.nothing("no run with steps was measured")
    figure, (axes,) = style.grid([law_lines.INCHES], 2)
    for panel, title, value in zip(axes, ("acquisition wait", "hold time"), (_wait, _hold), strict=True):
        law_lines.draw(panel, arms, value)
        panel.set(title=title, ylabel="mean, ms")
        panel.set_ylim(bottom=0)
    style.key_above(figure, law_lines.key(arms))
    return figure
