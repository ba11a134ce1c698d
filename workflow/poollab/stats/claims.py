"""Statements checked by machine: one of four words, and the sentence with the numbers behind it."""

from collections.abc import Collection, Iterable
from typing import Any, Final

from poollab.stats.percentiles import plain_ns

HOLDS: Final = "holds here"
FAILS: Final = "does not hold here"
UNKNOWN: Final = "cannot tell"
#: What follows from settings alone: nothing was measured that could have shown it false, so no headline counts it.
ARITHMETIC: Final = "by arithmetic, not measured"

Verdict = dict[str, str]

#: With fewer runs of a condition nothing is known of how much runs differ.
FEWEST: Final = 2


def verdict(subject: str, sentence: str, word: str) -> Verdict:
    """Return a verdict as every analysis lists them."""
    return {"subject": subject, "sentence": sentence, "word": word}


def tally(found: Collection[Verdict]) -> str:
    """Say how many statements hold here, and how many do not or cannot be told; without a full stop."""
    measured = [v for v in found if v["word"] != ARITHMETIC]
    if not measured:
        return "no statement of the write-up could be checked"
    counts = {name: sum(v["word"] == name for v in measured) for name in (HOLDS, FAILS, UNKNOWN)}
    kept = f"{counts[HOLDS]} {'holds' if counts[HOLDS] == 1 else 'hold'} here"
    failed = f"{counts[FAILS]} {'does' if counts[FAILS] == 1 else 'do'} not"
    what = f"{len(measured)} {'statement' if len(measured) == 1 else 'statements'}"
    return f"of {what} of the write-up {kept}, {failed} and {counts[UNKNOWN]} cannot be told"


def word(parts: Iterable[bool | None]) -> str:
    """Return the word for a statement with several parts, each true, false or unknown; all must hold."""
    found = list(parts)
    if any(part is False for part in found):
        return FAILS
    return HOLDS if found and all(found) else UNKNOWN


def of_several(parts: Iterable[bool | None], runs: Iterable[int]) -> str:
    """Return the word for a statement on conditions with so many runs; on a single run nothing is decided."""
    return word(parts) if min(runs, default=0) >= FEWEST else UNKNOWN


def within(value: float | None, other: float | None, share: float) -> bool | None:
    """Tell whether two numbers differ by at most a share of the second; None where one is missing."""
    if value is None or other is None:
        return None
    return abs(value - other) <= share * abs(other)


def number(value: float | None, decimals: int = 0) -> str:
    """Return a number as sentences show it, or a word for one that is missing."""
    return "not known" if value is None else f"{value:,.{decimals}f}"


def rank(found: dict[str, Any]) -> str:
    """Return a percentile as sentences show it: its value, or that too few requests lie beyond."""
    value = plain_ns(found)
    return "too weak to say" if value is None else ms(value)


def ms(value_ns: float | None) -> str:
    """Return nanoseconds as milliseconds with three significant digits or two decimals, and the unit."""
    if value_ns is None:
        return "not known"
    value = value_ns / 1e6
    return f"{value:,.{3 if value < 1 else 2 if value < 100 else 1}f} ms"
