"""What is found on the machine before the first cell: asked for only where needed, kept, and never mixed."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.studies import data, plans, study

from poollab.data import store
from poollab.errors import ConfigError, DataError, IdentityError, LabError
from poollab.report import calibrated
from poollab.session import calibrate, plan_file
from poollab.session.argument import search
from poollab.session.opening import opening, shape
from poollab.session.paths import Paths
from poollab.stats.calibrated import same_calibration
from poollab.study.files import parse
from poollab.study.machine import Safety
from poollab.study.model import Study

ASKED: dict[str, Any] = {"cpu_ms": 6.2, "from": 100, "to": 14_000}


class Cost:
    """A statement whose cost is a straight line, or bent, in its argument; counts how often it was asked."""

    def __init__(self, base_ns: float, each_ns: float, bend: float = 0.0) -> None:
        self.base_ns, self.each_ns, self.bend, self.asked = base_ns, each_ns, bend, 0

    def __call__(self, value: int) -> float:
        self.asked += 1
        return self.base_ns + self.each_ns * value * (1 + self.bend * value / 14_000)


@pytest.mark.parametrize("bend", [0.0, 0.5, 3.0])
def test_the_value_is_found_in_few_tries(bend: float) -> None:
    """Whether cost rises evenly or ever faster, the value costs what is asked within 3 % after few measurements."""
    cost = Cost(50_000, 500, bend)
    found = search(cost, ASKED, "s: workloads.w.args")
    assert abs(Cost(50_000, 500, bend)(found["value"]) / 6.2e6 - 1) <= 0.03
    assert found["cpu_ms"] == pytest.approx(6.2, rel=0.03)
    assert cost.asked == len(found["tries"]) <= 10


@pytest.mark.parametrize(
    ("cost", "parts"),
    [
        (Cost(0, 100), ["cpu_ms = 6.2 is out of reach", "even to = 14000 costs 1.4 ms", "raise to"]),
        (Cost(9e6, 1), ["cpu_ms = 6.2 is out of reach", "even from = 100 costs 9 ms", "raise cpu_ms"]),
    ],
)
def test_what_this_machine_cannot_reach_is_refused_with_what_it_can(cost: Cost, parts: list[str]) -> None:
    """A range that holds no such cost is a fault of the study on this machine, said with the cost at its end."""
    with pytest.raises(ConfigError) as caught:
        search(cost, ASKED, "s: workloads.w.args")
    assert all(part in str(caught.value) for part in parts)


def test_a_cost_that_jumps_over_what_is_asked_is_refused() -> None:
    """Where no value comes within 10 %, the nearest is named and nothing is taken silently."""
    with pytest.raises(ConfigError, match=r"cpu_ms = 6\.2 is not reached: the nearest value"):
        search(lambda value: 3e6 if value < 5_000 else 12e6, ASKED, "s: workloads.w.args")


SHARE = {"workloads.light.arrivals": {"poisson": {"share_of_capacity": 0.5}}}


def test_a_capacity_is_one_for_all_arms_repeats_and_limits_of_a_request() -> None:
    """Every cell of a workload, and another workload with the same request, takes its rate from one capacity."""
    more = {
        "repeats": 2,
        "limits": {"a": {}, "b": "none"},
        "workloads.other": {"same": "light", "arrivals": {"uniform": {"share_of_capacity": 0.2}}},
        "workloads.fixed": {"same": "light", "arrivals": {"uniform": {"every_ms": 9}}},
    }
    keys = {name: calibrate.capacity_key(plan.settings) for name, plan in plans({**SHARE, **more}).items()}
    assert len({key for name, key in keys.items() if not name.startswith("fixed")}) == 1
    assert {key for name, key in keys.items() if name.startswith("fixed")} == {""}


@pytest.mark.parametrize(
    "change",
    [
        {"calibration": {"seconds": 9}},
        {"database.limits.cpus": 0.3},
        {"workloads.light.args": [{"int": [1, 9]}]},
        {"database.tables": {"pool_lab": {"rows": 3000}}},
    ],
    ids=["rules", "cap", "request", "table"],
)
def test_a_capacity_of_something_else_is_not_taken(change: dict[str, Any]) -> None:
    """Another rule, cap, request or table is another capacity."""
    ours, theirs = (plans({**SHARE, **more})["light.pool-1.r1"].settings for more in ({}, change))
    assert calibrate.capacity_key(ours) != calibrate.capacity_key(theirs)


def test_a_cell_takes_what_was_found(tmp_path: Path) -> None:
    """A cell's plan holds the capacity that state/calibration.json keeps for it, and without it no cell is run."""
    paths, plan = Paths(tmp_path), plans(SHARE)["light.pool-1.r1"]
    plain = plans()["light.pool-1.r1"]
    assert calibrate.of_plan(paths, plain).calibration == {}
    with pytest.raises(LabError, match="holds no calibration"):
        calibrate.of_plan(paths, plan)
    (tmp_path / "state").mkdir()
    found = {calibrate.capacity_key(plan.settings): {"capacity_per_s": 1234.0}}
    store.write_json(paths.calibration, {"found": found})
    assert calibrate.of_plan(paths, plan).calibration == {"capacity_per_s": 1234.0}


