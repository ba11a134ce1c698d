"""A wall clock that is set back during a run: noted, and of no effect on any interval or order."""

import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from support import labs, studies

from poollab.lab.embedded import EmbeddedLab
from poollab.run import cell
from poollab.stats import collect

LIGHT = "SELECT balance FROM pool_lab WHERE id = $1"


@pytest.mark.parametrize("step_s", [-30.0, 0.0])
def test_a_stepped_clock_is_noted_and_changes_no_interval(
    lab: EmbeddedLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step_s: float
) -> None:
    """A wall clock set back by 30 s during the window stands in the record; every request is there, none negative."""
    lab.set_caps(labs.HALF, labs.HALF)
    readings = []

    def wall() -> float:
        readings.append(time.time() + (step_s if readings else 0.0))
        return readings[-1]

    # The measuring process's own view of the clock; the machine's is not touched.
    steady = {name: getattr(time, name) for name in ("sleep", "monotonic", "monotonic_ns")}
    monkeypatch.setattr(cell, "time", SimpleNamespace(time=wall, **steady))
    plan = studies.one_cell(LIGHT, {"uniform": {"every_ms": 10}})
    record, rows = labs.run(lab, plan, tmp_path)
    assert len(readings) == 2
    assert record["host"]["clock_stepped_s"] == step_s
    assert rows["request"].tolist() == list(range(100))
    assert (labs.waited_ns(rows) > 0).all()
    assert labs.words(record) == set(), record["reasons"]


def test_order_does_not_follow_the_wall_clock() -> None:
    """Runs of one block stand in the order of their monotonic zeros, although the wall clock was set back between."""
    first = {"block": 1, "zero_ns": 5_000, "started_at": "2026-01-01T00:00:30.000+00:00"}
    second = {"block": 1, "zero_ns": 9_000, "started_at": "2026-01-01T00:00:01.000+00:00"}
    # After a reboot the monotonic clock starts again: the block comes first.
    third = {"block": 2, "zero_ns": 1_000, "started_at": "2026-01-01T00:00:00.000+00:00"}
    assert sorted([third, second, first], key=collect._executed) == [first, second, third]
