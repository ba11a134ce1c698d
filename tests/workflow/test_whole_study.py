"""`snakemake --cores 1`, as a user types it: from nothing to a published study, and what a second time does."""

import hashlib
import json
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support.project import TINY, Done, Project

PUBLISHED = {
    "index.html",
    "requests.parquet",
    "runs.parquet",
    "runs.csv",
    "conditions.parquet",
    "conditions.csv",
    "analysis.json",
    "series.json",
    "environment.json",
    "cleanup.json",
    "study.yaml",
    "FIELDS.md",
    "datapackage.json",
    "SHA256SUMS",
}


def test_one_command_ends_in_a_published_study(first_run: tuple[Project, Done]) -> None:
    """From nothing, in a folder whose name holds everything, one command ends with report and data package."""
    project, done = first_run
    assert done.code == 0, done
    published = project.results / "published"
    assert {path.name for path in published.iterdir()} - {"report.pdf"} == PUBLISHED
    for line in (published / "SHA256SUMS").read_text("utf-8").splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256((published / name).read_bytes()).hexdigest() == digest
    assert len((published / "SHA256SUMS").read_text("utf-8").splitlines()) == len(list(published.iterdir())) - 1
    assert "<html" in (published / "index.html").read_text("utf-8")[:2000]


def test_executed_order_is_the_planned_one(first_run: tuple[Project, Done]) -> None:
    """Cells are measured in the seeded order, one after another and never two at a time."""
    project, _ = first_run
    planned = project.record("environment.json")["planned"]
    runs = project.runs()
    assert [run["cell"] for run in runs] == planned
    assert len(planned) == 4
    table = pq.read_table(project.results / "runs.parquet").to_pylist()
    assert [run["cell"] for run in sorted(table, key=lambda run: run["position"])] == planned
    for one, two in pairwise(runs):
        assert two["zero_ns"] > one["counters"]["database"][1]["at_ns"]


def test_every_scheduled_request_is_published(first_run: tuple[Project, Done]) -> None:
    """The request table holds each cell's whole schedule, and the runs add up to it."""
    project, _ = first_run
    requests = pq.read_table(project.results / "published" / "requests.parquet")
    runs = pq.read_table(project.results / "published" / "runs.parquet").to_pylist()
    assert requests.num_rows == 4 * 20
    assert [run["requests"] for run in runs] == [run["requests_ok"] for run in runs] == [20] * 4
    conditions = pq.read_table(project.results / "conditions.parquet").to_pylist()
    assert [(c["arm"], c["runs_measured"]) for c in conditions] == [("pool-1", 2), ("pool-3", 2)]
    # A busy test machine may make a run late; a condition is over the others.
    assert [c["requests"] for c in conditions] == [20 * c["runs_ok"] for c in conditions]
    for row in [*runs, *(c for c in conditions if c["runs_ok"])]:
        parts = ("scheduling_delay", "acquisition_wait", "query_round_trip", "release")
        assert sum(row[f"{part}_mean_ns"] for part in parts) == pytest.approx(row["overall_mean_ns"], rel=1e-12)


def test_what_a_person_sees(first_run: tuple[Project, Done]) -> None:
    """A paragraph before the start, one line a cell, the paths at the end, and nothing of Snakemake's own."""
    _, done = first_run
    lines = done.text.splitlines()
    assert lines[0] == "Poollab: Does it work?"
    assert "4 cells" in done.text
    assert "Lab: embedded (as configured)" in done.text
    cells = [line for line in lines if re.match(r"\[\d/4\] ", line)]
    assert [line[:5] for line in cells] == ["[1/4]", "[2/4]", "[3/4]", "[4/4]"]
    # Twenty requests have no p99: none lies beyond it.
    assert all(re.search(r"run \d  p99       -  [a-z+-]+", line) for line in cells)
    assert lines[-1].endswith("published")
    for noise in ("Building DAG", "Job stats", "Provided cores", "steps (", "Traceback", "rule ", "Warning"):
        assert noise not in done.text, noise
    assert len(lines) < 20


