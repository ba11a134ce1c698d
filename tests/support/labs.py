"""Real embedded labs for tests, always removed again."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import psycopg

from poollab.data import store
from poollab.data.schemas import REQUESTS
from poollab.lab import place, seeding
from poollab.lab.base import Caps
from poollab.lab.embedded import EmbeddedLab
from poollab.run.cell import Plan, about, measure
from poollab.run.guard import Guard, Thresholds
from poollab.stats.collect import frame

HALF = Caps(5_000, 10_000, 256 * 2**20)
SETTINGS = {"max_connections": "40", "shared_buffers": "16MB", "max_parallel_workers_per_gather": "0"}


@contextmanager
def running(rows: int = 2000) -> Iterator[EmbeddedLab]:
    """Start a server with one table and remove it afterwards, whatever happened."""
    lab = EmbeddedLab.new(place.Owner.this_process())
    try:
        lab.start(lambda _record: None, SETTINGS, 16)
        lab.set_caps(HALF, HALF)
        seeding.seed(lab.admin_dsn(), {"pool_lab": rows})
        yield lab
    finally:
        lab.remove()


def capped(lab: EmbeddedLab) -> bool:
    """Tell whether this lab has groups of its own; without them it measures uncapped."""
    return lab.record.detail["group"] is not None


def guard(lab: EmbeddedLab, **limits: float) -> Guard:
    """Return a guard that minds nothing but `limits`: who else works on a test's machine is no part of the test."""
    wide: dict[str, Any] = {
        "other_cpu": 100.0,
        "runnable_per_cpu": 1e6,
        "steal": 100.0,
        "min_available_mib": 0,
        "min_free_disk_mib": 0,
        "max_temperature_c": 1e6,
        "window_s": 2.0,
        "calm_within_s": 0.0,
    }
    return Guard(Thresholds(**(wide | limits)), [lab.database_counters()], [Path(lab.record.folder)])


def record_of(lab: EmbeddedLab, plan: Plan, out: Path) -> dict[str, Any]:
    """Measure a cell; return its record."""
    return measure(lab, plan, out, 1, guard(lab), enforced=capped(lab))


def run(lab: EmbeddedLab, plan: Plan, out: Path) -> tuple[dict[str, Any], pd.DataFrame]:
    """Measure a cell; return its record and its requests."""
    record = record_of(lab, plan, out)
    return record, frame(store.read_parquet(out / "requests.parquet", REQUESTS, **about(plan)))


def words(record: dict[str, Any]) -> set[str]:
    """Return a run's status words without those that a busy test machine may cause in any run."""
    return set(record["status"].split("+")) - {"ok", "generator-late", "host-busy"}


def waited_ns(rows: pd.DataFrame) -> "pd.Series[int]":
    """Return the overall time of each request that ended, from its scheduled time."""
    return (rows["released_ns"] - rows["scheduled_ns"]).dropna()


def sessions_of(lab: EmbeddedLab) -> int:
    """Count the load generator's sessions by asking the server itself."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE usename = %s"
    with psycopg.connect(lab.admin_dsn(), autocommit=True) as connection:
        row = connection.execute(query, [seeding.ROLE]).fetchone()
    return int(row[0]) if row else 0
