"""Two conditions compared run by run, for statements that one is slower than the other."""

from collections.abc import Sequence
from typing import Any

from poollab.stats import compare

Row = dict[str, Any]

#: An interval whose ends are this many times apart says nothing, and its numbers would only look like some.
WIDEST = 100.0


def pair(before: Row, after: Row, key: str, among: Sequence[Row] = ()) -> compare.Paired:
    """
    Pair the runs of two rows (`by_run`: repeat, block and values) by a value; a run without it pairs with none.

    `among` holds all rows of the workload, from which the spread of runs is estimated.
    """
    return compare.pair(_values(before, key), _values(after, key), compare.spread_of([_values(r, key) for r in among]))


def _values(row: Row, key: str) -> dict[int, compare.Value]:
    return {r["repeat"]: compare.Value(float(r[key]), r["block"]) for r in row["by_run"] if r[key] is not None}


def slower(found: compare.Paired, margin: float) -> bool | None:
    """Tell whether the second is slower; a difference within the margin is none."""
    said = compare.word(found, margin)
    if said == compare.SMALL and found.ratio is not None:
        return found.ratio > 1
    return {compare.UP: True, compare.DOWN: False, compare.SAME: False}.get(said)


def no_faster(found: compare.Paired, margin: float) -> bool | None:
    """Tell whether the second is as slow as the first or slower."""
    return True if compare.word(found, margin) == compare.SAME else slower(found, margin)


def said(found: compare.Paired) -> str:
    """Return the ratio with its interval, as sentences show it."""
    if found.ratio is None:
        return "no pair of runs"
    if found.low is None or found.high is None:
        return f"{found.ratio:.3f} times (one pair, no interval)"
    if found.high > WIDEST * found.low:
        return f"{found.ratio:.3f} times ({found.pairs} pairs, too far apart for an interval)"
    return f"{found.ratio:.3f} times ({found.low:.3f} to {found.high:.3f})"
