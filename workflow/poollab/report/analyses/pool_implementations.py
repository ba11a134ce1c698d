"""Two implementations of a pool: ratios row by row with their words, waits, connections, costs, and what really ran."""

from types import ModuleType
from typing import Any, Final

from poollab.errors import DataError
from poollab.report import pooltables, words
from poollab.report.figures import speedup

Row = dict[str, Any]

HEADING: Final = "Candidate against baseline, row by row"
LEAVES_OUT: Final = frozenset(
    {"answer", "tail", "wait", "time", "timeline", "order", "delivered", "limiter", "own", "method", "limitations"}
)
FIGURES: Final[tuple[ModuleType, ...]] = (speedup,)
#: Status of a pass that was left out because the first one did not differ.
NOT_NEEDED: Final = "not-needed"
#: Numbers of one meaning must not stand under the headings of another.
OLD: Final = (
    "analysis.json: this comparison of pools is of an earlier version, whose percentiles began when a "
    "caller first ran; make its report with that version, or measure again in a results folder of its own"
)


def build(context: Row) -> Row:
    """Return tables and sentences of the comparison, from analysis.json."""
    found = context["analysis"]
    if "first_decides" not in found["confirm"]:
        raise DataError(OLD)
    rows = found["rows"]
    statuses = [word for row in rows for role in pooltables.ROLES for word in row["arms"][role]["statuses"]]
    return {
        "rows": rows,
        "confirm": {
            "threshold": f"{found['confirm']['threshold']:.0%}",
            "passes": found["confirm"]["passes"],
            "first_decides": found["confirm"]["first_decides"],
        },
        "hold_bound": sum(row["hold_bound"] for row in rows),
        "left_out": _lines([row for row in rows if row["incomparable"] or row["split"]]),
        "arms": list(found["proof"]),
        "not_needed": statuses.count(NOT_NEEDED),
        "aa": _aa(found["aa"]),
        "disagree": _lines([row for row in rows if row["disagree"]]),
        "placement": [_placement(way) for way in found["placement"]],
        "tables": {
            "speedup": pooltables.speedup(rows, first_decides=found["confirm"]["first_decides"]),
            "waits": pooltables.waits(rows),
            "connections": pooltables.connections(rows),
            "costs": pooltables.costs(rows),
            "proof": pooltables.proof(found["proof"]),
        },
    }


def _lines(rows: list[Row]) -> list[str]:
    return [f"{pooltables.head(row)}: {row['sentence']}" for row in rows]


def _aa(found: Row | None) -> str:
    if found is None:
        return ""
    claimed = f": {', '.join(found['claimed'])}" if found["claimed"] else ""
    kept = "kept" if found["kept"] else "missed"
    untold = f" Of {words.plural(found['untold'], 'further row')} nothing can be told." if found["untold"] else ""
    return (
        f"Both arms of {words.plural(found['rows'], 'row')} are the same implementation, so every difference there is "
        f"noise. Called different: {len(found['claimed'])}{claimed}. The goal of at most {found['goal']:.0%} is {kept}."
        f"{untold}"
    )


def _placement(way: Row) -> str:
    runs = words.plural(way["runs"], "run")
    if way["note"]:
        return f"{runs}: the two sides were not kept apart ({way['note']})."
    sides = [
        f"{side} on CPU {words.listed([str(n) for n in way[key]])}"
        for side, key in (("server", "database"), ("client", "load_generator_read_back"))
    ]
    shared = ", which are threads of one core" if way.get("one_core") else ""
    return f"{runs}: {' and '.join(sides)}{shared}."
