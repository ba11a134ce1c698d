"""Faults of the machine in the middle of a study: the same command finishes it, with exact counts."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.project import Project, wait_for

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system, enters a control group")

HOG = """
import sys, time
for path in sys.argv[1:]:
    open(path, "w").write("0")
held = []
for _ in range(400):
    held.append(bytearray(4 << 20))
time.sleep(5)
"""


def _exact(project: Project, cells: int) -> None:
    """Every planned cell is there once, with all its rows, and nothing of a lab is left."""
    runs = project.runs()
    assert len(runs) == cells
    assert all(run["files"]["requests.parquet"]["rows"] == 20 for run in runs)
    assert project.traces() == []


@pytest.fixture
def small_disk(three: Project) -> Iterator[Path]:
    """A results folder on a file system of its own that holds next to nothing."""
    folder = three.folder / "results"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@needs_root
@pytest.mark.slow
def test_a_full_disk_loses_nothing(three: Project, small_disk: Path) -> None:
    """A disk that fills up while results are written ends the study with one message; with room it goes on."""
    done = three.run()
    assert done.code != 0, done
    assert "No space left on device" in done.text
    assert "Traceback" not in done.text
    assert three.traces() == []
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    done = three.run()
    assert done.code == 0, done
    _exact(three, 3)


@needs_root
@pytest.mark.slow
def test_a_server_killed_for_memory_ends_the_block(three: Project) -> None:
    """When the kernel kills for want of memory inside the cap, that run is no result, and a rerun finishes."""
    three.study({"pools": [1, 2, 3], "repeats": 1, "windows": {"warm_up_s": 0.3, "measure_s": 3}})
    process = three.start()

    def database_group() -> list[str]:
        for path in three.results.glob("state/blocks/*/block.json"):
            dirs = json.loads(path.read_text("utf-8"))["lab"]["detail"]["group"]["dirs"]
            return [f"{folder}/database/cgroup.procs" for folder in set(dirs.values())]
        return []

    files = wait_for(database_group)
    time.sleep(1.5)
    subprocess.run([sys.executable, "-ISc", HOG, *files], check=False, timeout=30)
    text, _ = process.communicate(timeout=90)
    assert process.returncode in (0, 75), text
    assert "Traceback" not in text
    if process.returncode == 75:
        assert "memory" in text or "server" in text
        done = three.run()
        assert done.code == 0, done
    rows = {run["files"]["requests.parquet"]["rows"] for run in three.runs()}
    assert rows == {300}
    assert three.traces() == []
