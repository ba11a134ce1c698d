"""A whole study in containers, from the command to the published report."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from support import studies
from support.project import TINY, Project, wait_for
from support.whole import is_whole

#: Two cells of a second, which do not wait long for a server that is gone.
TWO = {"timeouts": {"acquire_s": 1, "query_s": 2, "drain_s": 2}}


def _tokens(project: Project) -> list[str]:
    """Return the names of all labs of this study; others on the machine are not this test's."""
    return [json.loads(path.read_text("utf-8"))["token"] for path in project.results.glob("state/blocks/*/lab.json")]


def _ours(project: Project) -> list[str]:
    """List the containers, volumes and networks that carry the label of one of this study's labs."""
    found = []
    for token in _tokens(project):
        for kind in (["ps", "-aq"], ["volume", "ls", "-q"], ["network", "ls", "-q"]):
            words = ["docker", *kind, "--filter", f"label=poollab={token}"]
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
    assert _ours(project) == []
    # A second run measures nothing and starts no container.
    before = project.cells()
    assert project.run().code == 0
    assert project.cells() == before


def _container(project: Project, part: str) -> str:
    """Return the running container of one part of this study's lab; nothing where there is none."""
    found: list[str] = []
    for token in _tokens(project):
        words = ["docker", "ps", "-q", "--filter", f"label=poollab={token}", "--filter", f"label=poollab.part={part}"]
        found += subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    return found[0] if found else ""


@pytest.fixture
def docker_two(tmp_path: Path) -> Iterator[Project]:
    """A copy in which two cells of a second are to be measured in containers."""
    project = Project.copy(tmp_path / "two", TWO)
    project.machine({"lab": "docker", "study": "tiny"})
    yield project
    # A paused container that a failed test left would hold up all the others.
    for part in ("database", "generator"):
        if left := _container(project, part):
            subprocess.run(["docker", "rm", "-f", "-v", left], capture_output=True, check=False)


def _break_off(project: Project, part: str, words: list[str]) -> tuple[int, str]:
    """Do something to a container in the second cell; return how the study ended and what a person saw."""
    process = project.start()

    def generator_of_the_second_cell() -> str:
        assert process.poll() is None, "the study ended before it could be broken off"
        return _container(project, "generator") if list(project.results.glob("cells/*/run.json")) else ""

    try:
        wait_for(generator_of_the_second_cell, within_s=60)
        subprocess.run(["docker", *words, _container(project, part)], capture_output=True, check=True)
        text, _ = process.communicate(timeout=90)
    except BaseException:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=60)
        raise
    return process.returncode, text


FAULTS = [
    pytest.param("database", ["rm", "-f"], {75}, id="database removed"),
    pytest.param("database", ["pause"], {75, 1}, id="database paused", marks=pytest.mark.slow),
    pytest.param("generator", ["kill"], {1}, id="generator killed", marks=pytest.mark.slow),
]


@pytest.mark.docker
@pytest.mark.parametrize(("part", "words", "codes"), FAULTS)
def test_a_container_that_is_lost_costs_its_cell_only(
    docker_two: Project, part: str, words: list[str], codes: set[int]
) -> None:
    """A container paused, removed or killed in mid-run costs its cell only; the same command ends the study whole."""
    code, text = _break_off(docker_two, part, words)
    assert code in codes, text
    assert "Traceback" not in text
    assert "1 of 2 cells are kept; the same command continues" in text
    assert _ours(docker_two) == []
    kept = docker_two.cells()
    done = docker_two.run(within_s=120)
    assert done.code == 0, done
    after = docker_two.cells()
    (first,) = {name.split("/")[1] for name in kept if name.endswith("run.json")}
    assert all(after[name] == kept[name] for name in kept if name.split("/")[1] == first), "measured again"
    is_whole(docker_two, list(studies.plans(TWO, "tiny")), 100)
    assert _ours(docker_two) == []
