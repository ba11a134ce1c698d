"""The smoke form of every kind of study, from one command to its report."""

import json
from pathlib import Path

import pytest
from support.project import Project

EMBEDDED = ["smoke", "smoke-tail-latency", "smoke-littles-law", "smoke-execution-models", "smoke-pools"]
IN_DOCKER = ["smoke-tail-latency", "smoke-littles-law"]
BOTH = [
    *[pytest.param("embedded", name, id=name) for name in EMBEDDED],
    *[pytest.param("docker", name, id=f"{name} in docker", marks=pytest.mark.docker) for name in IN_DOCKER],
]


@pytest.mark.slow
@pytest.mark.parametrize(("lab", "study"), BOTH)
def test_every_kind_of_study_ends_in_its_report(tmp_path: Path, lab: str, study: str) -> None:
    """Each smoke form measures every cell, gives verdicts in the terminal and the page, and leaves nothing behind."""
    project = Project.copy(tmp_path / "smoke")
    project.machine({"lab": lab, "study": study})
    done = project.run(within_s=180)
    assert done.code == 0, done
    assert "Traceback" not in done.text
    results = project.folder / "results" / study
    session = json.loads((results / "state" / "session.json").read_text("utf-8"))
    assert all((results / "cells" / cell / "run.json").exists() for cell in session["planned"])
    found = json.loads((results / "analysis.json").read_text("utf-8"))
    assert found["verdicts"]
    assert found["headline"] in " ".join(done.text.split())
    page = (results / "published" / "index.html").read_text("utf-8")
    assert all(verdict["word"] in page for verdict in found["verdicts"])
    assert (results / "published" / "report.pdf").stat().st_size > 10_000
    cleanup = json.loads((results / "cleanup.json").read_text("utf-8"))
    assert all(block["confirmed"] and not block["leftovers"] for block in cleanup["blocks"])