def test_runs_of_two_calibrations_are_refused() -> None:
    """Two runs of a workload that were sent rates of two capacities are never averaged."""
    run = {"cell": "w.a.r1", "workload": "w", "calibration": {"capacity_per_s": 100.0}}
    other = {**run, "cell": "w.b.r1"}
    same_calibration([run, other, {"cell": "v.a.r1", "workload": "v"}])
    with pytest.raises(DataError, match=r"w\.a\.r1 and w\.b\.r1 were measured with different calibrations"):
        same_calibration([run, {**other, "calibration": {"capacity_per_s": 120.0}}])


class _Session:
    """What the paragraph reads of a session."""

    def __init__(self, made: Study, changes: dict[str, Any], measured: int = 0) -> None:
        self.study, self.name, self.plans = made, "my-study", plans(changes)
        self.missing = list(self.plans)[measured:]


@pytest.mark.parametrize(
    ("changes", "want"),
    [
        ({}, "1 workload x 2 pools x 1 repeat"),
        ({"limits": {"a": {}, "b": "none"}, "repeats": 2}, "1 workload x 2 pools x 2 limits x 2 repeats"),
        ({"pools": None, "arms": {"a": {"size": 2}, "b": {"size": 2}}}, "1 workload x 2 arms x 1 repeat"),
        (
            {
                "workloads.b": {"sql": "SELECT 1", "arrivals": {"batch": {"size": 9}}, "only": ["pool-1"]},
                "workloads.light.only": ["pool-1", "pool-3"],
            },
            "3 conditions of 2 workloads and 2 pools x 1 repeat",
        ),
    ],
)
def test_the_paragraph_counts_cells_of_every_kind_of_study(changes: dict[str, Any], want: str) -> None:
    """How the cells come about is said rightly for pools, arms, limits, and workloads that meet some arms only."""
    assert shape(study(changes)) == want


def test_the_paragraph_names_clients_caps_levels_and_calibration() -> None:
    """A study of several clients and levels, with rates as shares, says so before it starts."""
    changes = {
        **SHARE,
        "pools": None,
        "arms": {"a": {"size": 2}, "b": {"size": 2, "client": "psycopg-threads"}},
        "limits": {"quota": {}, "free": "none"},
    }
    text = opening(_Session(study(changes), changes, measured=1), ("embedded", "because")).splitlines()
    assert text[0] == "Poollab: Does it work?"
    assert text[1] == (
        "Study my-study: 4 cells (1 workload x 2 arms x 2 limits x 1 repeat), 1 measured already, 3 to go."
    )
    assert text[2].startswith("Lab: embedded (because). Clients: asyncpg, psycopg-threads. Caps compared: quota: ")
    assert text[2].endswith("; free: none.")
    assert "closed loop of 3 s" in text[3]
    assert text[4].startswith("Expected: about ")


def test_a_calibrated_statement_is_checked_like_any_other() -> None:
    """A study with a calibrated argument is read from plain values as it is written."""
    args = [{"int": [1, 9]}, {"calibrated": ASKED}]
    made = parse(Study, data({"workloads.light.sql": "SELECT $1::int, $2::int", "workloads.light.args": args}), "test")
    assert made.workload("light").steps[0].query is not None


def test_the_report_says_what_was_found() -> None:
    """Capacity and argument stand in the environment table with how they were found; a busy run is said."""
    capacity = {
        "kind": "capacity",
        "workload": "rising",
        "capacity_per_s": 1890.0,
        "arm": "two-of-8",
        "connections": 16,
        "workers": 32,
        "seconds": 5.0,
        "status": "host-busy",
    }
    argument = {
        "kind": "argument",
        "workload": "heavy",
        "argument": "$2",
        "value": 12550,
        "cpu_ms": 6.049,
        "asked_ms": 6.2,
    }
    text = str(calibrated.rows({"calibration": [capacity, argument]}))
    assert "1,890 requests/s, by 32 workers on 16 connections of two-of-8 for 5 s (that run: host-busy)" in text
    assert "$2 of heavy" in text
    assert "12,550, which costs 6.05 ms" in text
    assert calibrated.rows({}) == []


