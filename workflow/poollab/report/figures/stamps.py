"""The five stamps of a request and the four intervals between them; no measured value."""

from typing import Any

from matplotlib.figure import Figure

from poollab.data.schemas import INTERVALS
from poollab.report.figures import style

NAME = "stamps"
STAMPS = ("scheduled", "started", "acquired", "result", "released")
PLACES = (0.0, 1.5, 3.5, 7.2, 9.0)  # lengths chosen for the labels, not to scale


def height(_group: dict[str, Any]) -> float:
    """One drawing, however many groups there are."""
    return 0.0


def describe(_context: dict[str, Any]) -> dict[str, Any]:
    """Return heading, caption and alt text."""
    return {
        "heading": "Five stamps, four intervals",
        "caption": "One request in time (not to scale), with the colours and hatches of the intervals in all figures.",
        "alt": (
            "Time line of one request with 5 stamps (scheduled, started, acquired, result, released) and the 4 "
            "intervals between them: scheduling delay, acquisition wait, query round trip, release. Overall time "
            "spans all 4."
        ),
        "table": None,
    }


def draw(_context: dict[str, Any]) -> Figure:
    """Draw the diagram."""
    figure, (axes,) = style.panels([1.15])
    for (name, _, _), left, right in zip(INTERVALS, PLACES[:-1], PLACES[1:], strict=True):
        colour, hatch = style.INTERVALS[name]
        axes.barh(
            [0], [right - left], left=left, height=0.5, color=colour, hatch=hatch, edgecolor=style.INK, linewidth=0.8
        )
        axes.text((left + right) / 2, -0.52, name.replace("_", "\n", 1).replace("_", " "), ha="center", va="top")
    for stamp, place in zip(STAMPS, PLACES, strict=True):
        axes.plot([place, place], [-0.25, 0.45], color=style.INK, linewidth=1.2)
        axes.text(place, 0.52, stamp, ha="center", va="bottom", fontweight="bold")
    axes.annotate("", (PLACES[0], 1.15), (PLACES[-1], 1.15), arrowprops={"arrowstyle": "<->", "color": style.INK})
    axes.text(sum(PLACES[::4]) / 2, 1.22, "overall time", ha="center", va="bottom")
    axes.set(xlim=(-0.8, 9.8), ylim=(-1.35, 1.6))
    axes.set_axis_off()
    return figure