def test_nothing_is_left_after_success(first_run: tuple[Project, Done]) -> None:
    """After a study that ended well no process, group, shared memory or folder of its lab exists, and it says so."""
    project, _ = first_run
    assert project.traces() == []
    (block,) = project.record("cleanup.json")["blocks"]
    assert block["confirmed"]
    assert block["leftovers"] == []
    assert block["removed"]["process"] >= 5
    assert "confirmed that no container, volume, process, cgroup, socket or file" in block["sentence"]


def test_records_hold_no_path_of_this_machine(first_run: tuple[Project, Done]) -> None:
    """What is published can be given away: it names neither the folder nor the user's home."""
    project, _ = first_run
    for path in sorted((project.results / "published").iterdir()):
        assert str(project.folder).encode() not in path.read_bytes(), path.name
        assert b"/tmp/poollab-" not in path.read_bytes(), path.name


def test_tables_are_the_rows(first_run: tuple[Project, Done]) -> None:
    """A reader who computes a mean from the published requests gets the published mean."""
    project, _ = first_run
    rows = pq.read_table(project.results / "published" / "requests.parquet").to_pandas()
    for run in pq.read_table(project.results / "published" / "runs.parquet").to_pylist():
        mine = rows[rows["cell"] == run["cell"]]
        assert (mine["released_ns"] - mine["scheduled_ns"]).mean() == pytest.approx(run["overall_mean_ns"])
        overall = sorted((mine["released_ns"] - mine["scheduled_ns"]).tolist())
        assert run["overall_p95_ns"] == overall[19 - 1]
        assert run["overall_p99_ns"] == overall[20 - 1]


def test_a_second_time_measures_nothing(finished: Project) -> None:
    """The same command on a finished study exits 0 and changes no file of a cell, begins no block, starts no server."""
    before = finished.cells()
    done = finished.run()
    assert done.code == 0, done
    assert finished.cells() == before
    assert finished.blocks() == [1]
    assert "[1/4]" not in done.text


def test_a_touched_script_measures_nothing(finished: Project) -> None:
    """Touching the measuring script and adding a comment to it or to the package is no reason to measure again."""
    before = finished.cells()
    for name in ("scripts/measure.py", "workflow/poollab/run/cell.py", "workflow/rules/measure.smk", "Snakefile"):
        path = finished.folder / name
        path.write_text(path.read_text("utf-8") + "\n# A remark.\n", "utf-8")
    done = finished.run()
    assert done.code == 0, done
    assert finished.cells() == before
    assert finished.blocks() == [1]


def test_a_moved_project_measures_nothing(finished: Project, tmp_path: Path) -> None:
    """A project that was moved to another folder keeps what it has measured."""
    before = finished.cells()
    moved = Project(finished.folder.rename(tmp_path / "elsewhere"))
    done = moved.run()
    assert done.code == 0, done
    assert moved.cells() == before
    assert moved.blocks() == [1]


