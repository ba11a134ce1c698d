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
    assert read.window_s == (study.windows.warm_up_s, study.windows.measure_s)
    for name in study.workloads:
        found = read.workload(name)
        assert found["sql"] == study.workload(name).sql
        assert found["rate_per_s"] == pytest.approx(study.expected_requests(name) / study.windows.measure_s, rel=0.3)


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
        "arrivals": "Poisson, mean 50 per second",
        "batch": 1,
        "rate_per_s": 50.0,
    }
