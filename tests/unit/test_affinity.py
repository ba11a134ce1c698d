"""Which CPUs the two sides of a benchmark use."""

import os
import subprocess
import sys

import pytest

from poollab.lab import affinity


@pytest.mark.parametrize(
    ("cpus", "expected"),
    [
        ([0, 1], ([0], [1])),
        ([3, 0, 1], ([0, 1], [3])),
        (range(4), ([0, 1], [2, 3])),
        ([5], None),
        ([], None),
    ],
)
def test_halves_are_disjoint_and_leave_no_cpu_out(
    cpus: list[int], expected: tuple[list[int], list[int]] | None
) -> None:
    """The database takes the larger half; with one CPU there is nothing to share out."""
    assert affinity.halves(cpus) == expected


@pytest.mark.parametrize(
    ("cores", "expected"),
    [
        (["0,4", "1,5", "2,6", "3,7"] * 2, ([0, 1, 4, 5], [2, 3, 6, 7])),
        (["0,3", "1,4", "2,5"] * 2, ([0, 1, 3, 4], [2, 5])),
        (["0-1", "0-1"], ([0], [1])),
    ],
)
def test_threads_of_one_core_stay_on_one_side(cores: list[str], expected: tuple[list[int], list[int]]) -> None:
    """Two sides on the threads of the same cores would share them; a single core is shared out all the same."""
    assert affinity.halves(range(len(cores)), cores.__getitem__) == expected


def test_pinned_processes_stay_on_their_cpus() -> None:
    """What is pinned reads back so, and a process that has ended is no fault."""
    here = sorted(os.sched_getaffinity(0))
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        assert affinity.pin([child.pid], here[:1]) == ""
        assert os.sched_getaffinity(child.pid) == {here[0]}
    finally:
        child.communicate(b"\n")
    assert affinity.pin([child.pid], here[:1]) == ""


def test_a_refusal_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where this user may not move the server, the record says so and the run goes on."""

    def refuse(_pid: int, _cpus: list[int]) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setaffinity", refuse)
    assert affinity.pin([1], [0]) == "the server's processes cannot be kept to some CPUs (Operation not permitted)"
