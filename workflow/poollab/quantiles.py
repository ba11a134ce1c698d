"""The one percentile function of every table, figure and file."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


def nearest_rank(values: npt.NDArray[Any], share: float) -> int | None:
    """
    Return the ceil(n * share)-th smallest of n values; None for no values.

    `share` lies in (0, 1]. A value of the sample is returned, never one between two. The product is
    rounded at the 9th decimal first, since 0.95 * 20 is 19 and not a hair more.
    """
    return nearest_ranks(values, [share])[0]


def nearest_ranks(values: npt.NDArray[Any], shares: Sequence[float]) -> list[int | None]:
    """Return `nearest_rank` for several shares at once, for little more than the cost of one."""
    if len(values) == 0:
        return [None] * len(shares)
    places = [_rank(len(values), share) - 1 for share in shares]
    parted = np.partition(values, sorted(set(places)))
    return [int(parted[place]) for place in places]


def beyond(count: int, share: float) -> int:
    """Return how many of `count` values lie beyond that percentile's rank: its support."""
    return count - _rank(count, share) if count else 0


def _rank(count: int, share: float) -> int:
    return max(1, math.ceil(round(count * share, 9)))
