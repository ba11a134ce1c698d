"""A cell's line: a p99 stands there only where requests lie beyond it, and few of them are marked."""

from pathlib import Path

import numpy as np
import pytest
from support import columns

from poollab.data import store
from poollab.load.rows import OK
from poollab.run import tables
from poollab.session import cell, terminal
from poollab.session.paths import Paths

RECORD = {"workload": "light", "arm": "pool-3", "limits": "", "repeat": 1, "status": "ok", "reasons": ""}
MS = 1_000_000


@pytest.mark.parametrize(
    ("p99_ns", "beyond", "said"),
    [
        (12_340_000, 0, "p99       -  ok"),
        (None, 0, "p99       -  ok"),
        (12_340_000, 1, "p99   12.34 ms \u25cb  ok"),
        (12_340_000, 9, "p99   12.34 ms \u25cb  ok"),
        (12_340_000, 10, "p99   12.34 ms  ok"),
    ],
)
def test_the_p99_says_what_it_rests_on(p99_ns: int | None, beyond: int, said: str) -> None:
    """With none beyond there is no p99, with fewer than ten it carries the report's mark."""
    assert said in terminal.cell_line(1, 4, {**RECORD, "overall_p99_ns": p99_ns}, beyond, 60)


def test_a_benchmarks_line_has_its_mean() -> None:
    """A benchmark is told by the mean of its iterations."""
    record = {**RECORD, "overall_p99_ns": MS, "benchmark": {"mean_ns": 2.5e6}}
    assert "mean     2.50 ms  ok" in terminal.cell_line(1, 4, record, 0, 60)


@pytest.mark.parametrize(
    ("count", "failed", "beyond"), [(20, 0, 0), (99, 0, 0), (100, 0, 1), (1000, 1, 9), (1010, 10, 10)]
)
def test_only_requests_with_status_ok_count(tmp_path: Path, count: int, failed: int, beyond: int) -> None:
    """The support of a run's p99 is counted over the requests that it is of."""
    made = columns.served(columns.every(MS, count))
    made["status"][np.arange(failed)] = OK + 1
    store.write_parquet(tmp_path / "cells" / "c" / "requests.parquet", tables.requests(made, [100, 101, 102], {}))
    assert cell._beyond_p99(Paths(tmp_path), {"cell": "c", "overall_p99_ns": MS}) == beyond
