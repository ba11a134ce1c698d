"""CPU, throttling and memory of a run: increases over the observed time, and what is missing stays missing."""

from typing import Any

import pandas as pd
import pytest

from poollab.lab.base import Counters
from poollab.stats import usage

NAMES = [name for name in Counters.__slots__ if name != "at_ns"]
HALF = {"quota_us": 5000, "period_us": 10_000, "memory_bytes": None}
OPEN = {"quota_us": None, "period_us": 100_000, "memory_bytes": None}


def _reading(at_ns: int, **values: int) -> dict[str, Any]:
    return {"at_ns": at_ns, **dict.fromkeys(NAMES), **values}


def _samples(**columns: list[Any]) -> pd.DataFrame:
    count = len(next(iter(columns.values()), [None]))
    names = [f"{side}_{n}_bytes" for side in usage.SIDES for n in ("memory", "anon", "file", "shmem", "kernel")]
    return pd.DataFrame({n: pd.array(columns.get(n, [None] * count), dtype="Int64") for n in names})


def _record(start: dict[str, Any], end: dict[str, Any], caps: dict[str, Any] = HALF) -> dict[str, Any]:
    return {
        "counters": {"database": [start, end], "generator": [start, end]},
        "caps": {"database": caps, "load_generator": caps},
    }


def test_increases_over_the_observed_time() -> None:
    """CPU is the increase over the time between the two readings, and throttling that of the same time."""
    start = _reading(10**9, cpu_ns=7 * 10**9, periods=100, throttled=50, throttled_ns=10**9, memory_bytes=1000)
    end = _reading(3 * 10**9, cpu_ns=75 * 10**8, periods=300, throttled=100, throttled_ns=25 * 10**8, memory_bytes=9)
    found = usage.of_run(_record(start, end), _samples())
    assert found["database_cpu_cores"] == 0.25
    assert found["database_cap_cores"] == 0.5
    assert found["database_cpu_of_cap"] == 0.5
    assert (found["database_periods"], found["database_throttled"]) == (200, 50)
    assert found["database_throttle_ratio"] == 0.25
    assert found["database_throttled_s"] == 1.5
    assert found["database_memory_start_bytes"] == 1000


def test_absent_counters_are_missing_and_not_zero() -> None:
    """A kernel without throttle counters or memory values gives no number, where 0 would read as never throttled."""
    found = usage.of_run(_record(_reading(0, cpu_ns=0), _reading(10**9, cpu_ns=10**8)), _samples())
    assert found["database_cpu_cores"] == 0.1
    for name in ("periods", "throttled", "throttle_ratio", "throttled_s", "memory_start_bytes", "memory_mean_bytes"):
        assert found[f"database_{name}"] is None


def test_a_real_zero_stays_zero() -> None:
    """A run that was never throttled says 0 of its periods."""
    start = _reading(0, periods=5, throttled=3, throttled_ns=0)
    found = usage.of_run(_record(start, {**start, "at_ns": 10**9, "periods": 8}), _samples())
    assert [found[f"database_{name}"] for name in ("throttled", "throttle_ratio", "throttled_s")] == [0, 0.0, 0.0]


def test_an_idle_group_has_no_throttle_ratio() -> None:
    """Where no period was active there is nothing to divide by."""
    start = _reading(0, periods=5, throttled=3)
    assert usage.of_run(_record(start, {**start, "at_ns": 10**9}), _samples())["database_throttle_ratio"] is None


def test_an_uncapped_side_has_no_share_of_a_cap() -> None:
    """Without a cap the CPU use is in cores only."""
    found = usage.of_run(_record(_reading(0, cpu_ns=0), _reading(10**9, cpu_ns=10**9), OPEN), _samples())
    assert [found[f"generator_{name}"] for name in ("cap_cores", "cpu_of_cap", "cpu_cores")] == [None, None, 1.0]


def test_memory_is_mean_and_maximum_of_samples() -> None:
    """Memory comes from the samples of the window, and page cache is file without the server's shared buffers."""
    samples = _samples(
        database_memory_bytes=[100, 200, None, 600],
        database_file_bytes=[50, 70, None, 90],
        database_shmem_bytes=[20, 20, None, 20],
    )
    found = usage.of_run(_record(_reading(0), _reading(10**9)), samples)
    assert (found["database_memory_mean_bytes"], found["database_memory_max_bytes"]) == (300.0, 600)
    assert found["database_page_cache_mean_bytes"] == 50.0
    assert found["database_anon_mean_bytes"] is None


def _runs(**columns: list[Any]) -> pd.DataFrame:
    base: dict[str, list[Any]] = {}
    for side in usage.SIDES:
        for name in ("cap_cores", "cpu_cores", "throttled_s"):
            base[f"{side}_{name}"] = [0.5, 0.5]
        for name in ("periods", "throttled", *(f"{n}_bytes" for n in ("memory_start", "memory_mean", "memory_max"))):
            base[f"{side}_{name}"] = [10, 10]
        for name in ("anon", "shmem", "kernel", "page_cache"):
            base[f"{side}_{name}_mean_bytes"] = [None, None]
    return pd.DataFrame({"observed_s": [1.0, 3.0], **base, **columns})


def test_pooled_cpu_is_weighted_by_time() -> None:
    """A run observed three times as long counts three times in a condition's CPU use."""
    found = usage.pooled(_runs(database_cpu_cores=[0.1, 0.3]))
    assert found["database_cpu_cores"] == pytest.approx(0.25)
    assert found["database_cpu_of_cap"] == pytest.approx(0.5)


def test_pooled_throttling_adds_up() -> None:
    """A condition's throttle ratio is over all its periods, not the mean of the runs' ratios."""
    found = usage.pooled(_runs(database_periods=[10, 90], database_throttled=[10, 0]))
    assert found["database_throttle_ratio"] == 0.1


def test_pooled_throttling_is_missing_where_a_run_lacks_it() -> None:
    """One run without the counter makes the sum unknown rather than too small."""
    found = usage.pooled(_runs(database_throttled=pd.array([10, None], dtype="Int64")))
    assert found["database_throttled"] is None
    assert found["database_throttle_ratio"] is None
