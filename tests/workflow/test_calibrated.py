"""What is left to the machine is found once a study, before its first cell, and every run rests on it."""

import json
from typing import Any

import pytest
from support.project import Project

STUDY: dict[str, Any] = {
    "repeats": 1,
    "pools": [2, 3],
    "workloads.light.arrivals": {"poisson": {"share_of_capacity": 0.1}},
    "workloads.light.sql": "SELECT count(md5(payload)) FROM pool_lab WHERE id > $1 AND id <= $2",
    "workloads.light.args": [{"int": [0, 5]}, {"calibrated": {"cpu_ms": 0.3, "from": 10, "to": 2000}}],
    "calibration": {"seconds": 0.5, "arm": "pool-3"},
}


def _records(project: Project) -> dict[str, dict[str, Any]]:
    return {p.parent.name: json.loads(p.read_text("utf-8")) for p in project.results.glob("cells/*/run.json")}


@pytest.mark.slow
def test_a_study_is_calibrated_once_and_grows_on_the_same_calibration(fresh: Project) -> None:
    """Capacity and argument are found, recorded and told; a later block with another pool takes them from there."""
    fresh.study(STUDY)
    first = fresh.run()
    assert first.code == 0, first
    assert "Found once before the first cell, and recorded: " in first.text
    assert "Capacity for light: " in first.text
    assert "Statement of light: $2 = " in first.text
    kept = json.loads((fresh.results / "state" / "calibration.json").read_text("utf-8"))["found"]
    kinds = {entry["kind"]: entry for entry in kept.values()}
    assert abs(kinds["argument"]["cpu_ms"] / 0.3 - 1) <= 0.10
    assert kinds["capacity"]["arm"] == "pool-3"
    want = {"capacity_per_s": kinds["capacity"]["capacity_per_s"], "arguments": {"0.1": kinds["argument"]["value"]}}
    assert [record["calibration"] for record in _records(fresh).values()] == [want, want]
    fresh.study({**STUDY, "pools": [2, 3, 4]})
    second = fresh.run()
    assert second.code == 0, second
    assert "Capacity for light: " not in second.text
    records = _records(fresh)
    assert len(records) == 3
    assert {json.dumps(record["calibration"], sort_keys=True) for record in records.values()} == {
        json.dumps(want, sort_keys=True)
    }
    assert len({record["schedule_hash"] for record in records.values()}) == 1
    assert fresh.traces() == []
