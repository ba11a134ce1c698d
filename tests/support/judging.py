"""A run that is judged from synthetic requests: what was seen at its ends where all is well, and steps of two rates."""

from typing import Any

import numpy as np
from support.columns import MS, Ints, every

from poollab.run import validity
from poollab.run.validity import Ends, Shape, Verdict

CLEAN = Ends(
    pool_size=400,
    connections=400,
    sessions_before=400,
    sessions_after=400,
    new_connections=0,
    reachable=400,
    warm_up_drained=True,
    finished=True,
    expected=400,
)


def judge(columns: dict[str, Ints], *, allowed: float = 0.0, ends: Ends = CLEAN, shape: Shape | None = None) -> Verdict:
    """Judge a run of 10 s, which is 1,000 requests every 10 ms."""
    return validity.judge(columns, 10.0, allowed, ends, shape=shape)


def two_steps(rates: tuple[int, int]) -> tuple[Ints, Any]:
    """Return arrivals of two steps of 5 s each at some rates, and the number of each one's step."""
    first, second = (every(1000 * MS // rate, 5 * rate) for rate in rates)
    return np.concatenate([first, 5000 * MS + second]), np.repeat([1, 2], [len(first), len(second)]).astype(np.int16)