def test_an_edited_template_renders_again(finished: Project) -> None:
    """Editing a template makes a new report from the same measurements and the same tables."""
    before, tables = finished.cells(), (finished.results / "runs.parquet").stat().st_mtime_ns
    files = [path for path in (finished.folder / "reports/templates").rglob("*") if path.is_file()]
    template = next(path for path in files if "</body>" in path.read_text("utf-8", "replace"))
    text = template.read_text("utf-8")
    template.write_text(text.replace("</body>", "<!-- edited --></body>", 1), "utf-8")
    page = finished.results / "report" / "index.html"
    rendered = page.stat().st_mtime_ns
    done = finished.run()
    assert done.code == 0, done
    assert finished.cells() == before
    assert (finished.results / "runs.parquet").stat().st_mtime_ns == tables
    assert page.stat().st_mtime_ns > rendered
    assert "<!-- edited -->" in page.read_text("utf-8")
    assert (finished.results / "published" / "index.html").read_bytes() == page.read_bytes()


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"workloads.light.arrivals": {"uniform": {"every_ms": 12}}}, "workload.arrivals.uniform.every_ms"),
        ({"database.limits.cpus": 0.4}, "limits.database.cpus"),
        ({"windows.measure_s": 0.9}, "windows.measure_s"),
        ({"database.settings.work_mem": "2MB"}, "database.settings.work_mem"),
    ],
)
def test_other_settings_are_refused(finished: Project, change: dict[str, object], key: str) -> None:
    """Changing what was measured is refused with the key and both values, and nothing is started or touched."""
    before = finished.cells()
    finished.study({**TINY, **change})
    done = finished.run()
    assert done.code == 2, done
    assert f"{key}:" in done.text
    assert "in the results" in done.text
    assert "Traceback" not in done.text
    assert finished.cells() == before
    assert finished.blocks() == [1]


def test_another_pool_measures_only_its_cells(finished: Project) -> None:
    """Adding a pool measures the new cells in a second block, keeps the others, and reports on all of them."""
    before = finished.cells()
    finished.study({**TINY, "pools": [1, 3, 2]})
    done = finished.run()
    assert done.code == 0, done
    after = finished.cells()
    assert {name: after[name] for name in before} == before
    assert {name.split("/")[1] for name in set(after) - set(before)} == {"light.pool-2.r1", "light.pool-2.r2"}
    assert finished.blocks() == [1, 2]
    assert {run["cell"]: run["block"] for run in finished.runs()}["light.pool-2.r1"] == 2
    assert pq.read_table(finished.results / "runs.parquet").num_rows == 6
    assert len(finished.record("environment.json")["blocks"]) == 2
    assert finished.traces() == []


def test_a_title_is_no_setting(finished: Project) -> None:
    """Another title and another order of what is still to come measure nothing again."""
    before = finished.cells()
    finished.study({**TINY, "title": "Another title", "order.seed": 77})
    done = finished.run()
    assert done.code == 0, done
    assert finished.cells() == before
    assert finished.blocks() == [1]


def _collect(project: Project) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "scripts/collect.py", "results/tiny/environment.json"]
    return subprocess.run(words, cwd=project.folder, capture_output=True, text=True, check=False)


def test_a_truncated_cell_is_never_averaged_in(finished: Project) -> None:
    """A cell's file that lost 8 bytes is named, and no table is made from what is left."""
    path = finished.results / "cells" / "light.pool-1.r1" / "requests.parquet"
    path.write_bytes(path.read_bytes()[:-8])
    (finished.results / "runs.parquet").unlink()
    done = _collect(finished)
    assert done.returncode == 2
    assert "light.pool-1.r1/requests.parquet is truncated" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (finished.results / "runs.parquet").exists()


def test_a_cell_of_another_is_never_averaged_in(finished: Project) -> None:
    """Rows that belong to another cell are refused by what the file itself says."""
    cells = finished.results / "cells"
    other = (cells / "light.pool-3.r1" / "requests.parquet").read_bytes()
    (cells / "light.pool-1.r1" / "requests.parquet").write_bytes(other)
    done = _collect(finished)
    assert done.returncode == 2
    assert "says cell = light.pool-3.r1, expected light.pool-1.r1" in done.stderr


def test_arms_that_were_sent_different_things_are_not_compared(finished: Project) -> None:
    """Two arms of one repeat whose stimulus differs cannot be paired, so no table is made."""
    path = finished.results / "cells" / "light.pool-1.r2" / "run.json"
    record = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**record, "schedule_hash": "0" * 16}), "utf-8")
    done = _collect(finished)
    assert done.returncode == 2
    assert "were sent different schedules or arguments" in done.stderr
    assert "light.pool-1.r2" in done.stderr
    assert "light.pool-3.r2" in done.stderr
