"""Runs that are far from the other runs of their condition: one rule for the report and for what is measured again."""

from collections.abc import Sequence
from statistics import median
from typing import Final

#: A run is far from its siblings when its p99 is at least this many times their median.
FAR: Final = 2.0


def times_others(values: Sequence[float], place: int) -> float | None:
    """Return a value over the median of all the others; None where there is no other."""
    others = [value for i, value in enumerate(values) if i != place]
    middle = median(others) if others else 0.0
    return values[place] / middle if middle > 0 else None


def far(values: Sequence[float]) -> bool:
    """Tell whether any of the values is far above the others."""
    return any((times_others(values, place) or 0.0) >= FAR for place in range(len(values)))
