"""Nearest rank: the one percentile of every table, figure and file."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poollab.quantiles import beyond, nearest_rank

#: (number of values, percentile, rank from 1, values beyond it), worked by hand: the rank is ceil(n * q).
BY_HAND = [
    (1, 0.50, 1, 0),
    (1, 0.99, 1, 0),
    (2, 0.50, 1, 1),
    (2, 0.95, 2, 0),
    (10, 0.50, 5, 5),
    (10, 0.95, 10, 0),
    (10, 0.99, 10, 0),
    (20, 0.95, 19, 1),  # 0.95 * 20 is 19.000000000000004 on some roads
    (20, 0.99, 20, 0),
    (100, 0.07, 7, 93),  # 0.07 * 100 is 7.000000000000001
    (100, 0.29, 29, 71),  # 0.29 * 100 is 28.999999999999996
    (100, 0.95, 95, 5),
    (100, 0.99, 99, 1),
    (101, 0.50, 51, 50),
    (101, 0.99, 100, 1),
    (500, 0.99, 495, 5),
    (500, 0.999, 500, 0),
    (1440, 0.99, 1426, 14),
    (480, 0.99, 476, 4),
    (7200, 1.00, 7200, 0),
]


@pytest.mark.parametrize(("count", "share", "rank", "above"), BY_HAND)
def test_rank_by_hand(count: int, share: float, rank: int, above: int) -> None:
    """The percentile is the ceil(n * q)-th smallest value of the sample, whatever the order of the rows."""
    values = np.arange(1, count + 1, dtype=np.int64)
    np.random.default_rng(3).shuffle(values)
    assert nearest_rank(values, share) == rank
    assert beyond(count, share) == above


def test_a_percentile_is_a_value_of_the_sample() -> None:
    """Nothing lies between two values: the median of two is the lower one."""
    assert nearest_rank(np.array([10, 1000]), 0.5) == 10
    assert nearest_rank(np.array([7, 7, 7, 9]), 0.75) == 7


def test_a_small_sample_never_prints_zero() -> None:
    """With 10 requests p99 is the largest of them with no support, and with none there is no value (not 0)."""
    ten = np.arange(1, 11) * 1000
    assert nearest_rank(ten, 0.99) == 10_000
    assert beyond(10, 0.99) == 0
    assert nearest_rank(ten[:0], 0.99) is None
    assert beyond(0, 0.99) == 0


def test_support_tells_weak_percentiles_apart() -> None:
    """Of 500 requests 5 lie beyond p99 (weak) and none beyond p99.9 (not to be shown)."""
    assert (beyond(500, 0.99), beyond(500, 0.999), beyond(500, 0.95)) == (5, 0, 25)


def test_the_sample_is_left_as_it_is() -> None:
    """Asking for a percentile does not reorder the rows it is asked of."""
    values = np.array([5, 3, 9, 1])
    nearest_rank(values, 0.5)
    assert values.tolist() == [5, 3, 9, 1]


def test_large_values_stay_exact() -> None:
    """A nanosecond beyond 2**53 is not rounded to an even one."""
    big = 2**53 + 1
    assert nearest_rank(np.array([big, big + 1, big + 2]), 0.34) == big + 1


@given(st.integers(1, 5000), st.integers(1, 1000))
def test_rank_against_exact_fractions(count: int, permille: int) -> None:
    """For every size and every percentile in steps of 0.1 the rank is the exact one, not a float's."""
    share = Fraction(permille, 1000)
    rank = -(-count * share.numerator // share.denominator)
    assert nearest_rank(np.arange(1, count + 1), permille / 1000) == rank
    assert beyond(count, permille / 1000) == count - rank


@given(st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=200), st.floats(0.001, 1))
def test_rank_against_a_sorted_list(values: list[int], share: float) -> None:
    """At least the share of the values lies at or below the percentile, and it is one of them."""
    found = nearest_rank(np.array(values, dtype=np.int64), share)
    assert found in values
    assert sum(v <= found for v in values) >= share * len(values) - 1e-6
