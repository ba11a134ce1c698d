"""Who waited for a connection, and what the intervals are where work stands before or after it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.simulator import rows

from poollab.data.schemas import INTERVALS
from poollab.quantiles import nearest_rank, nearest_ranks
from poollab.stats import requests, waits
from poollab.stats.requests import Sample
from poollab.stats.rows import ABSENT, Rows, overall, parts


def _rows(*requests_ns: tuple[int, int, int]) -> Rows:
    """Return requests as (asked, acquired, released)."""
    asked, acquired, released = np.array(requests_ns, dtype=np.int64).T
    return rows(asked, asked, acquired, released, released)


@pytest.mark.parametrize(
    ("made", "size", "want"),
    [
        ([(0, 1, 9), (2, 3, 9)], 2, [False, False]),
        ([(0, 1, 9), (2, 9, 20)], 1, [False, True]),
        # Together at one instant: the first takes the connection, the others stand behind it.
        ([(0, 1, 9), (0, 9, 12), (0, 12, 15)], 1, [False, True, True]),
        ([(0, 1, 9), (0, 2, 9), (0, 9, 15)], 2, [False, False, True]),
        # Given back at the very instant: it was free.
        ([(0, 1, 9), (9, 10, 12)], 1, [False, False]),
        # A slow acquisition of a free connection is no wait for one.
        ([(0, 500, 900)], 1, [False]),
        # Asked in another order than scheduled.
        ([(5, 20, 30), (0, 1, 20)], 1, [True, False]),
    ],
)
def test_waiting_is_asking_while_all_are_taken(made: list[Any], size: int, want: list[bool]) -> None:
    """A request waited exactly when as many as there are connections had asked before it and not given back."""
    assert waits.waited(_rows(*made), size).tolist() == want


def test_each_process_has_a_pool_of_its_own() -> None:
    """A request of one process does not wait because the pool of another is empty."""
    made = _rows((0, 1, 9), (2, 3, 9))
    assert waits.waited(made, 1).tolist() == [False, True]
    assert waits.waited(replace(made, process=np.array([0, 1], np.int16)), 1).tolist() == [False, False]


def test_one_that_never_got_a_connection_stands_before_nobody() -> None:
    """After an acquire time-out the next one does not count as having waited for it."""
    made = _rows((0, ABSENT, ABSENT), (2, 3, 9))
    assert waits.waited(made, 1).tolist() == [False, False]


def test_waits_of_those_that_waited() -> None:
    """The share that waited and their median are over those alone; the median of all has the others in it."""
    made = _rows((0, 1, 100), (50, 100, 200), (60, 200, 300), (1000, 1002, 1010))
    values = requests.numbers(Sample.of(made, 1))
    assert (values["requests_waited"], values["waited_share"]) == (2, 0.5)
    assert (values["waited_wait_p50_ns"], values["waited_wait_p99_ns"], values["waited_beyond_p50"]) == (50, 140, 1)
    assert values["acquisition_wait_p50_ns"] == 2
    assert values["query_round_trip_p95_ns"] == 100


def test_work_before_and_after_belongs_to_neither_wait_nor_release() -> None:
    """Where a request works before it asks and after it gives back, the parts are apart and still add up."""
    made = replace(_rows((0, 40, 60), (0, 40, 60)), asked_ns=np.array([30, 10]), ended_ns=np.array([75, 65]))
    found = {k: v.tolist() for k, v in parts(made).items() if v is not None}
    assert (found["before"], found["acquisition_wait"], found["after"]) == ([30, 10], [10, 30], [15, 5])
    assert np.sum(list(found.values()), axis=0).tolist() == overall(made).tolist() == [75, 65]


def test_without_a_connection_there_is_no_wait() -> None:
    """A workload that only waits or computes has no acquisition wait, rather than one of zero."""
    never = np.array([ABSENT, ABSENT])
    made = replace(_rows((0, 0, 0), (5, 5, 5)), acquired_ns=never, result_ns=never, released_ns=never,
                   ended_ns=np.array([10, 20]))  # fmt: skip
    values = requests.numbers(Sample.of(made, 1))
    assert (values["overall_mean_ns"], values["before_mean_ns"]) == (12.5, 12.5)
    for name in ("acquisition_wait_mean_ns", "query_round_trip_p50_ns", "requests_waited", "waited_share"):
        assert values[name] is None


def test_pooled_numbers_are_those_of_all_requests() -> None:
    """Pooling two runs' samples gives what their requests together give; means weigh each request the same."""
    one, two = _rows((0, 10, 20)), _rows((0, 20, 80), (100, 130, 190), (200, 200, 210))
    values = requests.numbers(Sample.join([Sample.of(one, 5), Sample.of(two, 5)]))
    assert values["requests"] == 4
    assert values["overall_mean_ns"] == (20 + 80 + 90 + 10) / 4
    assert sum(values[f"{name}_mean_ns"] for name, _, _ in INTERVALS) == values["overall_mean_ns"]
    assert values["overall_p50_ns"] == 20


def test_support_of_the_thousandth() -> None:
    """p99.9 of 1,500 requests has one beyond it; of 900 it is the slowest, with none."""
    many = rows(*[np.arange(1500, dtype=np.int64) * step for step in (10, 10, 10, 10, 11)])
    values = requests.numbers(Sample.of(many, 5))
    assert (values["overall_p999_ns"], values["overall_beyond_p999"]) == (1498, 1)
    few = requests.numbers(Sample.of(many.where(np.arange(1500) < 900), 5))
    assert (few["overall_p999_ns"], few["overall_beyond_p999"]) == (few["overall_max_ns"], 0)


def test_many_percentiles_at_once_are_the_same() -> None:
    """Asking for several shares together gives each as it is alone."""
    values = np.random.default_rng(1).integers(0, 10**9, 1234)
    shares = [0.999, 0.5, 0.95, 0.5]
    assert nearest_ranks(values, shares) == [nearest_rank(values, share) for share in shares]
