"""p99 of the overall time over the offered rate, with the runs of each arm."""

from typing import Any

from matplotlib.figure import Figure

from poollab.report import cells, measures
from poollab.report.figures import law_lines, style
from poollab.report.words import to_ms

NAME = "law-tail"
height = law_lines.height


def describe(context: dict[str, Any]) -> dict[str, Any]:
    """Return heading, caption, alt text and the numbers behind the figure."""
    arms = context["special"]["arms"]
    return {
        "heading": "p99 of the overall time, as the load rises",
        "caption": (
            "Pooled over the runs of an arm; the upright bars reach from the smallest to the largest run. Hollow: "
            "weak, 1 to 9 requests lie beyond. A step without support leaves a gap. The scale of the time is "
            "logarithmic."
        ),
        "alt": f"Line chart of p99 of the overall time, {law_lines.ends(arms, _p99, 2, 'ms')}.",
        "table": law_lines.table(
            "figure-law-tail", arms, {"overall p99": ("ms", lambda s: measures.percentile(s["overall_p99"]))}
        ),
    }


def _p99(step: dict[str, Any]) -> float | None:
    return measures.plain_ms(step["overall_p99"])


def draw(context: dict[str, Any]) -> Figure:
    """Draw one panel with a line for each arm."""
    arms = context["special"]["arms"]
    if not any(_p99(step) is not None for arm in arms for step in arm["steps"]):
        return style.nothing("no step has a p99 that may be shown")
    figure, (axes,) = style.panels([law_lines.INCHES])
    law_lines.draw(axes, arms, _p99)
    for at, arm in enumerate(arms):
        how = law_lines.how(at, len(arms))
        for step in arm["steps"]:
            found, value = step["overall_p99"], _p99(step)
            if value is None:
                continue
            if cells.support(found["run_beyond"]) != "none":
                ends = [to_ms(found[key]) or value for key in ("run_min_ns", "run_max_ns")]
                axes.plot([step["offered_per_s"]] * 2, ends, color=how["color"], linewidth=1)
            style.dot(axes, step["offered_per_s"], value, how["color"], how["marker"], cells.support(found["beyond"]))
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_minor_formatter(lambda value, _: f"{value:g}" if f"{value:.0e}"[0] in "25" else "")
    axes.set_ylabel("p99 of the overall time, ms")
    style.key_above(figure, law_lines.key(arms))
    return figure
