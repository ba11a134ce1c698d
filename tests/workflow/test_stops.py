"""Ctrl-C and other signals in the middle of a cell: nothing is left, nothing is lost, nothing is doubled."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from support.project import Project, wait_for


def _in_a_cell(project: Project, after_cells: int) -> str:
    """Wait until some cells are done and the next one is being measured; return the lab's folder."""

    def look() -> str | None:
        done = list(project.results.glob("cells/*/run.json"))
        for path in project.results.glob("state/blocks/*/lab.json"):
            folder = json.loads(path.read_text("utf-8"))["folder"]
            scratch = list(Path(folder).glob("cells/*/schedule.bin"))
            if len(done) >= after_cells and scratch:
                return str(folder)
        return None

    return str(wait_for(look))


def _stop(project: Project, number: signal.Signals, after_cells: int = 1) -> tuple[int, str]:
    process = project.start()
    try:
        _in_a_cell(project, after_cells)
        if number == signal.SIGINT:
            # As a terminal does it: to every process of the foreground group.
            os.killpg(process.pid, number)
        else:
            os.kill(process.pid, number)
        text, _ = process.communicate(timeout=60)
    except BaseException:
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=30)
        raise
    return process.returncode, text


def _whole_files_only(project: Project) -> None:
    """A cell's folder holds all its files, or no record."""
    for folder in project.results.glob("cells/*"):
        names = {path.name for path in folder.iterdir()}
        if "run.json" in names:
            assert {"requests.parquet", "warmup.parquet", "samples.parquet"} <= names
        assert not {name for name in names if name.endswith(".part")} or "run.json" not in names


SLOW = [pytest.param(number, marks=pytest.mark.slow) for number in (signal.SIGTERM, signal.SIGHUP)]


@pytest.mark.parametrize("number", [signal.SIGINT, *SLOW], ids=lambda number: number.name)
def test_stop_in_the_middle_of_a_cell(three: Project, number: signal.Signals) -> None:
    """A signal ends the run with exit 130 and leaves nothing; the same command then measures what is missing."""
    code, text = _stop(three, number)
    assert code == 130, text
    assert "Traceback" not in text
    assert "cells are kept; the same command continues" in text
    assert three.traces() == []
    _whole_files_only(three)
    kept = three.cells()
    names = {name.split("/")[1] for name in kept if name.endswith("run.json")}
    assert 1 <= len(names) < 3
    done = three.run()
    assert done.code == 0, done
    after = three.cells()
    assert all(after[name] == kept[name] for name in kept if name.split("/")[1] in names)
    runs = three.runs()
    assert len(runs) == 3
    assert {run["cell"] for run in runs if run["block"] == 1} == names
    assert three.blocks() == [1, 2]
    environment = three.record("environment.json")
    assert [run["cell"] for run in runs] == environment["planned"], "the order goes on where it stopped"
    assert environment["blocks"][0]["ended"] == "interrupted"
    assert [block["confirmed"] for block in three.record("cleanup.json")["blocks"]] == [True, True]
    assert three.traces() == []


def test_interrupt_while_the_database_starts(three: Project) -> None:
    """Ctrl-C before the first cell removes the half-built database as well."""
    process = three.start()
    wait_for(lambda: list(three.results.glob("state/blocks/1/lab.json")))
    os.killpg(process.pid, signal.SIGINT)
    text, _ = process.communicate(timeout=60)
    assert process.returncode == 130, text
    assert three.traces() == []
    assert three.run("-n").code == 0


def test_a_server_that_dies_stops_the_study_safely(three: Project) -> None:
    """When the server is killed in mid-cell the study stops with exit 75, says why, and leaves nothing."""
    process = three.start()
    try:
        folder = _in_a_cell(three, 1)
        lab = json.loads((three.results / "state/blocks/1/lab.json").read_text("utf-8"))
        os.kill(lab["detail"]["postmaster"][0], signal.SIGKILL)
        text, _ = process.communicate(timeout=90)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGINT)
        text, _ = process.communicate(timeout=30)
    assert process.returncode == 75, text
    assert "cells are kept; the same command continues" in text
    assert "Traceback" not in text
    assert not Path(folder).exists()
    assert three.traces() == []
    kept = {run["cell"] for run in three.runs()}
    due = set(re.findall(r"output: \S*cells/([a-z0-9.-]+)/run\.json", three.run("-n").text))
    assert due == {f"light.pool-{size}.r1" for size in (1, 2, 3)} - kept


@pytest.mark.slow
def test_a_clock_that_is_stepped_back_costs_nothing(three: Project) -> None:
    """Files that seem to lie in the future, as after a step of the clock by -30 s, fail no cell and lose none."""
    process = three.start()
    wait_for(lambda: list(three.results.glob("state/blocks/1/block.json")))
    later = time.time() + 30
    for path in three.results.glob("state/blocks/1/block.json"):
        os.utime(path, (later, later))
    text, _ = process.communicate(timeout=90)
    assert process.returncode == 0, text
    assert [run["block"] for run in three.runs()] == [1, 1, 1]
    assert three.traces() == []
