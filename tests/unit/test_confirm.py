"""Passes that are measured only where they are needed, and leave a record where they are not."""

from pathlib import Path
from typing import Any

import pytest

from poollab.data import store
from poollab.run.cell import Plan
from poollab.session import check, confirm
from poollab.session.paths import Paths

SETTINGS = {"workload": {"benchmark": {"family": "rapid-fire"}}}


def plan(arm: str, repeat: int) -> Plan:
    """Return a cell of the one row."""
    return Plan("s", f"row.{arm}.r{repeat}", "row", arm, "", repeat, SETTINGS, "hash")


PLANS = {p.cell: p for repeat in (1, 2, 3) for arm in ("a", "b") if (p := plan(arm, repeat))}


MODEL: dict[str, Any] = {"confirm": {"threshold": 0.1, "passes": 3}}


def session(**model: Any) -> dict[str, Any]:
    """Return what the session file says of the study."""
    cells = {name: {"repeat": p.repeat, "workload": "row", "limits": "", "arm": p.arm} for name, p in PLANS.items()}
    return {"study": {"model": {**MODEL, **model}}, "cells": cells}


def measured(paths: Paths, cell: str, mean_ns: float, status: str = "ok", sha: str = "1", block: int = 1) -> None:
    """Leave the record of a measured first pass, with one file whose checksum is `sha`."""
    record = {
        "study": "s",
        "cell": cell,
        "block": block,
        "status": status,
        "settings": SETTINGS,
        "settings_hash": "hash",
        "benchmark": {"mean_ns": mean_ns},
        "files": {"iterations.parquet": {"sha256": sha}},
    }
    store.write_json(paths.run_record(cell), record)


@pytest.mark.parametrize(
    ("means", "needed"),
    [((100.0, 105.0), False), ((105.0, 100.0), False), ((100.0, 120.0), True), ((120.0, 100.0), True)],
)
def test_a_pass_is_needed_only_where_the_first_one_differs(
    tmp_path: Path,
    means: tuple[float, float],
    needed: bool,  # noqa: FBT001
) -> None:
    """Within 10 % nothing is measured again; beyond it, in either direction, everything is."""
    paths = Paths(tmp_path)
    for arm, mean in zip("ab", means, strict=True):
        measured(paths, f"row.{arm}.r1", mean)
    found = confirm.not_needed(paths, session(), plan("b", 2), 4)
    assert (found is None) is needed
    if found is not None:
        kept = store.read_json(paths.run_record("row.b.r2"))
        assert (kept["status"], kept["block"], kept["files"]) == ("not-needed", 4, {})


def test_the_first_pass_is_always_measured(tmp_path: Path) -> None:
    """Nothing is decided before there is something to decide on."""
    assert confirm.not_needed(Paths(tmp_path), session(), plan("a", 1), 1) is None


def test_without_confirm_every_pass_is_measured(tmp_path: Path) -> None:
    """A study that names no threshold measures all its repeats."""
    for arm in "ab":
        measured(Paths(tmp_path), f"row.{arm}.r1", 100.0)
    assert confirm.not_needed(Paths(tmp_path), session(confirm=None), plan("a", 2), 1) is None


def test_a_first_pass_that_does_not_count_decides_nothing(tmp_path: Path) -> None:
    """Where an arm's first run was not ok its time is no reason to leave the others out."""
    paths = Paths(tmp_path)
    measured(paths, "row.a.r1", 100.0)
    measured(paths, "row.b.r1", 100.0, status="errors")
    assert confirm.not_needed(paths, session(), plan("a", 2), 1) is None


def test_a_first_pass_of_two_blocks_decides_nothing(tmp_path: Path) -> None:
    """Times that two servers gave are no comparison, so that equal ones are no reason to leave the others out."""
    paths = Paths(tmp_path)
    measured(paths, "row.a.r1", 100.0, block=1)
    measured(paths, "row.b.r1", 100.0, block=2)
    assert confirm.not_needed(paths, session(), plan("a", 2), 2) is None


def test_a_decision_falls_with_the_pass_it_was_made_on(tmp_path: Path) -> None:
    """When a first pass is measured anew or found damaged, what was decided on it is decided anew."""
    paths = Paths(tmp_path)
    for arm in "ab":
        measured(paths, f"row.{arm}.r1", 100.0)
    record = confirm.not_needed(paths, session(), plan("a", 2), 1)
    assert record is not None
    now = confirm.rule(MODEL, plan("a", 2))
    assert confirm.stale(paths, record, [], now) == ""
    assert "row.a.r1" in confirm.stale(paths, record, ["row.a.r1"], now)
    measured(paths, "row.b.r1", 150.0, sha="2")
    assert "row.b.r1" in confirm.stale(paths, record, [], now)


