"""A comparison of two pools as a user runs it: what is measured, what need not be, and what a second command does."""

import json
from pathlib import Path

import pytest
from support.project import Project

STUDY = """
title: Does resetting a connection cost anything?
analysis: pool-implementations
database:
  tables: {pool_lab: {rows: 10}}
  settings: {max_connections: 20, shared_buffers: 16MB}
arms:
  reset: {client: asyncpg, size: 2}
  bare: {client: asyncpg, size: 2, reset: false}
baseline: reset
candidate: bare
confirm: {threshold: 0.5, passes: 3}
repeats: 3
workloads:
  # A reset is most of such a check-out, and nothing beside a hold.
  alone: {benchmark: {family: single-caller, pool: 1, operations: 50, iterations: 3}}
  held: {benchmark: {family: random-hold, callers: 2, pool: 2, operations: 4, iterations: 2}}
"""


@pytest.mark.slow
def test_only_rows_that_differ_are_measured_again(tmp_path: Path) -> None:
    """One command ends in a report; the row that differs is confirmed, the other one has one pass and says so."""
    project = Project.copy(tmp_path / "pools")
    (project.folder / "config" / "studies" / "tiny.yaml").write_text(STUDY, "utf-8")
    done = project.run()
    assert done.code == 0, done
    records = {p.parent.name: json.loads(p.read_text("utf-8")) for p in project.results.glob("cells/*/run.json")}
    if any("host-busy" in record["status"] for record in records.values()):
        pytest.skip("others took so much of this machine that its runs do not count")
    found = project.record("analysis.json")
    words = {row["workload"]: row["word"] for row in found["rows"]}
    assert words == {"alone": "confirmed faster", "held": "no difference"}, found["rows"]
    not_needed = sorted(name for name, record in records.items() if record["status"] == "not-needed")
    assert not_needed == [f"held.{arm}.r{number}" for arm in ("bare", "reset") for number in (2, 3)]
    assert done.text.count("not-needed") == 4
    page = (project.results / "published" / "index.html").read_text("utf-8")
    assert "confirmed faster" in page
    assert "asyncpg.pool.Pool" in page
    assert project.traces() == []
    again = project.run()
    assert again.code == 0, again
    assert "all 12 cells are measured" in again.text
    # A first pass that is measured anew takes the decision along.
    (project.results / "cells" / "held.reset.r1" / "iterations.parquet").unlink()
    third = project.run()
    assert third.code == 0, third
    assert len(list((project.results / "attempts").iterdir())) == 1 + 4
    assert project.traces() == []
