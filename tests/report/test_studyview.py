"""The recorded study reads the same as the study that was recorded."""

import pytest
from conftest import ROOT

from poollab.report.studyview import StudyView
from poollab.study.files import load_study
from poollab.study.model import Study

FILES = sorted((ROOT / "config" / "studies").glob("*.yaml"))


def view(study: Study) -> StudyView:
    """Record a study as environment.json does, and read it back."""
    return StudyView("x", "x.yaml", study.title, study.model_dump(mode="json"))


@pytest.mark.parametrize("path", FILES, ids=[p.stem for p in FILES])
def test_every_study_of_the_project_reads_back(path):
    """Arms, statements, rates and windows of each study file are those of its model."""
    study = load_study(path)
    read = view(study)
    assert read.arms == {label: arm.size for label, arm in study.arm_map.items()}
    assert [label for label, _ in read.levels("database")] == list(study.limit_map)
    for name in study.workloads:
        found = read.workload(name)
        workload = study.workload(name)
        queries = [step.query.sql for step in workload.steps if step.query is not None]
        assert found["sql"] == next(iter(queries), "")
        assert found["connections"] == (workload.needs_connection or workload.benchmark is not None)
        assert found["closed"] == (workload.arrivals is not None and workload.arrivals.closed is not None)
        assert "unknown" not in found["arrivals"]
        if found["rate_per_s"] is not None:
            seconds = read.windows_s(name)[1]
            assert found["rate_per_s"] == pytest.approx(study.expected_requests(name) / seconds, rel=0.3)


def test_windows_of_a_workload_are_not_those_of_the_study():
    """Where a workload has windows of its own, the report says so, and counts a study's time by them."""
    windows = {"warm_up_s": 1, "measure_s": 10}
    model = {"windows": {"warm_up_s": 2, "measure_s": 200}, "workloads": {"a": {}, "a-b": {"windows": windows}}}
    read = StudyView("x", "x.yaml", "t", model)
    assert read.windows_text() == (
        "2 s of warm-up and 200 s of measurement (a); 1 s of warm-up and 10 s of measurement (a-b)"
    )
    assert read.least_s(["a.pool-5.r1", "a-b.pool-5.r1", "a-b.pool-5.r2"]) == 202 + 11 + 11


def test_limits_replace_only_their_side():
    """A level that names the database's caps leaves the load generator's as they are."""
    study = Study.model_validate(
        {
            "title": "t",
            "database": {"tables": {"t": {"rows": 1}}, "limits": {"cpus": 0.5}},
            "load_generator": {"limits": {"cpus": 0.25}},
            "workloads": {"w": {"sql": "SELECT 1", "arrivals": {"poisson": {"rate_per_s": 50.0}}}},
            "arms": {"small": {"size": 2}, "pool-9": {"size": 9}},
            "limits": {"half": {}, "whole": {"database": {"cpus": 1.0}}},
        }
    )
    read = view(study)
    assert [(label, caps["cpus"]) for label, caps in read.levels("database")] == [("half", 0.5), ("whole", 1.0)]
    assert [caps["cpus"] for _, caps in read.levels("load_generator")] == [0.25, 0.25]
    assert [read.arm_label(arm, size) for arm, size in read.arms.items()] == ["small (2)", "9"]
    assert read.workload("w") == {
        "sql": "SELECT 1",
        "request": [],
        "connections": True,
        "arrivals": "Poisson, mean 50 per second",
        "batch": 1,
        "rate_per_s": 50.0,
        "closed": False,
    }
