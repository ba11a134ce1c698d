"""Connections in use, requests waiting and requests in flight at each moment, exactly from the stamps."""

from dataclasses import dataclass

import numpy as np

from poollab.stats.rows import ABSENT, Flags, Ints, Rows

#: The end of something that never ended.
OPEN = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Level:
    """How many there are over a window: `counts[i]` from `edges_ns[i]` to `edges_ns[i + 1]`; edges rise strictly."""

    edges_ns: Ints
    counts: Ints

    @property
    def mean(self) -> float:
        """Mean over time."""
        return float((self.counts * self._lengths).sum() / self._lengths.sum())

    @property
    def peak(self) -> int:
        """Most at any moment."""
        return int(self.counts.max())

    def share_above(self, limit: float) -> float:
        """Share of the time, from 0 to 1, in which there are more than `limit`."""
        return float(self._lengths[self.counts > limit].sum() / self._lengths.sum())

    @property
    def _lengths(self) -> Ints:
        return np.diff(self.edges_ns)


def level(spans: tuple[Ints, Ints], from_ns: int, to_ns: int) -> Level:
    """
    Count how many of the spans (starts, ends) hold at each moment of the window from `from_ns` up to `to_ns`.

    A span that ends at the instant at which another starts is not counted together with it.

    Raises:
        ValueError: the window is empty.
    """
    if to_ns <= from_ns:
        raise ValueError(f"the window from {from_ns} to {to_ns} ns is empty")
    begun, ended = (np.clip(moments, from_ns, to_ns) for moments in spans)
    times = np.concatenate([begun, ended, np.array([from_ns, to_ns], dtype=np.int64)])
    change = np.concatenate([np.ones(len(begun)), -np.ones(len(ended)), np.zeros(2)]).astype(np.int64)
    edges, place = np.unique(times, return_inverse=True)
    sums = np.zeros(len(edges), dtype=np.int64)
    np.add.at(sums, place, change)
    return Level(edges, np.cumsum(sums)[:-1])


def held(rows: Rows) -> tuple[Ints, Ints]:
    """Return start and end (ns) of every hold of a connection; see `freed_ns` for the end."""
    mine = rows.acquired_ns != ABSENT
    return rows.acquired_ns[mine], freed_ns(rows)[mine]


def freed_ns(rows: Rows) -> Ints:
    """
    Return for each request when its connection was free again, OPEN where it was never released.

    A pool hands a connection on before its last holder is told that the release is over, and only then is that one's
    stamp taken. No connection serves two at once, so a hold ends at the latest when the same connection is next taken.
    """
    ends = _end(rows.released_ns)
    mine = np.flatnonzero((rows.acquired_ns != ABSENT) & (rows.connection >= 0))
    order = mine[np.lexsort((rows.acquired_ns[mine], rows.connection[mine], rows.process[mine]))]
    one, following = order[:-1], order[1:]
    same = (rows.connection[one] == rows.connection[following]) & (rows.process[one] == rows.process[following])
    ends[one[same]] = np.minimum(ends[one[same]], rows.acquired_ns[following[same]])
    return ends


def waiting(rows: Rows) -> tuple[Ints, Ints]:
    """Return start and end (ns) of every acquisition wait: the time-out, where it got no connection; else OPEN."""
    mine = _asked(rows)
    return rows.asking_ns[mine], _end(np.where(rows.acquired_ns == ABSENT, rows.end_ns, rows.acquired_ns)[mine])


def in_flight(rows: Rows) -> tuple[Ints, Ints]:
    """Return start and end (ns) of every request from asking for a connection to giving it back, or getting none."""
    mine = _asked(rows)
    return rows.asking_ns[mine], _end(np.where(rows.released_ns == ABSENT, rows.end_ns, rows.released_ns)[mine])


def _asked(rows: Rows) -> Flags:
    """Tell which requests asked for a connection; one that ended ok without any had no use for it."""
    asked: Flags = (rows.asking_ns != ABSENT) & ~(rows.ok & (rows.acquired_ns == ABSENT))
    return asked


def _end(moments: Ints) -> Ints:
    return np.where(moments == ABSENT, OPEN, moments)
