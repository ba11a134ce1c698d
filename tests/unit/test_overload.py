"""Whether a rate was kept: by what is left behind, of a whole window and of each stretch of a schedule."""

import numpy as np
import pytest
from support.columns import MS, every, fail, served
from support.judging import CLEAN, judge, two_steps

from poollab.load.rows import ACQUIRE_TIMEOUT, ERROR, QUERY_TIMEOUT
from poollab.run import validity
from poollab.run.overload import backlog_grows, in_flight_at_arrivals
from poollab.run.validity import Shape


def test_rate_that_was_not_kept() -> None:
    """Less than 99 % of the offered rate is overload, even where the queue did not grow from the start."""
    trip = np.full(1000, MS)
    trip[850:] = 2000 * MS
    found = judge(served(every(10 * MS, 1000), trip=trip))
    assert found.status == "overloaded"
    assert found.reasons == "95.0% of the offered rate was achieved (50 of 1000 left behind)"


def test_one_request_that_takes_seconds_is_no_missed_rate() -> None:
    """One query of 12 s near the end of a run is its tail, which must stay in the numbers, and not a rate."""
    trip = np.full(3000, 10 * MS)
    trip[2500] = 12_000 * MS
    assert validity.judge(served(every(10 * MS, 3000), trip=trip), 30.0, 0.0, CLEAN).status == "ok"


def test_a_hiccup_just_before_the_end_is_no_missed_rate() -> None:
    """What piles up in the last 0.2 s may be a moment's stall: a rate that is not kept leaves more behind all along."""
    scheduled = every(10 * MS, 1000)
    trip = np.where(scheduled > 9_800 * MS, 10_050 * MS - scheduled, MS)
    assert judge(served(scheduled, trip=trip)).status == "ok"


def test_long_requests_of_random_length_are_no_missed_rate() -> None:
    """A hundred requests under way at any time, each of up to 2 s, are what the study asked for."""
    trip = np.random.default_rng(3).integers(0, 2000 * MS, 1200)
    assert validity.judge(served(every(10 * MS, 1200), trip=trip), 12.0, 0.0, CLEAN).status == "ok"


@pytest.mark.parametrize(("rate", "status"), [(0.995, "ok"), (0.98, "overloaded"), (0.9, "overloaded")])
def test_a_server_just_below_the_offered_rate(rate: float, status: str) -> None:
    """A server that answers 98 of 100 offered requests is overloaded; one that answers 99.5 kept the rate."""
    scheduled = every(10 * MS, 2000)
    served_at = (np.arange(1, 2001) * (10 * MS / rate)).astype(np.int64)
    found = validity.judge(served(scheduled, trip=served_at - scheduled), 20.0, 0.0, CLEAN)
    assert found.status == status, found.reasons


def test_a_dozen_requests_that_are_served_one_by_one_too_slowly() -> None:
    """Few requests can be too many as well: one a second, of which each takes three."""
    scheduled = every(1000 * MS, 12)
    served_at = (np.arange(1, 13) * 3000 * MS).astype(np.int64)
    found = validity.judge(served(scheduled, trip=served_at - scheduled), 12.0, 0.0, CLEAN)
    assert "overloaded" in found.status.split("+")


