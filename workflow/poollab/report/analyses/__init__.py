"""
What each kind of study adds to the report: the plug-in point, one module a kind.

A study names its kind (`analysis: tail-latency`); `stats/analyses/` made its numbers into analysis.json. To give a
kind its own part of the report, add

    report/analyses/<kind>.py                           `-` in the kind's name becomes `_`
    reports/templates/sections/analysis-<kind>.html.j2  its section, which stands right after the answer

The module offers four names:

    HEADING     heading of its section
    LEAVES_OUT  frozenset of ids of `report.sections.SECTIONS` that say nothing about this kind (may be empty)
    FIGURES     tuple of figure modules (NAME, height, describe, draw: see `report/figures/__init__.py`)
    build       (context) -> plain dict; becomes `special` in the context, for its template and its figures

`build` sees the whole context: `analysis` (analysis.json as it is), `groups` (workload x limits, with arms and
runs, times in ms), `study`, `design`, `runs`, `lab`. It makes tables by `report.cells.table`; the template shows them
by `table(special.tables.x, target)` and figures by `figure(figures[NAME], target)` from macros.html.j2. Three keys
are read elsewhere: `marks`, words on rows of the answer table by (id of the group, arm); `best`, the set of such pairs
with the lowest mean; and `not_shown`, what the verdict does not show, in the place of reports/text/not-shown.txt.
Headline and verdicts need nothing of this: the verdict box takes them from analysis.json for every kind.
"""

import importlib
import pkgutil
from types import ModuleType
from typing import Any

from poollab.errors import DataError


def kinds() -> list[str]:
    """List the kinds that have a module here."""
    return sorted(found.name.replace("_", "-") for found in pkgutil.iter_modules(__path__))


def module(kind: str) -> ModuleType:
    """
    Return the module of a kind.

    Raises:
        DataError: there is none.
    """
    if kind not in kinds():
        raise DataError(
            f"environment.json: study.model.analysis is {kind!r}, which this report does not know (it knows "
            f"{', '.join(kinds())}); render it with the version of Poollab that measured it"
        )
    return importlib.import_module(f"{__name__}.{kind.replace('-', '_')}")


def special(kind: ModuleType, context: dict[str, Any]) -> dict[str, Any]:
    """
    Return what a kind brings of its own.

    Raises:
        DataError: analysis.json lacks what the kind shows, as one that another version made may.
    """
    try:
        made: dict[str, Any] = kind.build(context)
    except KeyError as error:
        raise DataError(
            f"analysis.json has no {error}, which this report shows; collect the results again, or make it with the "
            "version of Poollab that made that file"
        ) from error
    return made
