"""Arrival schedules: what is sent and when is fixed before a run starts, to the nanosecond."""

import hashlib
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from poollab.load import arrivals

SECOND = 1_000_000_000


def _rng(seed: int = 1) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


@pytest.mark.parametrize(
    ("declared", "window_s", "want"),
    [
        ({"uniform": {"every_ms": 250}}, 1, [0, 250, 500, 750]),
        ({"uniform": {"every_ms": 300}}, 1, [0, 300, 600, 900]),
        ({"uniform": {"every_ms": 1000}}, 1, [0]),
        ({"uniform": {"every_ms": 5000}}, 1, [0]),
        ({"uniform": {"every_ms": 12.5}}, 0.05, [0, 12.5, 25, 37.5]),
        ({"bursts": {"size": 3, "every_ms": 400}}, 1, [0, 0, 0, 400, 400, 400, 800, 800, 800]),
        ({"bursts": {"size": 1, "every_ms": 500}}, 1, [0, 500]),
        ({"bursts": {"size": 2, "every_ms": 500}}, 1, [0, 0, 500, 500]),
    ],
)
def test_schedule_by_table(declared: dict[str, Any], window_s: float, want: list[float]) -> None:
    """A declared schedule gives exactly these arrivals, the first at 0 and none at the window's end."""
    assert arrivals.schedule(declared, window_s, _rng()).tolist() == [round(ms * 1e6) for ms in want]


@pytest.mark.parametrize(
    ("declared", "count"),
    [
        ({"uniform": {"every_ms": 5}}, 2400),
        ({"uniform": {"every_ms": 25}}, 480),
        ({"bursts": {"size": 10, "every_ms": 250}}, 480),
    ],
)
def test_main_study_counts(declared: dict[str, Any], count: int) -> None:
    """The main study's 12 s windows hold 2,400, 480 and 480 requests, which make its 30,240."""
    assert len(arrivals.schedule(declared, 12, _rng())) == count


@pytest.mark.parametrize("every_ms", [1 / 3, 0.7, 10 / 7, 0.001])
def test_fractional_gaps_do_not_drift(every_ms: float) -> None:
    """A gap that is no whole number of nanoseconds is still right to half a nanosecond after many arrivals."""
    times = arrivals.uniform(SECOND, every_ms)
    exact = np.arange(len(times)) * (every_ms * 1e6)
    assert np.abs(times - exact).max() <= 0.5


@given(st.floats(0.02, 5000), st.integers(1, 2 * SECOND), st.integers(1, 5))
def test_even_schedules_fill_the_window(every_ms: float, window_ns: int, size: int) -> None:
    """Whatever the gap, arrivals start at 0, rise, stay inside the window, and leave no room for another one."""
    times = arrivals.bursts(window_ns, size, every_ms)
    assert times[0] == 0
    assert times.dtype == np.int64
    assert (np.diff(times) >= 0).all()
    assert times[-1] < window_ns
    # One more instant would lie at or beyond the end (half a nanosecond is the grain).
    assert len(times) // size * every_ms * 1e6 >= window_ns - 0.5
    assert len(times) % size == 0


@pytest.mark.parametrize("per_second", [3, 7, 49, 300, 3000, 70_000])
def test_window_end_is_excluded_for_gaps_that_divide_it(per_second: int) -> None:
    """A gap of 1/n second gives n arrivals in a second: none falls on the window's end by a rounding error."""
    times = arrivals.uniform(SECOND, 1000 / per_second)
    assert len(times) == per_second
    assert times[-1] < SECOND


@given(st.floats(0.5, 5000), st.integers(1, 2 * SECOND), st.integers(0, 2**32))
def test_random_schedules_keep_the_rules(rate_per_s: float, window_ns: int, seed: int) -> None:
    """A random schedule starts at 0, rises, stays inside the window and is the same for the same seed."""
    times = arrivals.poisson(window_ns, rate_per_s, _rng(seed))
    assert times[0] == 0
    assert (np.diff(times) >= 0).all()
    assert times[-1] < window_ns
    assert times.tolist() == arrivals.poisson(window_ns, rate_per_s, _rng(seed)).tolist()


def test_random_gaps_are_exponential() -> None:
    """Drawn gaps follow the exponential law (Kolmogorov-Smirnov) at the declared rate."""
    times = arrivals.poisson(60 * SECOND, 200, _rng(7))
    gaps = np.diff(times) / 1e9
    assert stats.kstest(gaps, "expon", args=(0, 1 / 200)).pvalue > 0.01
    assert abs(len(times) - 12_000) < 5 * 12_000**0.5


def test_an_unknown_schedule_is_no_schedule() -> None:
    """A schedule that nobody knows is an error and not an empty run."""
    with pytest.raises(ValueError, match="steps"):
        arrivals.schedule({"steps": {}}, 1, _rng())


def test_gap_and_first_of_instant() -> None:
    """The gap is between instants, and only the first request of a burst stands for its instant."""
    times = arrivals.bursts(SECOND, 4, 250)
    assert arrivals.gap_ns(times) == 250e6
    assert arrivals.first_of_instant(times).tolist() == [True, False, False, False] * 4
    assert arrivals.gap_ns(times[:4]) == float("inf")
    assert arrivals.first_of_instant(times[:0]).tolist() == []


def test_digest_is_over_schedule_and_arguments() -> None:
    """The recorded hash is SHA-256 over little-endian int64 values, so anybody can compute it again."""
    times, column = np.array([0, 5, 10]), np.array([7, -8, 9])
    want = hashlib.sha256(struct.pack("<6q", 0, 5, 10, 7, -8, 9)).hexdigest()[:16]
    assert arrivals.digest(times, [column]) == want
    assert arrivals.digest(times, [column + 1]) != want
    assert arrivals.digest(times + 1, [column]) != want