def _measured_with(tmp_path: Path, capacity_per_s: float) -> tuple[Paths, dict[str, Any]]:
    """Leave a run that took its rate from a capacity; return its paths and the plans of its workload."""
    paths, made = Paths(tmp_path), plans(SHARE)
    record = {"study": "test", "cell": "light.pool-1.r1", "calibration": {"capacity_per_s": capacity_per_s}}
    store.write_json(paths.run_record("light.pool-1.r1"), record)
    return paths, {"light": list(made.values())}


def test_a_lost_calibration_is_not_found_anew(tmp_path: Path) -> None:
    """Where runs rest on a capacity that is lost or was replaced, another would be another load: nothing is run."""
    paths, by_workload = _measured_with(tmp_path, 1234.0)
    with pytest.raises(IdentityError, match=r"does not hold what cell light\.pool-1\.r1 was measured with"):
        calibrate._kept(paths, by_workload)
    store.write_bytes(paths.calibration, b'{"found": {"')
    with pytest.raises(IdentityError, match=r"Put the file back"):
        calibrate._kept(paths, by_workload)
    key = calibrate.capacity_key(by_workload["light"][0].settings)
    store.write_json(paths.calibration, {"found": {key: {"capacity_per_s": 99.0}}})
    with pytest.raises(IdentityError, match=r"1234"):
        calibrate._kept(paths, by_workload)
    store.write_json(paths.calibration, {"found": {key: {"capacity_per_s": 1234.0}}})
    assert calibrate._kept(paths, by_workload)[key] == {"capacity_per_s": 1234.0}


def test_the_capacity_counts_requests_by_their_end() -> None:
    """A request that goes on after its release, or takes no connection, counts when it has ended, not before."""
    rows = pa.table(
        {
            "status": ["ok"] * 4,
            "released_ns": pa.array([10, None, 10, 10], pa.int64()),
            "ended_ns": pa.array([None, 20, 3 * 10**9, 30], pa.int64()),
        }
    )
    assert calibrate._achieved(rows, {"workload": "w", "reasons": ""}, 1.0) == 3.0


def test_a_capacity_of_a_doubtful_run_is_said_to_be_so() -> None:
    """What a busy host made of the capacity is in the line that names it."""
    entry = {"capacity_per_s": 50.0, "workers": 4, "connections": 2, "seconds": 3.0, "status": "host-busy"}
    assert "host-busy" in calibrate._capacity_line("w", entry)
    assert "not ok" not in calibrate._capacity_line("w", {**entry, "status": "ok"})


class _Lab:
    """A lab of which only the counters are asked for."""

    class record:  # noqa: N801 - stands for an attribute
        folder = "."

    def database_counters(self) -> None:
        """Return what the guard in this test does not look at."""

    def set_caps(self, *_: object) -> None:
        """Cap nothing."""


def test_every_capacity_is_guarded_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A load generator that has ended has no counters any more, so the next capacity has a guard without it."""
    guards = []

    class Guard:
        def __init__(self, *_: object) -> None:
            self.ours: list[object] = []
            guards.append(self)

        def wait_until_calm(self, _say: object) -> None:
            assert self.ours == []
            self.ours.append("a load generator that has ended")

    monkeypatch.setattr(calibrate, "Guard", Guard)
    found = {"capacity_per_s": 50.0, "workers": 4, "connections": 2, "seconds": 3.0, "status": "ok"}
    monkeypatch.setattr(calibrate, "_capacity", lambda *_, **__: found)
    other = {"sql": "SELECT 1", "arrivals": {"uniform": {"share_of_capacity": 0.2}}}
    made = plans({**SHARE, "workloads.other": other})
    session = {
        "planned": list(made),
        "cells": {name: {slot: getattr(plan, slot) for slot in plan_file.SLOTS} for name, plan in made.items()},
        "safety": Safety().model_dump(mode="json"),
        "study": {"file": "s.yaml"},
    }
    lab: Any = _Lab()
    lines = calibrate.calibrate(lab, session, Paths(tmp_path), 1, print, enforced=False)
    assert len(lines) == len(guards) == 2
    assert calibrate.calibrate(lab, session, Paths(tmp_path), 2, print, enforced=False) != []  # no run rests on it yet


@pytest.mark.parametrize(("windows", "key"), [((1, 3000), "measure_s"), ((3000, 1), "warm_up_s")])
def test_a_window_that_the_capacity_makes_too_full_is_refused(windows: tuple[int, int], key: str) -> None:
    """What a share of the capacity comes to is known only here, for the measurement and for the warm-up."""
    plan = plans({**SHARE, "windows": {"warm_up_s": windows[0], "measure_s": windows[1]}})["light.pool-1.r1"]
    found = {calibrate.capacity_key(plan.settings): {"capacity_per_s": 9000.0}}
    with pytest.raises(LabError, match=rf"13500000 requests; at most 2000000; lower the shares or windows\.{key}"):
        calibrate._room(plan, found)
