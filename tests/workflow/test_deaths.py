"""Every way to die on the embedded lab: one named test each, in the second of two cells of a second."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support import facts, studies
from support.project import Project, wait_for
from support.whole import is_whole

#: Ten milliseconds apart for a second.
REQUESTS = 100


@dataclass(frozen=True)
class Running:
    """A study whose second cell has its load generator."""

    project: Project
    command: "subprocess.Popen[str]"
    lab: dict[str, Any]
    generator: int


def _group(number: signal.Signals) -> Callable[[Running], None]:
    return lambda running: os.killpg(running.command.pid, number)


def _process(number: signal.Signals) -> Callable[[Running], None]:
    return lambda running: os.kill(running.command.pid, number)


def _twice(running: Running) -> None:
    os.killpg(running.command.pid, signal.SIGINT)
    time.sleep(0.3)
    if running.command.poll() is None:
        os.killpg(running.command.pid, signal.SIGINT)


def _script(running: Running) -> None:
    (victim,) = facts.programs_in(running.project.folder, "scripts/measure.py")
    os.kill(victim, signal.SIGKILL)


def _generator(running: Running) -> None:
    os.kill(running.generator, signal.SIGKILL)


def _server(running: Running) -> None:
    os.kill(running.lab["detail"]["postmaster"][0], signal.SIGKILL)


slow = pytest.mark.slow
WAYS = [
    pytest.param(_twice, 130, id="SIGINT twice"),
    pytest.param(_process(signal.SIGINT), 130, id="SIGINT to the process", marks=slow),
    pytest.param(_process(signal.SIGTERM), 130, id="SIGTERM to the process", marks=slow),
    pytest.param(_group(signal.SIGTERM), 130, id="SIGTERM to the group", marks=slow),
    pytest.param(_process(signal.SIGHUP), 130, id="SIGHUP to the process", marks=slow),
    pytest.param(_group(signal.SIGHUP), 130, id="SIGHUP to the group", marks=slow),
    pytest.param(_process(signal.SIGKILL), -9, id="SIGKILL of snakemake"),
    pytest.param(_group(signal.SIGKILL), -9, id="SIGKILL of the group", marks=slow),
    pytest.param(_script, 1, id="SIGKILL of the measuring script", marks=slow),
    pytest.param(_generator, 1, id="SIGKILL of the generator", marks=slow),
    pytest.param(_server, 75, id="SIGKILL of the server"),
]


@pytest.fixture
def two(tmp_path: Path) -> Project:
    """A copy in which two cells of a second are to be measured."""
    return Project.copy(tmp_path / "two")


def _in_the_second_cell(project: Project, command: "subprocess.Popen[str]") -> Running:
    """Wait until the first cell is kept and the second one's load generator runs."""

    def look() -> Running | None:
        assert command.poll() is None, "the study ended before it could be broken off"
        for path in project.results.glob("state/blocks/1/lab.json"):
            lab = json.loads(path.read_text("utf-8"))
            generators = facts.processes_in(Path(lab["folder"]) / "cells")
            if generators and list(project.results.glob("cells/*/run.json")):
                return Running(project, command, lab, generators[0])
        return None

    found: Running = wait_for(look)
    return found


def _break_off(project: Project, way: Callable[[Running], None]) -> tuple[int, str]:
    """Start the study, break it off in its second cell, and return its exit code and what a person saw."""
    command = project.start()
    try:
        way(_in_the_second_cell(project, command))
        text, _ = command.communicate(timeout=60)
    except BaseException:
        if command.poll() is None:
            os.killpg(command.pid, signal.SIGINT)
        command.communicate(timeout=30)
        raise
    return command.returncode, text


@pytest.mark.parametrize(("way", "exit_code"), WAYS)
def test_after_each_death_the_same_command_finishes(
    two: Project, way: Callable[[Running], None], exit_code: int
) -> None:
    """A death in mid-cell ends with its exit code, no traceback and nothing left, and a rerun ends the study whole."""
    code, text = _break_off(two, way)
    assert code == exit_code, text
    assert "Traceback" not in text
    if exit_code > 0:
        assert "1 of 2 cells are kept; the same command continues" in text
    wait_for(lambda: two.traces() == [], within_s=15)
    kept = two.cells()
    first = {name.split("/")[1] for name in kept if name.endswith("run.json")}
    assert len(first) == 1
    done = two.run()
    assert done.code == 0, done
    assert "Traceback" not in done.text
    after = two.cells()
    assert all(after[name] == kept[name] for name in kept if name.split("/")[1] in first), "measured again"
    assert [run["block"] for run in two.runs()] == [1, 2]
    is_whole(two, list(studies.plans(name="tiny")), REQUESTS)
