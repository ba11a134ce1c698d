"""What is kept of a benchmark's cell: when check-outs were due, and only what was looked at."""

from array import array
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from poollab.load.families.stamps import Stamps
from poollab.load.rows import ABSENT, OK, UNFINISHED
from poollab.run import benchmark_keep, benchmark_tables


def stamps(starts: list[int], releases: list[int]) -> Stamps:
    """Return two callers with two check-outs each, which are held for no time at all."""
    made = Stamps(4)
    made.started, made.released = array("q", starts), array("q", releases)
    made.acquired = array("q", [start + 1 for start in starts])
    made.iteration, made.backend = array("q", [0] * 4), array("q", [1] * 4)
    return made


def test_a_caller_that_ran_late_was_due_when_its_wave_began(tmp_path: Path) -> None:
    """The second caller runs when the first is through: its queueing is in its first check-out."""
    made = stamps([1010, 1020, 1030, 1040], [1020, 1030, 1040, 1050])
    made.due([0, 2], 1005)
    made.write(tmp_path / "stamps.bin", 1000)
    columns = benchmark_tables.read_stamps(tmp_path / "stamps.bin", 4)
    assert columns["scheduled"].tolist() == [5, 20, 5, 40]
    assert columns["started"].tolist() == [10, 20, 30, 40]


def test_after_a_failed_check_out_the_next_is_due_when_it_begins(tmp_path: Path) -> None:
    """A check-out that was never given back cannot say when the next one was due."""
    made = stamps([1010, 1025, 1030, 1040], [ABSENT, 1030, 1040, 1050])
    made.due([0, 2], 1005)
    made.errors[0] = "TimeoutError: "
    made.write(tmp_path / "stamps.bin", 1000)
    assert benchmark_tables.read_stamps(tmp_path / "stamps.bin", 4)["scheduled"].tolist() == [5, 25, 5, 40]


def ends(family: str, status: list[int]) -> dict[str, Any]:
    """Return what is kept of the ends of a cell of one warm-up check-out and two measured ones."""
    row = {"family": family, "pool": 2, "warm_up_iterations": 1}
    iterations = [{"iteration": 0, "connects": 2}, {"iteration": 1, "connects": 3}]
    facts = {"zero_ns": 50, "connects": [(10, 1), (20, 2), (60, 3)], "iterations": iterations}
    seen: Any = SimpleNamespace(facts=facts, sessions=(2, 3))
    return benchmark_keep._ends(row, {"status": np.array(status)}, np.array([True, False, False]), seen)


def test_only_what_was_looked_at_is_kept() -> None:
    """Connections are those that were made; nobody tried at the end whether all could be taken."""
    found = ends("rapid-fire", [OK, OK, OK])
    assert (found["connections"], found["new_connections"], found["reachable"]) == (2, 3, None)
    assert (found["warm_up_drained"], found["finished"]) == (True, True)
    assert ends("rapid-fire", [OK, OK, UNFINISHED])["finished"] is False
    fresh = ends("cold-start-ramp", [OK, OK, OK])
    assert (fresh["connections"], fresh["new_connections"]) == (None, None)


@pytest.mark.parametrize(("pool", "word"), [(2, []), (1, ["unclean"])])
def test_more_connections_in_use_than_there_are_do_not_count(pool: int, word: list[str]) -> None:
    """Two check-outs that hold a connection at once are stamps of no pool of one."""
    columns = {"acquired": np.array([1, 2]), "result": np.array([5, 6])}
    assert [found for found, _ in benchmark_keep._implausible({"pool": pool}, columns)] == word
