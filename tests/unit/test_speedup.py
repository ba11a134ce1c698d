"""Ratios of two implementations, and when a difference is called confirmed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poollab.stats import speedup
from poollab.stats.speedup import CANNOT_TELL, FASTER, NO_DIFFERENCE, NOT_REPRODUCED, SLOWER, Pass, word

Maybe = float | None


@pytest.mark.parametrize(
    ("ratios", "expected"),
    [
        ([1.05, None, None], NO_DIFFERENCE),
        ([1.10, None, None], NO_DIFFERENCE),
        ([1 / 1.10, None, None], NO_DIFFERENCE),
        ([1.2, 1.2, 1.0], FASTER),
        ([1.2, 1.0, 1.2], FASTER),
        ([0.8, 0.8, 1.0], SLOWER),
        ([1.2, 1.0, 1.0], NOT_REPRODUCED),
        ([1.2, 0.8, 0.8], NOT_REPRODUCED),
        # A pass that points the other way contradicts a majority, however little.
        ([1.2, 1.2, 0.99], NOT_REPRODUCED),
        ([0.8, 1.01, 0.8], NOT_REPRODUCED),
        ([1.2, 1.2, 1.01], FASTER),
        ([1.2, 1.2, None], FASTER),
        ([1.2, 1.0, None], CANNOT_TELL),
        ([1.2, None, None], CANNOT_TELL),
        # A lost first pass decides nothing: the others do, where they are a majority of all.
        ([None, 1.2, 1.2], FASTER),
        ([None, 0.8, 0.8], SLOWER),
        ([None, 1.0, 1.0], NO_DIFFERENCE),
        ([None, 1.2, 1.0], CANNOT_TELL),
        ([None, 1.2, None], CANNOT_TELL),
        ([], CANNOT_TELL),
        # Later passes are measured only where the first differs; where they are there all the same, it decides.
        ([1.0, 1.2, 1.2], NO_DIFFERENCE),
    ],
)
def test_only_a_strict_majority_of_passes_confirms(ratios: list[Maybe], expected: str) -> None:
    """Best of three: beyond 10 % in the direction of the first pass, and what is missing is never guessed."""
    assert word(ratios, 0.10, 3) == expected


@pytest.mark.parametrize(
    ("ratios", "expected"),
    [
        ([1.0, 1.2, 1.2], FASTER),
        ([0.95, 0.8, 0.8], SLOWER),
        ([1.2, 0.8, 0.8], NOT_REPRODUCED),
        ([1.2, 1.0, 1.0], NO_DIFFERENCE),
        ([1.2, 1.0, 0.8], NOT_REPRODUCED),
        ([1.2, 1.0, None], CANNOT_TELL),
        ([1.0, None, 1.0], NO_DIFFERENCE),
    ],
)
def test_where_all_passes_are_measured_each_has_one_vote(ratios: list[Maybe], expected: str) -> None:
    """A study without confirm measures every pass, so the first one is none but the first."""
    assert word(ratios, 0.10, 3, first_decides=False) == expected
    assert word([1.2, 1.2, 1.2, 1.0, 1.0], 0.10, 5, first_decides=False) == FASTER


@pytest.mark.parametrize(("ratio", "expected"), [(1.5, CANNOT_TELL), (0.5, CANNOT_TELL), (1.05, NO_DIFFERENCE)])
def test_a_single_pass_confirms_nothing(ratio: float, expected: str) -> None:
    """A study of one pass sees a difference, and nothing says that it would come back."""
    assert word([ratio], 0.10, 1) == expected


@given(st.lists(st.floats(0.2, 5), min_size=3, max_size=3))
def test_swapping_the_arms_swaps_the_word(ratios: list[float]) -> None:
    """Which arm is called baseline changes the direction and nothing else."""
    # Ratios on the very edge of the threshold are left out, where a rounding of 1/x decides.
    if any(abs(r * edge - 1) < 1e-9 for r in ratios for edge in (1.1, 1 / 1.1)):
        return
    swapped = {FASTER: SLOWER, SLOWER: FASTER}
    found = word(list(ratios), 0.10, 3)
    assert word([1 / r for r in ratios], 0.10, 3) == swapped.get(found, found)


@pytest.mark.parametrize("noise", [0.02, 0.05])
def test_the_same_arm_twice_is_hardly_ever_called_different(noise: float) -> None:
    """With means that scatter by 2 or 5 % between processes, at most 5 % of A/A rows are claimed."""
    rng = np.random.default_rng(7)
    claimed = 0
    for _ in range(1000):
        one, other = (np.exp(rng.normal(0, noise, 3)) for _ in range(2))
        claimed += word(list(one / other), 0.10, 3) in {FASTER, SLOWER}
    assert claimed <= 50


def test_a_real_difference_is_confirmed() -> None:
    """A candidate that is a third faster is found in nearly every row at a scatter of 3 %."""
    rng = np.random.default_rng(8)
    found = [word(list(1.33 * np.exp(rng.normal(0, 0.03, 3))), 0.10, 3) for _ in range(300)]
    assert found.count(FASTER) > 295


def test_ratios_are_baseline_over_candidate() -> None:
    """30 ms against 10 ms is 3: the candidate is three times as fast; the median has a ratio of its own."""
    one, other = (np.array(v, dtype=np.int64) * 1_000_000 for v in ([20, 20, 50], [10, 10, 10]))
    assert (Pass(one, other).ratio, Pass(one, other).median_ratio) == (3.0, 2.0)
    assert Pass(one, None).ratio is None


@pytest.mark.parametrize(
    ("mean", "median", "expected"),
    [(1.5, 1.3, False), (1.5, 1.05, True), (1.5, 0.7, True), (1.02, 1.04, False), (1.0, 1.3, True), (None, 1.3, False)],
)
def test_mean_and_median_that_disagree_are_noticed(mean: Maybe, median: Maybe, expected: bool) -> None:  # noqa: FBT001
    """One slow iteration can make a mean; where the median would get another word, that is said."""
    assert speedup.disagree(mean, median, 0.10) is expected


def test_a_summary_keeps_support_and_spread() -> None:
    """Of 20 iterations one lies beyond p95 and none beyond p99; none at all give no number."""
    found = speedup.summary([np.arange(1, 11), np.arange(11, 21)])
    assert (found["n"], found["mean_ns"], found["median_ns"], found["p95_ns"]) == (20, 10.5, 10, 19)
    assert (found["beyond_p95"], found["beyond_p99"]) == (1, 0)
    assert found["spread"] == pytest.approx(np.arange(1, 21).std(ddof=1) / 10.5)
    empty = speedup.summary([])
    assert (empty["n"], empty["mean_ns"], empty["p95_ns"], empty["spread"]) == (0, None, None, None)


def test_a_ratio_of_percentiles_needs_support() -> None:
    """A p99 that is the largest value itself is compared with nothing."""
    few, many = speedup.summary([np.arange(1, 21)]), speedup.summary([np.arange(1, 2001)])
    assert speedup.ratio_of(few, few, "p99") is None
    assert speedup.ratio_of(many, many, "p99", enough=10) == 1.0
