"""The one percentile function of every table, figure and file."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt


def nearest_rank(values: npt.NDArray[Any], share: float) -> int | None:
    """
    Return the ceil(n * share)-th smallest of n values; None for no values.

    `share` lies in (0, 1]. A value of the sample is returned, never one between two. The product is
    rounded at the 9th decimal first, since 0.95 * 20 is 19 and not a hair more.
    """
    if len(values) == 0:
        return None
    rank = max(1, math.ceil(round(len(values) * share, 9)))
    return int(np.partition(values, rank - 1)[rank - 1])


def beyond(count: int, share: float) -> int:
    """Return how many of `count` values lie beyond that percentile's rank: its support."""
    return count - max(1, math.ceil(round(count * share, 9))) if count else 0
