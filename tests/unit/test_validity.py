"""A run's status: each is forced once from recorded data, and ordinary runs get none of them."""

import os
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support.columns import MS, every, fail, served
from support.judging import CLEAN, judge, two_steps

from poollab.data.schemas import SAMPLES
from poollab.load.rows import ABSENT, ACQUIRE_TIMEOUT, ERROR, QUERY_TIMEOUT, UNFINISHED
from poollab.run import plausible, validity
from poollab.run.validity import HostUse, Shape, Verdict


def test_a_plain_run_is_ok() -> None:
    """A run that kept its schedule, its rate and its connections is ok, without a reason."""
    assert judge(served(every(10 * MS, 1000), late=80_000)) == Verdict("ok", "", 80_000)


def test_late_generator() -> None:
    """A p99 lateness over a fifth of the gap is the generator's fault and named so; a fifth is not over."""
    late = np.zeros(1000)
    late[:11] = 2 * MS
    assert judge(served(every(10 * MS, 1000), late=late)).status == "ok"
    found = judge(served(every(10 * MS, 1000), late=late + np.where(late > 0, 1, 0)))
    assert (found.status, found.first_lateness_p99_ns) == ("generator-late", 2 * MS + 1)
    assert "20 % of the 10 ms gap" in found.reasons
    # Ten of a thousand lie beyond the p99: they alone do not make it late.
    late[10:] = 0
    assert judge(served(every(10 * MS, 1000), late=late * 5)).status == "ok"


