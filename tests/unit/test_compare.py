"""What is claimed of two arms: the words at their edges, by hand, and in simulated studies with nothing to find."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from support import simulator
from support.simulator import World

from poollab.stats import compare
from poollab.stats.compare import Value

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))

import honesty

FIVE = 0.05


def _arm(*values: float, blocks: tuple[int, ...] = ()) -> dict[int, Value]:
    return {r: Value(v, blocks[r - 1] if blocks else 1) for r, v in enumerate(values, start=1)}


def _word(before: dict[int, Value], after: dict[int, Value], **claims: bool) -> str:
    return compare.word(compare.pair(before, after), FIVE, **claims)


@pytest.mark.parametrize(
    ("after", "want"),
    [
        ((133.0, 131.0, 134.0), "up"),
        ((75.0, 74.0, 76.0), "down"),
        ((101.0, 100.0, 102.0), "the same"),
        ((104.0, 106.0, 105.0), "a small difference"),
        ((90.0, 120.0, 105.0), "cannot tell"),
    ],
)
def test_a_word_for_what_the_interval_says(after: tuple[float, ...], want: str) -> None:
    """Beyond the margin, inside it, beside zero only, or across: each has its word and no other."""
    assert _word(_arm(100.0, 100.0, 100.0), _arm(*after)) == want


def test_interval_by_hand() -> None:
    """The interval of three log ratios is that of a paired t with two degrees of freedom."""
    found = compare.pair(_arm(1.0, 1.0, 1.0), _arm(math.exp(0.1), math.exp(0.2), math.exp(0.3)))
    half = 4.302653 * 0.1 / math.sqrt(3)
    assert found.ratio == pytest.approx(math.exp(0.2))
    assert (found.low, found.high) == pytest.approx((math.exp(0.2 - half), math.exp(0.2 + half)), rel=1e-6)
    assert (found.spread, found.free) == pytest.approx((0.1, 2))


def test_what_did_not_survive_correction_is_not_said() -> None:
    """A difference that Holm's correction takes away cannot be told; that two are the same can."""
    before = _arm(100.0, 100.0, 100.0)
    assert _word(before, _arm(133.0, 131.0, 134.0), survives=False) == "cannot tell"
    assert _word(before, _arm(104.0, 106.0, 105.0), survives=False) == "cannot tell"
    assert _word(before, _arm(101.0, 100.0, 102.0), survives=False) == "the same"


def test_holm_steps_down() -> None:
    """The smallest of four must pass 5 % / 4, the next 5 % / 3, after a failure none; unknown ones do not count."""
    assert compare.holm([0.03, 0.001, None, 0.016, 0.9]) == [False, True, False, True, False]


def test_runs_that_agree_to_the_last_digit_are_the_same() -> None:
    """Without any spread a ratio of one is the same, and no division by zero."""
    assert _word(_arm(40.0, 40.0, 40.0), _arm(40.0, 40.0, 40.0)) == "the same"


def test_one_repeat_tells_nothing() -> None:
    """A single pair has a ratio and no interval, however large."""
    found = compare.pair(_arm(1.0), _arm(9.0))
    assert (found.ratio, found.low, compare.word(found, FIVE)) == (pytest.approx(9.0), None, "cannot tell")
    assert compare.repeats_needed(found, FIVE) is None


def test_spread_is_taken_from_all_arms() -> None:
    """Three arms and three repeats leave four degrees of freedom; levels of arms and repeats are no spread."""
    arms = [_arm(*(level * repeat for repeat in (1.0, 1.3, 0.8))) for level in (1.0, 2.0, 5.0)]
    found = compare.spread_of(arms)
    assert found is not None
    assert (found.free, found.pair) == (4, pytest.approx(0.0, abs=1e-12))
    two = compare.spread_of([_arm(1.0, 1.0, 1.0), _arm(math.exp(0.1), math.exp(0.2), math.exp(0.3))])
    assert two is not None
    assert (two.free, two.pair) == pytest.approx((2, 0.1))


def test_an_arm_that_differs_more_leaves_fewer_degrees_of_freedom() -> None:
    """Where one arm of three makes all the spread the others say nothing of it, and the interval is wider for it."""
    calm = [_arm(1.0, 1.0, 1.0), _arm(1.0, 1.0, 1.0)]
    found = compare.spread_of([_arm(1.2, 0.9, 1.1), *calm])
    assert found is not None
    assert 2 <= found.free < 3
    alone = compare.spread_of([_arm(1.2, 0.9, 1.1), calm[0]])
    assert alone is not None
    assert alone.free == pytest.approx(2)


def test_a_repeat_without_its_partner_is_left_out() -> None:
    """A run that is missing or not ok takes its pair away and nothing else."""
    found = compare.pair(_arm(1.0, 1.0, 1.0), {1: Value(2.0, 1), 3: Value(2.0, 1)})
    assert (found.pairs, found.ratio) == (2, pytest.approx(2.0))


def test_pairs_split_by_a_block_must_agree() -> None:
    """A difference that only the pair across a stop shows is not claimed; one that all show is."""
    before = _arm(100.0, 100.0, 100.0, blocks=(1, 1, 1))
    assert _word(before, _arm(133.0, 131.0, 134.0, blocks=(1, 1, 2))) == "up"
    alone = compare.pair(before, _arm(99.0, 99.0, 200.0, blocks=(1, 1, 2)), compare.Spread(0.001, 4))
    assert (alone.split, alone.apart) == (1, pytest.approx(0.99))
    assert compare.word(alone, FIVE) == "cannot tell"


def test_needed_repeats_would_decide() -> None:
    """With the repeats that are advised, spread and ratio as they were, the interval does not reach the margin."""
    found = compare.pair(_arm(100.0, 100.0, 100.0), _arm(95.0, 104.0, 101.0))
    needed = compare.repeats_needed(found, FIVE)
    assert needed is not None
    rng = np.random.default_rng(1)
    noise = rng.normal(size=needed)
    noise = (noise - noise.mean()) / noise.std(ddof=1) * found.spread
    again = _arm(*(100 * math.exp(math.log(found.ratio or 0) + n) for n in noise))
    assert _word(_arm(*[100.0] * needed), again) == "the same"


@pytest.mark.parametrize("discipline", ["sharing", "fifo"])
def test_simulator_by_hand(discipline: str) -> None:
    """Two requests of 2 ms on half a core with one connection: the second waits for the first, and both take 4 ms."""
    acquired, done = simulator.serve(np.array([0, 1_000_000]), np.array([2e6, 2e6]), 1, 0.5, discipline)
    assert acquired.tolist() == [0, 4_000_000]
    assert done.tolist() == [4_000_000, 8_000_000]


def test_simulated_sharing_slows_both() -> None:
    """Two requests at once on half a core take twice as long as one, and none waits for a connection."""
    acquired, done = simulator.serve(np.array([0, 0]), np.array([2e6, 2e6]), 2, 0.5)
    assert (acquired.tolist(), done.tolist()) == ([0, 0], [8_000_000, 8_000_000])


def test_nothing_is_claimed_where_nothing_is() -> None:
    """Of 24 A/A studies with spreads of 1 to 4 %, drift, dependent requests and bad blocks, at most 1 claims."""
    claiming, kinds = honesty.false_claims(24)
    assert claiming <= 1, kinds


def test_a_third_more_is_found() -> None:
    """A true 33 % at a spread of 2 % is found in nearly every comparison of a study of the main study's size."""
    found = [honesty.words(World(spread=0.02, effect=0.33), seed) for seed in range(5)]
    assert sum(f["found"] for f in found) >= 14