def test_one_late_answer_of_few_is_no_missed_rate() -> None:
    """In a window of 34 requests one slow answer at the end is over 1 % of the requests, and no missed rate."""
    trip = np.full(34, MS)
    trip[-1] = 120 * MS
    assert validity.judge(served(every(1000 * MS // 34, 34), trip=trip), 1.0, 0.0, CLEAN).status == "ok"


def test_requests_under_way_at_the_end_are_ordinary() -> None:
    """Slow requests that are under way all the time are no overload because some are under way at the end."""
    assert judge(served(every(10 * MS, 1000), trip=90 * MS)).status == "ok"


def test_growing_backlog() -> None:
    """A queue that grows steadily is overload although the rate still looks kept."""
    count = 10_000
    scheduled = every(MS, count)
    trip = np.linspace(MS, 60 * MS, count)
    found = judge(served(scheduled, trip=trip))
    assert found.status == "overloaded"
    assert found.reasons == "the backlog grew over the window"


def test_a_server_at_half_the_rate() -> None:
    """A server that serves half of what is offered is overloaded for both reasons."""
    scheduled = every(10 * MS, 1000)
    found = judge(served(scheduled, wait=np.arange(1000) * 10 * MS, trip=20 * MS))
    assert found.status == "overloaded"
    assert "of the offered rate was achieved" in found.reasons
    assert "backlog grew" in found.reasons


@pytest.mark.parametrize("shape", ["bursts", "one stall", "noise"])
def test_queues_that_empty_do_not_count(shape: str) -> None:
    """Bursts, a single stall and noise make queues that empty again; none of them is a growing backlog."""
    scheduled = every(10 * MS, 1000)
    trip = np.full(1000, MS)
    if shape == "bursts":
        scheduled, trip = np.repeat(every(100 * MS, 100), 10), np.tile(np.arange(10) * 8 * MS + MS, 100)
    if shape == "one stall":
        trip[600:800] = np.arange(200, 0, -1) * 10 * MS
    if shape == "noise":
        trip = np.random.default_rng(5).exponential(30 * MS, 1000).astype(np.int64)
    columns = served(scheduled, trip=trip)
    assert not backlog_grows(columns)
    assert judge(columns).status == "ok"


def test_in_flight_by_hand() -> None:
    """At each arrival the earlier requests that have not ended are counted; one that never ends counts for ever."""
    columns = served(np.array([0, 10, 20, 30]), trip=np.array([15, 100, 5, 1]), release=0)
    assert in_flight_at_arrivals(columns).tolist() == [0, 1, 1, 1]
    fail(columns, 0, QUERY_TIMEOUT, "result", "released")
    assert in_flight_at_arrivals(columns).tolist() == [0, 1, 2, 2]


def test_refused_queries_are_no_overload() -> None:
    """Queries that the server answers in time with an error are errors; the rate was kept all the same."""
    columns = served(every(10 * MS, 1000))
    fail(columns, slice(0, 300), ERROR, "result")
    assert judge(columns).status == "errors"
    fail(columns, slice(0, 300), ACQUIRE_TIMEOUT, "acquired", "released", "backend")
    assert judge(columns).status == "overloaded+errors"


def test_one_step_that_is_not_kept_is_overload() -> None:
    """A step beyond capacity is found although most of the schedule was kept, and is named by its number."""
    scheduled, numbers = two_steps((40, 120))
    # A server of 100 a second: the second step leaves 100 of its 600 requests behind.
    free, released = 0, []
    for at in scheduled.tolist():
        free = max(free, at) + 10 * MS
        released.append(free)
    wait = np.array(released) - scheduled - 10 * MS
    shape = Shape(steps=numbers, parts=numbers)
    found = judge(served(scheduled, wait=wait, trip=10 * MS), shape=shape)
    assert found.status == "overloaded"
    assert found.reasons == "part 2 of the schedule left 99 of its 600 requests behind"
    scheduled, numbers = two_steps((40, 90))
    assert judge(served(scheduled, trip=10 * MS), shape=Shape(steps=numbers, parts=numbers)).status == "ok"


def test_more_in_flight_at_a_higher_rate_is_no_backlog() -> None:
    """A ramp holds ever more requests at a constant service time; that is Little's law and no queue."""
    # From 50 to 1,000 a second in 10 s: request n is due where 50 t + 47.5 t^2 = n.
    scheduled = ((np.sqrt(2500 + 190 * np.arange(5250)) - 50) / 95 * 1000 * MS).astype(np.int64)
    tenths = np.minimum(scheduled // (1000 * MS), 9).astype(np.int16)
    columns = served(scheduled, trip=400 * MS)
    assert backlog_grows(columns)
    assert judge(columns, shape=Shape(parts=tenths)).status == "ok"
