"""The general table of runs for a benchmark: its rate is that of the iterations, and what is not known is blank."""

from typing import Any

import pytest
from support import pools
from support.cells import CAPS, EMPTY

from poollab.data.schemas import SAMPLES
from poollab.stats import collect, summary
from poollab.stats.rows import Rows

#: One second from the first reading of the counters to the last, of which the iterations are 30 ms.
RECORD: dict[str, Any] = {
    **dict.fromkeys(("cell", "workload", "arm", "limits", "reasons", "schedule_hash", "settings_hash"), "x"),
    "repeat": 1,
    "block": 1,
    "status": "ok",
    "started_at": "2026-11-30T12:00:00.000+00:00",
    "window_s": 1.0,
    "pool_size": 2,
    "sessions_before": 2,
    "sessions_after": 2,
    "first_lateness_p99_ns": None,
    "settings": {"client": "asyncpg", "arm": {"size": 200}, "workload": {"benchmark": {}, "arrivals": None}},
    "counters": {
        side: [{**dict.fromkeys(EMPTY), "at_ns": at, "cpu_ns": at // 2} for at in (0, 1_000_000_000)]
        for side in ("database", "generator")
    },
    "caps": {"database": CAPS, "load_generator": CAPS},
    "generator": {"plan": "simple statement"},
    "benchmark": {"iterations": 3, "mean_ns": 10_000_000.0},
}


def test_time_between_iterations_is_in_no_rate() -> None:
    """18 check-outs in 30 ms are 600 a second, though pools were closed and made for the rest of a second."""
    samples = collect.frame(SAMPLES.empty_table())
    row = summary.run_row(RECORD, Rows.of(pools.requests(3)), samples, 1)
    assert row["achieved_per_s"] == pytest.approx(600)
    assert row["observed_s"] == pytest.approx(0.03)
    assert row["offered_per_s"] is None
    assert [row[f"{side}_{name}"] for side in ("database", "generator") for name in ("cpu_cores", "cpu_of_cap")] == [
        None
    ] * 4


def test_all_connections_are_those_of_the_row() -> None:
    """With two connections held at once a third caller has waited, however many the arm may have in other rows."""
    assert summary.own_pool(RECORD) == 2
    assert summary.own_pool({k: v for k, v in RECORD.items() if k != "benchmark"}) == 200