@pytest.mark.parametrize("now", [{"confirm": {"threshold": 0.05, "passes": 3}}, {"confirm": None}])
def test_a_decision_falls_with_the_rule_it_was_made_by(tmp_path: Path, now: dict[str, Any]) -> None:
    """A smaller threshold, or none at all, asks again for what the earlier one left out."""
    paths = Paths(tmp_path)
    for arm in "ab":
        measured(paths, f"row.{arm}.r1", 100.0)
    record = confirm.not_needed(paths, session(), plan("a", 2), 1)
    assert record is not None
    assert "another rule" in confirm.stale(paths, record, [], confirm.rule(now, plan("a", 2)))


def test_a_pass_that_was_not_needed_is_whole_on_resume(tmp_path: Path) -> None:
    """The same command finds the record and does not ask again; a damaged first pass takes it along."""
    paths = Paths(tmp_path)
    for arm in "ab":
        measured(paths, f"row.{arm}.r1", 100.0)
    confirm.not_needed(paths, session(), plan("a", 2), 3)
    whole, damaged = check.finished(paths, PLANS, MODEL)
    # The first passes have no files here, so they are damaged, and the decision with them.
    assert whole == {}
    assert set(damaged) == {"row.a.r1", "row.b.r1", "row.a.r2"}
    for arm in "ab":
        record = store.read_json(paths.run_record(f"row.{arm}.r1"))
        store.write_bytes(paths.cell(f"row.{arm}.r1") / "iterations.parquet", b"x")
        sha = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
        store.write_json(
            paths.run_record(f"row.{arm}.r1"), {**record, "files": {"iterations.parquet": {"sha256": sha}}}
        )
    confirm.not_needed(paths, session(), plan("a", 2), 3)
    whole, damaged = check.finished(paths, PLANS, MODEL)
    assert damaged == {}
    assert whole == {"row.a.r1": 1, "row.b.r1": 1, "row.a.r2": 3}


def spare_session(**model: Any) -> dict[str, Any]:
    """Return a session of one condition with three repeats, the last of them a spare one."""
    cells = {f"w.a.r{r}": {"repeat": r, "workload": "w", "limits": "", "arm": "a"} for r in (1, 2, 3)}
    return {"study": {"model": {"repeats": 3, "spare_repeats": 1, **model}}, "cells": cells}


def request_plan(repeat: int) -> Plan:
    """Return a cell of that condition."""
    return Plan("s", f"w.a.r{repeat}", "w", "a", "", repeat, {"workload": {"request": []}}, "hash")


def request_run(paths: Paths, repeat: int, p99_ns: int) -> None:
    """Leave the record of a measured run."""
    name = f"w.a.r{repeat}"
    files = {"requests.parquet": {"sha256": str(p99_ns)}}
    store.write_json(paths.run_record(name), {"cell": name, "status": "ok", "overall_p99_ns": p99_ns, "files": files})


@pytest.mark.parametrize(("p99", "needed"), [((40, 42), False), ((40, 98), True), ((98, 40), True)])
def test_a_spare_repeat_is_measured_where_a_run_is_far_out(
    tmp_path: Path,
    p99: tuple[int, int],
    needed: bool,  # noqa: FBT001
) -> None:
    """A p99 of twice the other one calls for another run; runs that agree do not."""
    paths = Paths(tmp_path)
    for repeat, value in enumerate(p99, start=1):
        request_run(paths, repeat, value)
    found = confirm.not_needed(paths, spare_session(), request_plan(3), 1)
    assert (found is None) is needed
    if found is not None:
        assert found["reasons"] == "no run of the condition has 2 times the p99 of the others"
        model = spare_session()["study"]["model"]
        now = confirm.rule(model, request_plan(3))
        assert confirm.stale(paths, found, [], now) == ""
        # One more repeat makes the third one due in any case.
        assert "another rule" in confirm.stale(paths, found, [], confirm.rule({**model, "repeats": 4}, request_plan(3)))
        request_run(paths, 2, 99)
        assert "w.a.r2" in confirm.stale(paths, found, [], now)


def test_repeats_that_are_no_spare_ones_are_measured(tmp_path: Path) -> None:
    """Without spare repeats, and before them, everything is measured."""
    paths = Paths(tmp_path)
    for repeat in (1, 2):
        request_run(paths, repeat, 40)
    assert confirm.not_needed(paths, spare_session(), request_plan(2), 1) is None
    assert confirm.not_needed(paths, spare_session(spare_repeats=0), request_plan(3), 1) is None