def _steps(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"steps": list(parts)}


@pytest.mark.parametrize(
    ("declared", "window_s", "want"),
    [
        ({"uniform": {"rate_per_s": 4}}, 1, [0, 250, 500, 750]),
        ({"uniform": {"share_of_capacity": 0.5}}, 1, [0, 250, 500, 750]),
        ({"bursts": {"size": 2, "rate_per_s": 4}}, 1, [0, 0, 500, 500]),
        ({"batch": {"size": 3}}, 5, [0, 0, 0]),
        (
            _steps({"for_s": 1, "uniform": {"rate_per_s": 2}}, {"for_s": 1, "bursts": {"size": 2, "every_ms": 600}}),
            2,
            [0, 500, 1000, 1000, 1600, 1600],
        ),
        # The integral of 2 + 2 t over t, inverted at 0, 1, 2: t = sqrt(1 + n) - 1.
        (
            {"ramp": {"shape": "uniform", "from_per_s": 2, "to_per_s": 4}},
            1,
            [0, (2**0.5 - 1) * 1000, (3**0.5 - 1) * 1000],
        ),
        ({"ramp": {"shape": "bursts", "size": 2, "from_share": 0.5, "to_share": 0.5}}, 1, [0, 0, 500, 500]),
        # Falling: the integral of 4 - 2 t, inverted at n: t = 2 - sqrt(4 - n).
        (
            {"ramp": {"shape": "uniform", "from_per_s": 4, "to_per_s": 2}},
            1,
            [0, (2 - 3**0.5) * 1000, (2 - 2**0.5) * 1000],
        ),
    ],
)
def test_rates_steps_and_ramps_by_table(declared: dict[str, Any], window_s: float, want: list[float]) -> None:
    """A rate, a share of a capacity of 8/s, steps and ramps give exactly these arrivals."""
    assert arrivals.schedule(declared, window_s, _rng(), 8.0).tolist() == [round(ms * 1e6) for ms in want]


def test_ramp_rises_evenly() -> None:
    """Each tenth of a rising ramp holds what its cumulative rate says, random or not."""
    for shape, slack in (("uniform", 1.0), ("poisson", 5 * 400**0.5)):
        times = arrivals.ramp(10 * SECOND, shape, 1, (100.0, 500.0), _rng(3))
        counts = np.histogram(times, bins=10, range=(0, 10 * SECOND))[0]
        want = [120 + 40 * i for i in range(10)]
        assert np.abs(counts - want).max() <= slack


def test_random_steps_are_poisson_within_each() -> None:
    """Each step of a random schedule has exponential gaps at its own rate, and no arrival is set on a boundary."""
    parts = [{"for_s": 30, "poisson": {"rate_per_s": rate}} for rate in (50, 200)]
    times = arrivals.schedule(_steps(*parts), 60, _rng(5))
    numbers = arrivals.step_numbers(_steps(*parts), times)
    assert numbers is not None
    for number, rate in ((1, 50), (2, 200)):
        mine = times[numbers == number]
        assert abs(len(mine) - 30 * rate) < 5 * (30 * rate) ** 0.5
        assert stats.kstest(np.diff(mine) / 1e9, "expon", args=(0, 1 / rate)).pvalue > 0.01
    assert 30 * SECOND not in times.tolist()


def test_step_numbers_follow_from_the_offset() -> None:
    """A request belongs to the step in which it is scheduled; the boundary belongs to the later one."""
    parts = _steps({"for_s": 1, "uniform": {"every_ms": 5}}, {"for_s": 0.5, "uniform": {"every_ms": 5}})
    times = np.array([0, SECOND - 1, SECOND, SECOND + 1, 2 * SECOND])
    numbers = arrivals.step_numbers(parts, times)
    assert numbers is not None
    assert numbers.tolist() == [1, 1, 2, 2, 2]
    assert arrivals.step_numbers({"uniform": {"every_ms": 5}}, times) is None


@pytest.mark.parametrize(
    ("declared", "want"),
    [
        (_steps({"for_s": 1, "poisson": {"rate_per_s": 2}}), {"poisson": {"rate_per_s": 2}}),
        (
            {"ramp": {"shape": "bursts", "size": 3, "from_share": 0.1, "to_share": 0.9}},
            {"bursts": {"size": 3, "share_of_capacity": 0.1}},
        ),
        ({"batch": {"size": 600}}, {"batch": {"size": 60}}),
        ({"batch": {"size": 3}}, {"batch": {"size": 1}}),
        ({"closed": {"workers": 3}}, {"closed": {"workers": 3}}),
    ],
)
def test_warm_up_is_the_beginning_of_the_schedule(declared: dict[str, Any], want: dict[str, Any]) -> None:
    """The warm-up has the first step's schedule, a ramp's first rate, a tenth of a batch, else the same."""
    assert arrivals.warm_up(declared) == want


def test_rows_of_a_loop_are_bounded() -> None:
    """A loop has room for its rate's bound, or for less where its workers think, and always for each worker's first."""
    assert arrivals.most_of_closed({"workers": 5, "think_ms": 0.0, "max_per_s": 25_000.0}, 4) == 100_000
    assert arrivals.most_of_closed({"workers": 5, "think_ms": 100.0, "max_per_s": 25_000.0}, 4) == 205
    assert arrivals.most_of_closed({"workers": 500, "think_ms": 0.0, "max_per_s": 10.0}, 4) == 500


def test_a_share_without_a_capacity_is_no_rate() -> None:
    """A share of a capacity that nobody measured is an error and not some other rate."""
    with pytest.raises(ValueError, match="capacity that was not measured"):
        arrivals.schedule({"uniform": {"share_of_capacity": 0.5}}, 1, _rng())
