"""
One figure a file; each module offers NAME, height(group), describe(context) and draw(context).

`describe` returns {heading, caption, alt, table}: words and numbers without drawing. `draw` returns a
matplotlib figure with a panel for each group. Groups that would not fit on a page of paper go into a further
part. A further figure is one more module in FIGURES and its name in a section (`report/sections.py`); a figure of one
kind of study stands in FIGURES of that kind's module (`report/analyses/`).
"""

from types import ModuleType
from typing import Any

from poollab.report import analyses
from poollab.report.figures import delivered, intervals, lag, limiter, order, spectrum, stamps, style, tail, timeline

FIGURES: tuple[ModuleType, ...] = (stamps, tail, spectrum, intervals, timeline, order, delivered, lag, limiter)


def draw_all(context: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """
    Draw the figures that the sections of this study show.

    Returns {name: {name, heading, caption, table, parts: [{alt, svg}]}} with `svg` as bytes, equal for equal
    contexts.
    """
    own = {module.NAME: module for module in analyses.module(context["kind"]).FIGURES}
    known = {module.NAME: module for module in FIGURES} | own
    wanted = [name for section in context["sections"] for name in section["figures"]]
    return {name: draw_one(known[name], context) for name in wanted}


def draw_one(module: ModuleType, context: dict[str, Any]) -> dict[str, Any]:
    """Describe and draw the figure of one module, in as many parts as its height needs."""
    words = module.describe(context)
    parts = [{**context, "groups": chunk} for chunk in style.chunks(context["groups"], module.height)]
    return {
        "name": module.NAME,
        **{key: words[key] for key in ("heading", "caption", "table")},
        "parts": [{"alt": module.describe(part)["alt"], "svg": _svg(module, part, words["heading"])} for part in parts],
    }


def _svg(module: ModuleType, context: dict[str, Any], title: str) -> bytes:
    return style.svg(lambda: module.draw(context), title)
