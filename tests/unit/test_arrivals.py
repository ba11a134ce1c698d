"""Arrival schedules: what is sent and when is fixed before a run starts, to the nanosecond."""

import hashlib
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from support.studies import study

from poollab.load import arrivals
from poollab.load.draw import draw

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


def _workload(name: str = "light", arrival: dict[str, Any] | None = None) -> dict[str, Any]:
    declared = arrival or {"poisson": {"rate_per_s": 300.0}}
    return {"name": name, "arrivals": declared, "args": [{"int": (1, 20_000)}, {"int": (-5, -5)}]}


def test_stimulus_depends_on_study_workload_repeat_and_phase_alone() -> None:
    """Every arm is sent the same; another study, workload, repeat or phase is sent something else."""
    same = draw("s", _workload(), 1, "measure", 2).digest
    assert draw("s", _workload(), 1, "measure", 2).digest == same
    others = [
        draw("t", _workload(), 1, "measure", 2),
        draw("s", _workload("heavy"), 1, "measure", 2),
        draw("s", _workload(), 2, "measure", 2),
        draw("s", _workload(), 1, "warm-up", 2),
    ]
    assert len({same, *(other.digest for other in others)}) == 5


def test_names_cannot_run_into_each_other() -> None:
    """Study `a` with workload `b-1` and study `a-b` with workload `1` do not share their draws."""
    assert draw("a", _workload("bc"), 1, "measure", 1).digest != draw("ab", _workload("c"), 1, "measure", 1).digest
    assert draw("a", _workload("b1"), 1, "measure", 1).digest != draw("a", _workload("b"), 11, "measure", 1).digest


@given(st.integers(-(2**31), 2**31 - 1), st.integers(0, 1000))
def test_arguments_stay_in_their_closed_range(low: int, width: int) -> None:
    """Each argument lies in its declared range, both ends included."""
    high = min(low + width, 2**31 - 1)
    workload = {"name": "w", "arrivals": {"uniform": {"every_ms": 1.0}}, "args": [{"int": (low, high)}]}
    (column,) = draw("s", workload, 1, "measure", 0.2).args
    assert len(column) == 200
    assert low <= column.min() <= column.max() <= high


def test_both_ends_of_a_range_are_drawn() -> None:
    """A range of two values gives both: the upper end is no exclusive bound."""
    workload = {"name": "w", "arrivals": {"uniform": {"every_ms": 1.0}}, "args": [{"int": (1, 2)}]}
    (column,) = draw("s", workload, 1, "measure", 0.2).args
    assert set(column.tolist()) == {1, 2}


@pytest.mark.parametrize(
    "arrival",
    [{"uniform": {"every_ms": 1000 / 3}}, {"bursts": {"size": 4, "every_ms": 300}}, {"uniform": {"every_ms": 5}}],
)
def test_the_announced_number_of_requests_is_sent(arrival: dict[str, Any]) -> None:
    """What the study says it will send in a window is what the schedule holds."""
    made = study({"workloads.light.arrivals": arrival, "windows.measure_s": 7})
    assert made.expected_requests("light") == len(arrivals.schedule(arrival, 7, _rng()))
