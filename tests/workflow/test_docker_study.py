"""A whole study in containers, from the command to the published report."""

import subprocess
from pathlib import Path

import pytest
from support.project import TINY, Project


def _ours() -> list[str]:
    """List the containers and volumes that carry our label."""
    found = []
    for kind in (["ps", "-aq"], ["volume", "ls", "-q"]):
        words = ["docker", *kind, "--filter", "label=poollab.part"]
        found += subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    return found


@pytest.mark.docker
def test_whole_study_on_docker(tmp_path: Path) -> None:
    """The study ends published and capped, in the planned order, and leaves no container, volume or folder."""
    project = Project.copy(tmp_path / "in docker (ü)", TINY)
    project.machine({"lab": "docker", "study": "tiny"})
    done = project.run(within_s=150)
    assert done.code == 0, done
    assert "Lab: docker" in done.text
    environment = project.record("environment.json")
    assert environment["lab"]["kind"] == "docker"
    assert environment["lab"]["caps_enforced"] is True
    assert [run["cell"] for run in project.runs()] == environment["planned"]
    assert all(run["sessions_before"] == run["pool_size"] for run in project.runs())
    assert (project.results / "published" / "index.html").exists()
    assert project.record("cleanup.json")["blocks"][0]["confirmed"] is True
    assert _ours() == []
    # A second run measures nothing and starts no container.
    before = project.cells()
    assert project.run().code == 0
    assert project.cells() == before
