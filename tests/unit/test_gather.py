"""What several generator processes wrote comes out as one run's facts."""

import json
from pathlib import Path
from typing import Any

from poollab.run import gather

FACTS: dict[str, Any] = {
    "plan": "generic",
    "prepare_ns": 1_000,
    "backends": [10, 11],
    "reachable": 2,
    "connects": 2,
    "max_rss_bytes": 100,
    "warm_up_drained": True,
    "finished": True,
    "exhausted": False,
    "compute": None,
    "memory": {"rss_before_requests_bytes": 50, "peak_rss_bytes": 90, "traced_peak_bytes": None,
               "peak_covers_window_only": True},
}  # fmt: skip


def _write(folder: Path, number: int, **changes: Any) -> None:
    (folder / str(number)).mkdir()
    (folder / str(number) / "facts.json").write_text(json.dumps({**FACTS, **changes}), "utf-8")


def test_memory_of_several_processes_is_one_sum(tmp_path: Path) -> None:
    """Memory is that of the whole load generator, and the longest preparation is the one that was waited for."""
    _write(tmp_path, 0)
    second = {**FACTS["memory"], "peak_rss_bytes": 60, "peak_covers_window_only": False}
    _write(tmp_path, 1, memory=second, prepare_ns=3_000, backends=[12], reachable=1)
    found = gather.facts(tmp_path, {"processes": 2})
    assert found["memory"] == {
        "rss_before_requests_bytes": 100,
        "peak_rss_bytes": 150,
        "traced_peak_bytes": None,
        "peak_covers_window_only": False,
    }
    assert (found["prepare_ns"], found["backends"], found["reachable"]) == (3_000, [10, 11, 12], 3)
