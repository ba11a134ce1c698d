"""
The sections of the report in their order, and the one rule which of them a study gets.

A section is left out where the study lacks what it needs (`needs`, of the traits below) or where its kind says that it
does not fit (`LEAVES_OUT` of the module in `report/analyses/`). Each section's template is sections/<id>.html.j2,
but for `analysis`, whose template is that of the kind. Figures of a section that is left out are not drawn.
"""

from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

Context = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Section:
    """One section: its anchor, its heading, the figures it shows and the traits it needs."""

    id: str
    heading: str
    figures: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


SECTIONS: tuple[Section, ...] = (
    Section("verdict", "In short"),
    Section("answer", "The answer in numbers", needs=("open-loop", "conditions")),
    Section("analysis", "", needs=("conditions",)),
    Section("tail", "The slower end", figures=("tail", "spectrum"), needs=("open-loop", "conditions")),
    Section("wait", "The wait for a connection", needs=("connections", "conditions")),
    Section("time", "Where the time goes", figures=("intervals",), needs=("connections", "conditions")),
    Section("timeline", "One run over time", figures=("timeline",), needs=("connections", "timeline")),
    Section("order", "Order and drift", figures=("order",), needs=("conditions",)),
    Section("delivered", "Was the load delivered?", figures=("delivered",), needs=("open-loop", "conditions")),
    Section("lag", "Runs that did not keep their rate", figures=("lag",), needs=("overloaded",)),
    Section("limiter", "What was the limit?", figures=("limiter",), needs=("connections", "conditions")),
    Section("quota", "With and without the quota", needs=("several-limits", "conditions")),
    Section("method", "Method", figures=("stamps",)),
    Section("environment", "Environment as read back"),
    Section("validity", "Every run and whether it counts"),
    Section("limitations", "Limitations"),
    Section("reproduce", "Measure it again"),
    Section("data", "Data"),
    Section("own", "Check your own application", needs=("connections",)),
)


def traits(context: Context) -> set[str]:
    """Return which traits a study has, of those that SECTIONS names."""
    groups = context["groups"]
    found = {
        "conditions": bool(groups),
        "open-loop": not groups or any(not g["closed"] for g in groups),
        "connections": not groups or any(g["connections"] for g in groups),
        "timeline": bool(context["timelines"]),
        "overloaded": bool(context["lags"]),
        "several-limits": len({g["limits"] for g in groups}) > 1,
    }
    return {name for name, holds in found.items() if holds}


def chosen(context: Context, kind: ModuleType) -> list[Section]:
    """List the sections of a study in their order; the kind's own carries its heading and its figures."""
    has = traits(context)
    kept = [s for s in SECTIONS if has.issuperset(s.needs) and s.id not in kind.LEAVES_OUT]
    own = tuple(figure.NAME for figure in kind.FIGURES)
    return [replace(s, heading=kind.HEADING, figures=own) if s.id == "analysis" else s for s in kept]
