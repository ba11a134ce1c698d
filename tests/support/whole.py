"""What a finished study must show, whatever it went through: all of it, once each, in its order, and nothing left."""

import pyarrow.parquet as pq
from support.project import Project


def executed(project: Project) -> list[str]:
    """Return the cells in the order in which they were measured, by block and monotonic clock."""
    return [run["cell"] for run in sorted(project.runs(), key=lambda run: (run["block"], run["zero_ns"]))]


def is_whole(project: Project, planned: list[str], requests: int) -> None:
    """See that every request of every planned cell is there once, in seeded order, and every block was ended."""
    assert executed(project) == planned
    assert project.record("state/session.json")["planned"] == planned
    rows = pq.read_table(project.results / "requests.parquet", columns=["cell", "request"]).to_pylist()
    found = sorted((row["cell"], row["request"]) for row in rows)
    assert found == sorted((cell, number) for cell in planned for number in range(requests))
    ended = [project.record(f"state/blocks/{number}/teardown.json")["confirmed"] for number in project.blocks()]
    assert ended == [True] * len(project.blocks())
    assert project.traces() == []
