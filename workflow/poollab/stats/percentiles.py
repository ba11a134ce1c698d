"""A percentile with what a reader must know about it: its support, and its smallest and largest run."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from poollab.quantiles import beyond, nearest_rank

Ints = npt.NDArray[np.int64]

#: From so many values beyond it on, a percentile stands plainly; with fewer it takes part in no verdict.
ENOUGH_BEYOND = 10


def pooled(runs: Sequence[Ints], share: float) -> dict[str, Any]:
    """
    Return a percentile over the values (ns) of several runs together, with that of each run beside it.

    Keys: `ns` and `beyond` (None and 0 without values), `run_min_ns`, `run_max_ns` and `run_beyond`, the least
    support of a run.
    """
    values = np.concatenate(list(runs)) if runs else np.array([], dtype=np.int64)
    each = [value for run in runs if (value := nearest_rank(run, share)) is not None]
    return {
        "ns": nearest_rank(values, share),
        "beyond": beyond(len(values), share),
        "run_min_ns": min(each, default=None),
        "run_max_ns": max(each, default=None),
        "run_beyond": min((beyond(len(run), share) for run in runs), default=0),
    }


def plain_ns(found: dict[str, Any]) -> int | None:
    """Return a percentile's value where its support is enough for a verdict, else None."""
    return found["ns"] if found["beyond"] >= ENOUGH_BEYOND else None
