"""A closed loop against a real server is as fast as theory says: min(C, P) / S1, where CPU is no limit."""

from pathlib import Path
from typing import Any

from support import labs, studies

from poollab.lab.embedded import EmbeddedLab
from poollab.run.cell import Plan
from poollab.stats import in_use, theory
from poollab.stats.measured import hold_ns
from poollab.stats.rows import Rows

WINDOW_S = 1.5


def _plan(workers: int, size: int) -> Plan:
    work = {"sql": "SELECT pg_sleep(0.01)", "args": [], "arrivals": {"closed": {"workers": workers}}}
    changes: dict[str, Any] = {"database.limits": {}, "load_generator.limits": {}, "pools": [size]}
    windows = {"warm_up_s": 0.2, "measure_s": WINDOW_S}
    (plan,) = studies.plans({**changes, "workloads": {"work": work}, "windows": windows}).values()
    return plan


def _rows(lab: EmbeddedLab, out: Path, workers: int, size: int) -> Rows:
    import pyarrow.parquet as pq  # noqa: PLC0415 - beside the frame that labs.run gives

    labs.run(lab, _plan(workers, size), out)
    return Rows.of(pq.read_table(out / "requests.parquet"))


def test_a_closed_loop_reaches_the_theory(lab: EmbeddedLab, tmp_path: Path) -> None:
    """Eight workers on two connections complete twice what one connection does, and keep both in use all the time."""
    alone = _rows(lab, tmp_path / "alone", 1, 1)
    both = _rows(lab, tmp_path / "both", 8, 2)
    s1_s = float(hold_ns(alone.where(alone.ok)).mean()) / 1e9
    window_ns = round(WINDOW_S * 1e9)
    rate = int((both.released_ns[both.ok] <= window_ns).sum()) / WINDOW_S
    assert 0.85 <= rate / theory.closed_rate_per_s(8, 2, s1_s) <= 1.1
    level = in_use.level(in_use.held(both), 0, window_ns)
    assert level.peak == 2
    assert level.share_above(1) > 0.9
