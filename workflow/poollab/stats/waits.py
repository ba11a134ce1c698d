"""Which requests waited for a connection: exactly, from the stamps."""

import numpy as np

from poollab.stats.rows import ABSENT, Flags, Ints, Rows

_NEVER = np.iinfo(np.int64).max


def waited(rows: Rows, size: int) -> Flags:
    """
    Mark the requests that asked for a connection while all were taken, in a pool of `size` for each process.

    Taken means that at that instant `size` earlier requests or more had asked and had not yet given back: each held
    a connection or stood before this one. No threshold on the wait is needed, so a wait of a few microseconds that
    is the cost of taking a free connection does not count, however slow it was. A request that never got a
    connection stands before nobody; one that got it and never gave it back holds it to the end.
    """
    found = np.zeros(len(rows), dtype=bool)
    for process in np.unique(rows.process) if len(rows) else []:
        mine = np.flatnonzero((rows.process == process) & (rows.acquired_ns != ABSENT))
        found[mine] = _in_one(rows.asking_ns[mine], rows.released_ns[mine], size)
    return found


def _in_one(asked: Ints, released: Ints, size: int) -> Flags:
    # Arrivals are in order but for a few that were overtaken, so a stable sort costs little.
    order = np.argsort(asked, kind="stable")
    at = asked[order]
    left = np.sort(np.where(released == ABSENT, _NEVER, released), kind="stable")
    inside = np.arange(len(at)) - np.searchsorted(left, at, side="right")
    found = np.zeros(len(at), dtype=bool)
    found[order] = inside >= size
    return found
