"""The guard: a busy host stops a study without losing anything, and the same command continues."""

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.project import Project, wait_for

#: A machine file in which one burner per CPU trips the guard soon, and a quiet test machine does not.
KEEN = {"other_cpu": 0.8, "window_s": 0.5, "steal": 1.0, "runnable_per_cpu": 1000.0, "calm_within_s": 20.0}
KEEN |= {"min_available_mib": 0, "min_free_disk_mib": 0}
BURN = "import time\nend = time.monotonic() + 30\nwhile time.monotonic() < end: pass"


@contextmanager
def burners() -> Iterator[None]:
    """Keep every CPU busy, as a neighbour would."""
    running = [subprocess.Popen([sys.executable, "-ISc", BURN]) for _ in range(4)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def _in_the_window(project: Project) -> bool:
    """Tell whether the second cell has been under way long enough to be in its window."""
    scratch = list(Path("/tmp").glob("poollab-*/cells/*/schedule.bin"))  # noqa: S108
    done = len(list(project.results.glob("cells/*/run.json")))
    return done >= 1 and any(time.time() - path.stat().st_mtime > 1.5 for path in scratch)


@pytest.fixture
def keen(three: Project) -> Project:
    """A copy with windows long enough to be disturbed, and a guard that notices soon."""
    three.study({"pools": [1, 2, 3], "repeats": 1, "windows": {"warm_up_s": 0.5, "measure_s": 4}})
    three.machine(
        {"lab": "embedded", "study": "tiny", "safety": {**KEEN, "min_available_mib": 0, "min_free_disk_mib": 0}}
    )
    return three


def test_a_busy_host_stops_the_study_and_nothing_is_lost(keen: Project) -> None:
    """Burners in mid-cell end the block with exit 75 and their reading; the attempt is kept apart; a rerun finishes."""
    process = keen.start()
    wait_for(lambda: _in_the_window(keen))
    with burners():
        text, _ = process.communicate(timeout=60)
    assert process.returncode == 75, text
    assert "Safety stop: others use" in text
    assert "safety.other_cpu" in text
    assert "during the measurement" in text or "during the warm-up" in text
    assert re.search(r"the busiest of them just now is process \d+ \(\S.*\) with \d\.\d\d CPUs", text), text
    assert "time.monotonic" not in text, "a process is named, its arguments never"
    assert "the same command continues" in text
    assert keen.traces() == []
    kept = keen.cells()
    attempts = list((keen.results / "attempts").glob("*/attempt.json"))
    assert len(attempts) == 1
    done = keen.run()
    assert done.code == 0, done
    assert all(keen.cells()[name] == kept[name] for name in kept)
    assert len(keen.runs()) == 3
    page = (keen.results / "report" / "index.html").read_text("utf-8")
    assert "Safety stop: others use" in page
    assert "2 blocks" in page


@pytest.mark.slow
def test_a_study_told_to_wait_goes_on_by_itself(keen: Project) -> None:
    """With on_stop: wait the same command cools down, goes on in a new block and ends with exit 0."""
    safety = {**KEEN, "on_stop": "wait", "max_waits": 2}
    keen.machine({"lab": "embedded", "study": "tiny", "safety": safety})
    process = keen.start()
    wait_for(lambda: _in_the_window(keen))
    with burners():
        wait_for(lambda: list((keen.results / "state" / "blocks").glob("*/stopped.json")))
    text, _ = process.communicate(timeout=120)
    assert process.returncode == 0, text
    assert "going on in a new block (1 of at most 2)" in text
    assert len(keen.runs()) == 3
    assert len({run["block"] for run in keen.runs()}) == 2
    assert keen.traces() == []
    assert keen.record("environment.json")["blocks"][0]["waited_s"] > 5


@pytest.mark.slow
def test_a_busy_host_is_waited_for_before_a_cell(keen: Project) -> None:
    """A host that is busy when a cell is due delays it, with one line that says for what."""
    with burners():
        process = keen.start()
        wait_for(lambda: list(keen.results.glob("state/blocks/*/block.json")))
        time.sleep(2)
    text, _ = process.communicate(timeout=60)
    assert process.returncode == 0, text
    assert text.count("Waiting for a calm host: others use") == 1
    assert "For at most 20 s." in text
