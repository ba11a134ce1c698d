"""
One figure a file; each module offers NAME, height(group), describe(context) and draw(context).

`describe` returns {heading, caption, alt, table}: words and numbers without drawing. `draw` returns a
matplotlib figure with a panel for each group. Groups that would not fit on a page of paper go into a further
part. A further figure is one more module in FIGURES.
"""

from types import ModuleType
from typing import Any

from poollab.report.figures import intervals, order, stamps, style, tail

FIGURES: tuple[ModuleType, ...] = (stamps, intervals, tail, order)


def draw_all(context: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """
    Draw all figures.

    Returns {name: {name, heading, caption, table, parts: [{alt, svg}]}} with `svg` as bytes, equal for equal
    contexts.
    """
    return {module.NAME: draw_one(module, context) for module in FIGURES}


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
