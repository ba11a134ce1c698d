"""Everything that is drawn for a run comes from (study, workload, repeat) alone, the same for every arm."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.studies import plans, study

from poollab.errors import MeasurementError
from poollab.load import arrivals
from poollab.load.draw import Stimulus, draw
from poollab.run.spec import write_spec

EACH_MS: dict[str, Any] = {"uniform": {"every_ms": 1.0}}


def _query(*args: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"query": {"sql": "SELECT 1", "args": list(args), **more}}


def _workload(name: str = "light", *steps: dict[str, Any], arrival: dict[str, Any] | None = None) -> dict[str, Any]:
    asked = steps or (_query({"int": (1, 20_000)}, {"int": (-5, -5)}),)
    return {"name": name, "arrivals": arrival or {"poisson": {"rate_per_s": 300.0}}, "request": list(asked)}


def _drawn(*steps: dict[str, Any], window_s: float = 1.0) -> Stimulus:
    return draw("s", _workload("w", *steps, arrival=EACH_MS), 1, "measure", window_s)


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
    (column,) = _drawn(_query({"int": (low, high)}), window_s=0.2).args
    assert len(column) == 200
    assert low <= column.min() <= column.max() <= high


def test_both_ends_of_a_range_are_drawn() -> None:
    """A range of two values gives both: the upper end is no exclusive bound."""
    (column,) = _drawn(_query({"int": (1, 2)})).args
    assert set(column.tolist()) == {1, 2}


def test_steps_name_the_columns_that_hold_their_quantities() -> None:
    """Column 0 is the schedule, and every step says which column holds its arguments, times or length."""
    made = _drawn(_query({"int": (7, 7)}), {"hold": {"ms": 5}}, _query(times=[2, 4]), {"wait": {"ms": [0, 1]}})
    assert made.steps == [
        {"do": "query", "sql": "SELECT 1", "args": [1], "times": None},
        {"do": "hold", "ns": 2},
        {"do": "query", "sql": "SELECT 1", "args": [], "times": 3},
        {"do": "wait", "ns": 4},
    ]
    assert set(made.args[0].tolist()) == {7}
    assert set(made.args[1].tolist()) == {5_000_000}
    assert set(made.args[2].tolist()) == {2, 3, 4}
    assert 0 <= made.args[3].min() < 100_000
    assert 900_000 < made.args[3].max() <= 1_000_000


def test_a_share_of_the_requests_sends_the_statement() -> None:
    """With a share of a quarter about a quarter of the requests executes it, and the others skip it."""
    (column,) = _drawn(_query(times=3, share=0.25), window_s=4).args
    assert set(column.tolist()) == {0, 3}
    assert abs((column > 0).mean() - 0.25) < 0.05


def test_computing_is_done_by_the_named_requests_alone() -> None:
    """`at` counts requests from 1; every other request computes nothing."""
    (column,) = _drawn({"compute": {"ms": 191, "at": [1, 60]}}).args
    assert np.flatnonzero(column).tolist() == [0, 59]
    assert column[59] == 191_000_000


def test_a_calibrated_argument_is_one_constant() -> None:
    """What calibration found is sent with every request, and its absence is an error and no zero."""
    step = _query({"int": (1, 9)}, {"calibrated": {"cpu_ms": 6.2, "from": 1, "to": 99}})
    made = draw("s", _workload("w", step), 1, "measure", 1, {"arguments": {"0.1": 42}})
    assert set(made.args[1].tolist()) == {42}
    with pytest.raises(ValueError, match=r"argument 0\.1 is to be found by calibration"):
        draw("s", _workload("w", step), 1, "measure", 1)


def test_a_share_of_another_capacity_stretches_the_same_pattern() -> None:
    """Random gaps are unit-rate draws: twice the capacity halves each gap and changes no pattern."""
    work = _workload("w", arrival={"poisson": {"share_of_capacity": 0.5}})
    slow, fast = (draw("s", work, 1, "measure", 2, {"capacity_per_s": c}).times for c in (100.0, 200.0))
    assert len(slow) > 50
    assert np.abs(slow - 2 * fast[: len(slow)]).max() <= 2


def _written(plan: Any, folder: Path) -> tuple[dict[str, Any], list[list[int]]]:
    folder.mkdir()
    write_spec(folder, plan, "/socket")
    spec = json.loads((folder / "spec.json").read_text("utf-8"))
    values = np.fromfile(folder / "schedule.bin", dtype="<i8")
    columns = []
    for part in (spec["warm_up"], spec["measure"]):
        for _ in range(1 + part["columns"]):
            columns.append(values[: part["count"]].tolist())
            values = values[part["count"] :]
    assert len(values) == 0, "the file holds what the spec announces and nothing more"
    return spec, columns


def test_every_arm_is_sent_the_same_file(tmp_path: Path) -> None:
    """schedule.bin is equal for every pool, client and limit of a repeat; only the arm in the spec differs."""
    found = plans(
        {
            "pools": None,
            "arms": {"a": {"size": 2}, "b": {"size": 7, "client": "psycopg-threads", "processes": 2}},
            "limits": {"quota": {}, "free": "none"},
            "workloads.light.arrivals": {"poisson": {"rate_per_s": 200}},
        }
    )
    written = [_written(plan, tmp_path / name) for name, plan in found.items()]
    assert len(written) == 4
    assert all(columns == written[0][1] for _, columns in written)
    assert {spec["client"] for spec, _ in written} == {"asyncpg", "psycopg-threads"}


def test_a_closed_loop_is_told_its_pace_and_its_bound(tmp_path: Path) -> None:
    """A loop has blank times, as many rows as it may fill, and its workers, think time and windows in the spec."""
    loop = {"closed": {"workers": 3, "think_ms": 2.5, "max_per_s": 400}}
    plan = plans({"workloads.light.arrivals": loop, "workloads.light.windows": {"measure_s": 2}})["light.pool-1.r1"]
    spec, columns = _written(plan, tmp_path / "cell")
    assert spec["arrivals"] == {
        "kind": "closed",
        "workers": 3,
        "think_ns": 2_500_000,
        "window_ns": {"warm_up": 300_000_000, "measure": 2_000_000_000},
    }
    assert spec["measure"] == {"count": 800, "columns": 1}
    assert set(columns[2]) == {0}


def test_a_spec_says_who_sends_what(tmp_path: Path) -> None:
    """The generator is told client, pool, processes, steps and whether to count memory."""
    arm = {"size": 4, "client": "psycopg-executor", "processes": 2, "check": True}
    more = {"workloads.light.trace_memory": True, "pools": None, "arms": {"a": arm}}
    spec, _ = _written(plans(more)["light.a.r1"], tmp_path / "cell")
    assert (spec["client"], spec["processes"], spec["trace_memory"]) == ("psycopg-executor", 2, True)
    assert spec["pool"] == {"size": 4, "processes": 2, "compute_in": "caller", "check": True, "executor": 4}
    assert spec["arrivals"]["kind"] == "open"
    assert spec["steps"][0]["sql"] == "SELECT balance FROM pool_lab WHERE id = $1"


def test_a_missing_capacity_stops_the_cell(tmp_path: Path) -> None:
    """A rate that is a share of an unknown capacity is never sent as something else."""
    plan = plans({"workloads.light.arrivals": {"poisson": {"share_of_capacity": 0.5}}})["light.pool-1.r1"]
    with pytest.raises(MeasurementError, match="a share of a capacity that was not measured"):
        write_spec(tmp_path, plan, "/socket")


@pytest.mark.parametrize(
    "arrival",
    [
        {"uniform": {"every_ms": 1000 / 3}},
        {"uniform": {"rate_per_s": 70}},
        {"bursts": {"size": 4, "every_ms": 300}},
        {"bursts": {"size": 4, "rate_per_s": 50}},
        {"batch": {"size": 600}},
        {"closed": {"workers": 2, "think_ms": 10}},
        {"closed": {"workers": 2, "max_per_s": 90}},
        {"ramp": {"shape": "uniform", "from_per_s": 10, "to_per_s": 50}},
        {"steps": [{"for_s": 3, "uniform": {"every_ms": 7}}, {"for_s": 4, "bursts": {"size": 3, "rate_per_s": 30}}]},
    ],
)
def test_the_announced_number_of_requests_is_sent(arrival: dict[str, Any]) -> None:
    """What the study says it will send in a window is what the schedule holds."""
    found = plans({"workloads.light.arrivals": arrival, "windows.measure_s": 7})["light.pool-1.r1"].settings["workload"]
    made = study({"workloads.light.arrivals": arrival, "windows.measure_s": 7})
    count = len(draw("s", found, 1, "measure", 7).times)
    assert abs(made.expected_requests("light") - count) < 1
    assert abs(arrivals.expected(found["arrivals"], 7) - count) <= 3
