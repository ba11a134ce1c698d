"""Connections in use over time, exactly from the stamps: counts that pencil and paper give too."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.simulated import MS, closed_loop, rows

from poollab.stats import in_use, littles
from poollab.stats.rows import ABSENT

SPANS = st.lists(st.tuples(st.integers(-50, 150), st.integers(0, 80)), min_size=1, max_size=40)


def ints(*values: int) -> np.ndarray:
    """Return int64."""
    return np.array(values, dtype=np.int64)


def test_level_by_hand() -> None:
    """Two holds that overlap for 10 of 100 ns: one in use, then two, then one, then none."""
    level = in_use.level((ints(0, 20), ints(30, 60)), 0, 100)
    assert list(zip(level.edges_ns.tolist(), [*level.counts.tolist(), 0], strict=True)) == [
        (0, 1), (20, 2), (30, 1), (60, 0), (100, 0),
    ]  # fmt: skip
    assert (level.mean, level.peak, level.share_above(0.9)) == (0.7, 2, 0.6)


def test_a_handover_is_not_counted_twice() -> None:
    """A connection that is given back and taken at one instant is one connection in use, not two."""
    assert in_use.level((ints(0, 50), ints(50, 100)), 0, 100).peak == 1


def test_only_the_window_counts() -> None:
    """What began before or lasts longer counts with its part of the window, and a hold that never ended to its end."""
    level = in_use.level((ints(-50, 90), ints(10, in_use.OPEN)), 0, 100)
    assert (level.mean, level.peak) == (0.2, 1)


def test_who_gave_up_waits_no_longer() -> None:
    """A request that got no connection in time waited until then, and one that had no use for any never waited."""
    made = replace(rows(ints(0, 10, 20), wait=5, trip=5), ended_ns=ints(ABSENT, 40, 90))
    for stamps in (made.acquired_ns, made.result_ns, made.released_ns):
        stamps[1:] = ABSENT
    made.status[1] = 2
    begins, ends = in_use.waiting(made)
    assert list(zip(begins.tolist(), ends.tolist(), strict=True)) == [
        (int(made.started_ns[0]), int(made.acquired_ns[0])),
        (int(made.started_ns[1]), 40),
    ]
    assert in_use.in_flight(made)[1].tolist() == [int(made.released_ns[0]), 40]
    assert littles.law(*littles.stage(made, "waiting"), 100)["edge"] == 0.0


def test_an_empty_window_is_refused() -> None:
    """There is no mean over no time."""
    with pytest.raises(ValueError, match="empty"):
        in_use.level((ints(0), ints(1)), 5, 5)


@given(SPANS)
def test_mean_is_the_time_spent_inside(spans: list[tuple[int, int]]) -> None:
    """However holds lie, the mean count times the window is the time that they spent in it."""
    starts = np.array([s for s, _ in spans], dtype=np.int64)
    ends = starts + np.array([length for _, length in spans], dtype=np.int64)
    inside = np.clip(ends, 0, 100) - np.clip(starts, 0, 100)
    assert in_use.level((starts, ends), 0, 100).mean == pytest.approx(inside.sum() / 100)


def test_a_full_closed_loop_uses_its_whole_pool() -> None:
    """Eight workers on four connections hold all four all the time, and four of them wait."""
    found = closed_loop(8, 4, MS, 100 * MS)
    held, waiting, flight = (
        in_use.level(spans(found), 0, 100 * MS) for spans in (in_use.held, in_use.waiting, in_use.in_flight)
    )
    assert (held.mean, held.peak, held.share_above(0.9 * 4)) == (4, 4, 1)
    assert (waiting.mean, flight.mean, flight.peak) == (4, 8, 8)


def test_agrees_with_the_law() -> None:
    """The mean in use is the same number as in Little's law of the run, which is counted by other code."""
    found = closed_loop(3, 2, 7 * MS, 200 * MS, spread=0.3)
    level = in_use.level(in_use.held(found), 0, 200 * MS)
    assert level.mean == pytest.approx(littles.law(*littles.stage(found, "holding"), 200 * MS)["inside"])


def test_a_connection_is_never_counted_twice() -> None:
    """A pool hands a connection on before its last holder has its stamp: still that is one connection in use."""
    found = rows(ints(0, 40), trip=40, release=ints(10, 0), connection=3)
    level = in_use.level(in_use.held(found), 0, 100)
    assert (level.peak, level.mean) == (1, 0.8)
    apart = rows(ints(0, 40), trip=40, release=ints(10, 0), connection=ints(3, 4))
    assert in_use.level(in_use.held(apart), 0, 100).peak == 2


def test_a_connection_never_given_back_stays_in_use() -> None:
    """What is not given back is in use to the end of the window; a request without a connection holds none."""
    found = rows(ints(0, 10, 20), trip=30, release=0)
    found.released_ns[0] = ABSENT
    found.acquired_ns[2], found.released_ns[2] = ABSENT, ABSENT
    level = in_use.level(in_use.held(found), 0, 100)
    assert level.mean == pytest.approx((100 + 30) / 100)
