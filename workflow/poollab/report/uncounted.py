"""Conditions of which no run counts: what is not in a table is said, so that no gap looks like a choice."""

from collections import Counter
from typing import Any

from poollab.report import words

Row = dict[str, Any]


def line(missing: list[Row]) -> list[str]:
    """Return the limitation that names each such condition with how its runs ended; none where there is none."""
    if not missing:
        return []
    names = words.listed([f"{m['workload']} with {m['arm']} ({_ended(m)})" for m in missing])
    verb = "It is" if len(missing) == 1 else "They are"
    return [f"No run counts: {names}. {verb} in no table, figure or statement of this section."]


def notes(missing: list[Row], question: str) -> list[str]:
    """Return the note below the table of a question in which conditions are missing."""
    mine = [m for m in missing if m["question"] == question]
    if not mine:
        return []
    several = len({m["workload"] for m in mine}) > 1
    names = [f"{m['workload']} with {m['arm']}" if several else str(m["arm"]) for m in mine]
    return [f"No run counts: {words.listed(names)}."]


def _ended(missing: Row) -> str:
    counts: Counter[str] = Counter(missing["ended"])
    return ", ".join(f"{words.plural(count, 'run')} {status}" for status, count in counts.items())
