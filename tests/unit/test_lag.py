"""The lag of a run that did not keep its rate: what it was over time, and how fast it grew."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support import simulated

from poollab.stats import lag
from poollab.stats.rows import ABSENT

RUN: dict[str, Any] = dict.fromkeys(("cell", "workload", "arm", "limits", "repeat", "status"), "x")


def test_the_growth_of_a_queue_is_its_slope() -> None:
    """A server at half the rate falls behind by half a second in each second, whatever the first requests took."""
    scheduled = np.arange(1000, dtype=np.int64) * 10_000_000
    served = np.arange(1, 1001, dtype=np.int64) * 20_000_000
    found = lag.build(simulated.rows(scheduled, trip=served - scheduled, release=0), RUN, 10.0)
    # Request n is due at 10 n ms and answered at 20 (n + 1) ms.
    assert found["growth_ms_per_s"] == pytest.approx(1000.0, rel=1e-6)
    assert found["median_ns"][0] < found["median_ns"][-1]
    assert len(found["median_ns"]) == len(found["max_ns"]) == lag.BINS
    assert found["max_ns"][-1] == 20_000_000 * 1000 - scheduled[-1]
    assert found["unended"] == 0


def test_requests_that_never_ended_are_counted_and_in_no_lag() -> None:
    """A request without an end has no lag; a bin of nothing but such requests is empty and not zero."""
    scheduled = np.arange(240, dtype=np.int64) * 10_000_000
    rows = simulated.rows(scheduled, trip=5_000_000)
    cut = np.arange(240) >= 230
    rows = replace(
        rows, released_ns=np.where(cut, ABSENT, rows.released_ns), result_ns=np.where(cut, ABSENT, rows.result_ns)
    )
    found = lag.build(rows, RUN, 2.4)
    assert found["unended"] == 10
    assert found["median_ns"][-1] is None
    assert found["growth_ms_per_s"] == pytest.approx(0.0, abs=1e-6)


def test_one_request_has_no_growth() -> None:
    """A line needs two requests at two times."""
    assert lag.build(simulated.rows(np.zeros(3, dtype=np.int64)), RUN, 1.0)["growth_ms_per_s"] is None
