"""Queueing theory: the formulas against simulated queues, for which they are exact."""

import math

import numpy as np
import pytest
from support.simulated import MS, closed_loop

from poollab.stats import theory
from poollab.stats.measured import hold_ns


def poisson(rate_per_s: float, seconds: float, seed: int = 3) -> np.ndarray:
    """Return random arrival times in ns."""
    rng = np.random.default_rng(seed)
    return np.cumsum(rng.exponential(1e9 / rate_per_s, int(rate_per_s * seconds))).astype(np.int64)


@pytest.mark.parametrize(("workers", "size"), [(16, 10), (96, 20), (16, 40), (1, 1)])
def test_closed_loop_reaches_min_of_workers_and_connections(workers: int, size: int) -> None:
    """A simulated closed loop completes min(C, P) / S1 requests a second."""
    window_ns = 4_000 * MS
    found = closed_loop(workers, size, 4 * MS, window_ns)
    rate = (found.released_ns <= window_ns).sum() / 4
    assert rate == pytest.approx(theory.closed_rate_per_s(workers, size, float(hold_ns(found).mean()) / 1e9), rel=0.005)


@pytest.mark.parametrize("load", [0.3, 0.5, 0.8])
def test_replay_agrees_with_md1(load: float) -> None:
    """One connection, random arrivals, a constant hold: the replayed mean wait is that of M/D/1."""
    hold_s = 0.01
    arrivals = poisson(load / hold_s, 4000)
    waits = theory.replay(arrivals, np.full(len(arrivals), 10 * MS), 1)
    assert waits.mean() / 1e9 == pytest.approx(theory.md1_mean_wait_s(load / hold_s, hold_s), rel=0.06)


def test_md1_has_no_wait_at_full_load() -> None:
    """A connection that is busy all the time has an endless queue, and no number stands for it."""
    assert math.isinf(theory.md1_mean_wait_s(100, 0.01))


def test_replay_by_hand() -> None:
    """Three requests at once on two connections: the third waits until the first connection is free."""
    arrivals, holds = np.array([0, 0, 0, 100]), np.array([30, 50, 10, 5])
    assert theory.replay(arrivals, holds, 2).tolist() == [0, 0, 30, 0]


def test_smallest_size_is_the_smallest() -> None:
    """The size that is found meets the target, one connection fewer does not, and what cannot be met is None."""
    arrivals = poisson(400, 20)
    holds = np.full(len(arrivals), 10 * MS)
    (size, tight, never) = theory.smallest_sizes(arrivals, holds, [10 * MS, 0, -1], 0.95, 64)
    assert size is not None
    assert tight is not None
    assert size < tight
    assert never is None
    share = [(theory.replay(arrivals, holds, n) <= 10 * MS).mean() for n in (size - 1, size)]
    assert share[0] < 0.95 <= share[1]
    assert theory.smallest_sizes(np.array([], dtype=np.int64), np.array([], dtype=np.int64), [0], 0.95, 4) == [None]


def test_cpu_ceiling_is_the_tighter_of_two() -> None:
    """Both sides share the CPUs, and one Python process has one CPU at most."""
    assert theory.cpu_ceiling_per_s(2, 50e-6, 50e-6, 1) == pytest.approx(20_000)
    assert theory.cpu_ceiling_per_s(8, 100e-6, 50e-6, 1) == pytest.approx(10_000)
    assert theory.cpu_ceiling_per_s(8, 100e-6, 50e-6, 4) == pytest.approx(40_000)


def test_cpu_ceiling_of_capped_sides() -> None:
    """A side has its cap where that is less than the host, whatever the other side leaves."""
    assert theory.cpu_ceiling_per_s(2, 50e-6, 50e-6, 1, 0.5, None) == pytest.approx(10_000)
    assert theory.cpu_ceiling_per_s(2, 50e-6, 50e-6, 1, None, 0.25) == pytest.approx(5_000)
    assert theory.cpu_ceiling_per_s(2, 50e-6, 50e-6, 1, 16, 16) == pytest.approx(20_000)


@pytest.mark.parametrize(("size", "think_ms"), [(10, 12), (40, 12), (96, 50)])
def test_closed_loop_with_think_time(size: int, think_ms: int) -> None:
    """A simulated loop whose workers think completes min(P / S1, C / (S1 + Z)), from the size on that it needs."""
    found = closed_loop(96, size, 4 * MS, 4_000 * MS, think_ns=think_ms * MS)
    rate = (found.released_ns <= 4_000 * MS).sum() / 4
    assert rate == pytest.approx(theory.closed_rate_per_s(96, size, 0.004, think_ms / 1000), rel=0.02)
    enough = size >= theory.connections_needed(96, 0.004, think_ms / 1000)
    assert enough == (rate < 0.95 * size / 0.004)


def test_without_think_time_a_loop_needs_as_many_connections_as_workers() -> None:
    """No rounding makes a pool of exactly that size too small."""
    assert all(theory.connections_needed(n, 0.0037, 0.0) == n for n in range(1, 200))
