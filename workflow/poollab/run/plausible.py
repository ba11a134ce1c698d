"""Whether the stamps can be those of the pool: a check of the instrument on itself, run by run."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from poollab.load.rows import ABSENT

Ints = npt.NDArray[np.int64]


def most_at_once(columns: Mapping[str, Ints]) -> int:
    """
    Return how many requests had a connection at once, at most, counted from the check-out to the result.

    A connection is given back only after its result, so no more of them than the pools have can be in that
    interval. With that, and Little's law, the wait of a saturated pool follows from the time that a
    connection is held; where there are more, the wait was taken around something that is not the pool.
    """
    acquired, result = columns["acquired"], columns["result"]
    whole = (acquired != ABSENT) & (result != ABSENT)
    if not whole.any():
        return 0
    begun, over = np.sort(acquired[whole]), np.sort(result[whole])
    # A result in the very nanosecond of a check-out came before it.
    return int((np.arange(1, len(begun) + 1) - np.searchsorted(over, begun, side="right")).max())


def fault(columns: Mapping[str, Ints], connections: int) -> str | None:
    """Say that more connections were held at once than there are; None where all is well."""
    most = most_at_once(columns)
    if most <= connections:
        return None
    return (
        f"implausible: {most} requests held a connection at once, and there are {connections}; "
        "the acquisition wait was not measured at the pool"
    )