def test_a_fifth_of_a_small_gap_is_not_asked_for() -> None:
    """At 2,000 requests a second a fifth of the gap is 0.1 ms, which no timer keeps: late is what is over 1 ms."""
    scheduled = every(MS // 2, 20_000)
    assert judge(served(scheduled, late=MS)).status == "ok"
    found = judge(served(scheduled, late=MS + 1))
    assert found.status == "generator-late"
    assert "is over 1 ms (20 % of the 0.5 ms gap is less)" in found.reasons


def test_siblings_of_a_burst_are_not_late() -> None:
    """The tenth request of a burst starts after its siblings; only the first one's delay says that we were late."""
    scheduled = np.repeat(every(250 * MS, 40), 10)
    siblings = np.tile(np.arange(10) * 12 * MS, 40)
    assert judge(served(scheduled, late=siblings)).status == "ok"
    found = judge(served(scheduled, late=siblings + 51 * MS))
    assert (found.status, found.first_lateness_p99_ns) == ("generator-late", 51 * MS)


def test_the_wait_for_a_busy_thread_is_no_lateness_of_ours() -> None:
    """With two threads that are both busy, a request starts late by the arm's own number and not by the schedule."""
    scheduled = every(10 * MS, 1000)
    # Each takes 25 ms on two threads: the third of every three waits 5 ms more than the one before it.
    threads, started = [0, 0], []
    for at in scheduled.tolist():
        first = threads.index(min(threads))
        started.append(max(at, threads[first]))
        threads[first] = started[-1] + 15 * MS if len(started) % 3 else started[-1] + 25 * MS
    late = np.array(started) - scheduled
    trip = np.where(np.arange(1, 1001) % 3 > 0, 15 * MS, 25 * MS)
    columns = served(scheduled, late=late, trip=trip, release=0)
    assert late.max() >= 3 * MS
    assert judge(columns).status == "generator-late"
    assert judge(columns, shape=Shape(threads=2)).status == "ok"
    assert "generator-late" in judge(served(scheduled, late=5 * MS), shape=Shape(threads=2)).status


def test_a_short_stretch_is_not_busy_for_a_tick() -> None:
    """The kernel counts CPU in ticks: 30 ms of somebody else's in a tenth of a second may be none at all."""
    limits = (0.25, 0.1)
    assert list(validity.busy(HostUse(0.15, 0.06, resolution=0.30), limits)) == []
    assert [word for word, _ in validity.busy(HostUse(0.15, 0.06, resolution=0.001), limits)] == ["host-busy"] * 2


def test_requests_that_never_started_are_the_generators() -> None:
    """A scheduled request that was never sent makes the run late, whatever the others did."""
    columns = served(every(10 * MS, 1000))
    fail(columns, slice(995, 1000), UNFINISHED, "started", "acquired", "result", "released", "backend")
    found = judge(columns)
    assert "generator-late" in found.status.split("+")
    assert "5 requests were never started" in found.reasons


def test_a_wait_that_was_not_taken_at_the_pool() -> None:
    """A timer around something that hands out no connection shows as more of them held at once than there are."""
    columns = served(every(10 * MS, 1000), trip=29 * MS)
    assert plausible.most_at_once(columns) == 3
    assert judge(columns).status == "ok"
    found = judge(served(every(10 * MS, 1000), trip=200 * MS), ends=replace(CLEAN, expected=3))
    assert "unclean" in found.status.split("+")
    assert "implausible: 20 requests held a connection at once, and there are 3" in found.reasons


def test_a_connection_that_is_handed_on_is_not_held_twice() -> None:
    """The next request may take a connection in the nanosecond in which its result was there."""
    columns = served(every(10 * MS, 1000), trip=10 * MS)
    assert plausible.most_at_once(columns) == 1
    fail(columns, slice(0, 1000), QUERY_TIMEOUT, "result")
    assert plausible.most_at_once(columns) == 0


@pytest.mark.parametrize(
    ("status", "absent"),
    [
        (ERROR, ("result",)),
        (ACQUIRE_TIMEOUT, ("acquired", "result", "released", "backend")),
        (QUERY_TIMEOUT, ("result",)),
    ],
)
def test_any_failed_request_counts(status: int, absent: tuple[str, ...]) -> None:
    """One request that did not end ok marks the run, unless the study allows that share."""
    columns = served(every(10 * MS, 1000))
    fail(columns, [17], status, *absent)
    assert judge(columns).status == "errors"
    assert "1 of 1000 requests did not end ok" in judge(columns).reasons
    assert judge(columns, allowed=0.001).status == "ok"
    fail(columns, [18], status, *absent)
    assert judge(columns, allowed=0.001).status == "errors"


def test_busy_host() -> None:
    """CPU that others took, or that was stolen, above half of the guard's threshold marks the run."""
    columns = served(every(10 * MS, 1000))

    def judged(host: HostUse | None) -> Verdict:
        return validity.judge(columns, 10.0, 0.0, CLEAN, host, (0.25, 0.10))

    assert judged(HostUse(0.12, 0.04)).status == judged(HostUse(None, None)).status == judged(None).status == "ok"
    assert judged(HostUse(0.13, 0.0)).status == "host-busy"
    assert "13% of the host's CPU time was taken by others" in judged(HostUse(0.13, 0.0)).reasons
    assert judged(HostUse(0.0, 0.06)).status == "host-busy"
    assert "stolen" in judged(HostUse(0.0, 0.06)).reasons


def test_a_counter_that_is_missing_makes_no_busy_host() -> None:
    """What our own sides used is not called the use of others when the kernel did not say how much that was."""
    cpus = os.cpu_count() or 1
    first, last = dict.fromkeys(SAMPLES.names), dict.fromkeys(SAMPLES.names)
    first |= {"at_ns": 0, "host_busy_ns": 0, "host_steal_ns": 0, "database_cpu_ns": 10**9, "generator_cpu_ns": 0}
    last |= {"at_ns": 10**9, "host_busy_ns": cpus * 5 * 10**8, "host_steal_ns": 0, "generator_cpu_ns": 0}
    gone = pa.Table.from_pylist([first, last], schema=SAMPLES)
    assert validity.host_use(gone) == HostUse(None, 0.0, validity.host_use(gone).resolution)
    whole = pa.Table.from_pylist([first, {**last, "database_cpu_ns": 10**9 + cpus * 4 * 10**8}], schema=SAMPLES)
    assert validity.host_use(whole).other_cpu == pytest.approx(0.1)


UNCLEAN: list[tuple[dict[str, Any], str]] = [
    ({"sessions_left": 2}, "2 server sessions were left when the pool had been closed"),
    ({"connections": 399}, "the pool holds 399 connections, expected 400"),
    ({"sessions_before": 401}, "401 server sessions before the run, expected 400"),
    ({"sessions_after": 399}, "399 server sessions after the run, expected 400"),
    ({"new_connections": 1}, "1 connections were made inside the window"),
    ({"reachable": 399}, "399 connections could be taken at the end, expected 400"),
    ({"warm_up_drained": False}, "the warm-up did not drain"),
    ({"finished": False}, "requests were still under way when the drain ended"),
]


@pytest.mark.parametrize(("fact", "reason"), UNCLEAN)
def test_unclean_ends(fact: dict[str, Any], reason: str) -> None:
    """A leaked, lost or unexpected connection, or a window that did not end, marks the run and is named."""
    found = judge(served(every(10 * MS, 1000)), ends=replace(CLEAN, **fact))
    assert (found.status, found.reasons) == ("unclean", reason)


def test_sessions_that_cannot_be_seen_are_no_fault() -> None:
    """Where the server's processes cannot be counted the count is unknown and never taken for a wrong one."""
    unseen = replace(CLEAN, sessions_before=None, sessions_after=None)
    assert judge(served(every(10 * MS, 1000)), ends=unseen).status == "ok"


def test_reasons_stand_together() -> None:
    """A run that failed in several ways says all of them, each status word once."""
    columns = served(every(10 * MS, 1000), late=3 * MS)
    fail(columns, slice(0, 50), ACQUIRE_TIMEOUT, "acquired", "result", "released", "backend")
    found = judge(columns, ends=replace(CLEAN, reachable=0, finished=False))
    assert found.status == "generator-late+overloaded+errors+unclean"
    assert found.reasons.count("; ") == 4


def test_ends_are_read_from_the_rows() -> None:
    """A connection that served requests and was not among those established counts as made in the window."""
    columns = served(every(10 * MS, 30))
    columns["backend"][7] = 999
    facts = {"backends": [100, 101, 102], "reachable": 3, "warm_up_drained": True, "finished": True, "exhausted": False}
    spec = {"pool": {"size": 3}, "processes": 1, "steps": [{"do": "query"}]}
    three = dict.fromkeys(("pool_size", "connections", "sessions_before", "sessions_after"), 3)
    want = replace(CLEAN, **three, reachable=3, expected=3, new_connections=1)  # type: ignore[arg-type]
    assert validity.ends_of(spec, columns, facts, (3, 3)) == want


def test_sessions_of_several_processes_add_up() -> None:
    """Each process has a pool of its own, and a workload without a database has none."""
    facts = {"backends": [], "reachable": 0, "warm_up_drained": True, "finished": True, "exhausted": False}
    spec = {"pool": {"size": 3}, "processes": 2, "steps": [{"do": "wait"}, {"do": "hold"}]}
    assert validity.ends_of(spec, served(every(MS, 3)), facts, (6, 6)).expected == 6
    assert validity.ends_of({**spec, "steps": [{"do": "wait"}]}, served(every(MS, 3)), facts, (0, 0)).expected == 0


CLOSED = Shape(closed=True)


def test_a_closed_loop_has_no_rate_to_miss() -> None:
    """Workers in a loop send when they can: neither a slow server nor a late worker makes the run anything but ok."""
    columns = served(every(10 * MS, 1000), late=8 * MS, wait=np.arange(1000) * 10 * MS)
    assert judge(columns).status == "generator-late+overloaded"
    assert judge(columns, shape=CLOSED).status == "ok"
    fail(columns, [3], ERROR, "result")
    assert judge(columns, shape=CLOSED).status == "errors"


def test_a_closed_loop_that_had_no_room_is_unclean() -> None:
    """A loop that stopped before the window's end measured something else, and says what to raise."""
    found = judge(served(every(MS, 50)), ends=replace(CLEAN, ran_out=True), shape=CLOSED)
    assert found.status == "unclean"
    assert "closed.max_per_s" in found.reasons


def test_a_batch_takes_its_time() -> None:
    """All at once has no gap to be late in and no rate to keep; requests that fail still count."""
    columns = served(np.zeros(400, dtype=np.int64), late=np.arange(400) * MS, wait=np.arange(400) * 40 * MS)
    assert judge(columns, shape=Shape(batch=True)).status == "ok"
    fail(columns, slice(0, 3), UNFINISHED, "acquired", "result", "released", "backend")
    assert judge(columns, shape=Shape(batch=True)).status == "errors"


def test_lateness_is_judged_by_the_gap_at_hand() -> None:
    """A lateness of 3 ms is nothing at 20 requests a second and too much at 200, whichever way the mean comes out."""
    scheduled, numbers = two_steps((20, 200))
    shape = Shape(steps=numbers, parts=numbers)
    assert judge(served(scheduled, late=np.where(numbers == 1, 3 * MS, 0)), shape=shape).status == "ok"
    found = judge(served(scheduled, late=np.where(numbers == 2, 3 * MS, 0)), shape=shape)
    assert (found.status, "the gap at hand" in found.reasons) == ("generator-late", True)


def test_work_in_the_caller_is_no_lateness_of_ours() -> None:
    """Where requests work in the caller's process they hold each other up: that is the result and no fault."""
    columns = served(every(10 * MS, 1000), late=5 * MS)
    assert judge(columns).status == "generator-late"
    assert judge(columns, shape=Shape(own_work=True)).status == "ok"


def test_requests_without_a_connection_are_judged_by_their_end() -> None:
    """A request that only waits has no release; it ended all the same."""
    columns = served(every(10 * MS, 1000))
    columns["ended"] = columns["released"].copy()
    for name in ("acquired", "result", "released", "backend"):
        columns[name][:] = ABSENT
    assert judge(columns).status == "ok"
