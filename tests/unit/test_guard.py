"""What the guard says when it trips: which reading, in which phase, and who is busiest where processes are too much."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from poollab.errors import SafetyStop
from poollab.run import busiest as looks
from poollab.run import guard as guards
from poollab.run.busiest import Busy, busiest
from poollab.run.guard import Guard, Reading, Thresholds
from poollab.study.machine import Safety

CALM = Reading(0, 0, 0, 0, runnable=1, available_bytes=8 << 30, free_disk_bytes=8 << 30, temperature_c=None)
S = 1_000_000_000
BURN = "while True: pass  # hunter2"


class Host(Guard):
    """A guard on a host that the test describes: readings come from a list, on two CPUs."""

    def __init__(self, readings: list[Reading], **limits: Any) -> None:
        super().__init__(replace(Thresholds.of(Safety().model_dump()), **limits), [], [Path("/")])
        self._cpus, self._coming = 2, readings

    def look(self) -> None:
        """Take the next reading; the last one stays."""
        self._readings.append(self._coming.pop(0) if len(self._coming) > 1 else self._coming[0])


def _busy(cpus: float, seconds: float = 3.0) -> list[Reading]:
    """Return two readings between which others took so many CPUs."""
    return [CALM, replace(CALM, at_ns=round(seconds * S), busy_ns=round(cpus * seconds * S))]


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Note each look for the culprit, and give one without waiting."""
    calls: list[object] = []

    def found(ours: list[int]) -> Busy:
        calls.append(ours)
        return Busy(4711, "stress", 0.98)

    monkeypatch.setattr(guards, "busiest", found)
    monkeypatch.setattr(guards.time, "sleep", lambda _: None)
    return calls


class Used:
    """A side whose group has used 100 s of CPU in earlier cells."""

    def read_cpu(self) -> int:
        """Return its total."""
        return 100 * S

    def pids(self) -> list[int]:
        """Return no process."""
        return []


def test_what_a_side_used_before_hides_nobody() -> None:
    """The generator's group lives longer than a cell: its total is no CPU of ours in the moment it is looked at."""
    first, last = (replace(reading, own_ns=100 * S) for reading in _busy(1.5))
    guard = Host([CALM, first, last])
    guard.look()
    guard.count_too(Used())  # type: ignore[arg-type]
    guard.look()
    guard.look()
    assert "others use 1.50 of 2 CPUs" in str(guard.trouble(2.0))


@pytest.mark.parametrize("phase", ["the warm-up", "the measurement"])
def test_a_stop_names_reading_phase_and_culprit(looked: list[object], phase: str) -> None:
    """Who reads the message knows what was over which limit, when in the cell, and whom to ask."""
    guard = Host(_busy(1.5))
    guard.look()
    with pytest.raises(SafetyStop) as stop:
        guard.check(phase)
    text = str(stop.value)
    assert "others use 1.50 of 2 CPUs (allowed 0.50, safety.other_cpu = 0.25)" in text
    assert f"during {phase}" in text
    assert "the busiest of them just now is process 4711 (stress) with 0.98 CPUs" in text
    assert len(looked) == 1


def test_nobody_is_looked_for_while_all_is_well(looked: list[object]) -> None:
    """A guard that does not trip costs no look at other processes."""
    guard = Host(_busy(0.2))
    for _ in range(5):
        guard.look()
        guard.check("the measurement")
    assert looked == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"available_bytes": 1 << 20}, "1 MiB of memory are available"),
        ({"free_disk_bytes": 1 << 20}, "1 MiB of disk are free"),
        ({"temperature_c": 99.0}, "a sensor reads 99 degrees C"),
        ({"steal_ns": 3 * S}, "50% of the CPU time is stolen"),
    ],
)
def test_no_process_is_blamed_for_what_none_takes(looked: list[object], change: dict[str, Any], says: str) -> None:
    """Memory, disk, heat and a hypervisor are named alone: a busy process is not their cause."""
    guard = Host([CALM, replace(CALM, at_ns=3 * S, **change)])
    guard.look()
    with pytest.raises(SafetyStop, match=says) as stop:
        guard.check("the measurement")
    assert "busiest" not in str(stop.value)
    assert looked == []


def test_many_runnable_processes_are_a_crowd(looked: list[object]) -> None:
    """More runnable processes than allowed stop the run, with the busiest named."""
    guard = Host([replace(CALM, runnable=99), replace(CALM, runnable=99, at_ns=3 * S)])
    guard.look()
    with pytest.raises(SafetyStop, match=r"99 processes are runnable .* during the warm-up; the busiest"):
        guard.check("the warm-up")
    assert len(looked) == 1


def test_threads_and_sessions_of_the_cell_are_no_crowd(looked: list[object]) -> None:
    """Four thousand threads of the load generator may all be runnable: what is beyond them and the limit counts."""
    guard = Host([CALM, replace(CALM, runnable=4010), replace(CALM, runnable=4010, at_ns=3 * S)])
    guard.look()
    guard.count_too(Used(), 4009)  # type: ignore[arg-type]
    guard.look()
    guard.check("the measurement")
    guard = Host([replace(CALM, runnable=4030), replace(CALM, runnable=4030, at_ns=3 * S)])
    guard.count_too(Used(), 4009)  # type: ignore[arg-type]
    guard.look()
    with pytest.raises(SafetyStop, match=r"4030 .* \(allowed 16, safety.runnable_per_cpu and 4009 .* cell's own\)"):
        guard.check("the measurement")


def test_waiting_says_for_what_and_how_long_at_most(looked: list[object]) -> None:
    """The one line before a cell names reading, culprit and bound; a calm host then lets the cell begin."""
    calm = [replace(CALM, at_ns=seconds * S, busy_ns=round(1.5 * 3 * S)) for seconds in (4, 6)]
    guard, lines = Host([*_busy(1.5), *calm], calm_within_s=300), list[str]()
    guard.wait_until_calm(lines.append)
    assert len(lines) == 1
    assert lines[0].startswith("Waiting for a calm host: others use 1.50 of 2 CPUs")
    assert "process 4711 (stress)" in lines[0]
    assert lines[0].endswith("For at most 300 s.")


def test_a_host_that_stays_busy_is_a_stop_before_the_cell(looked: list[object]) -> None:
    """After the longest wait the stop says that no cell had begun, and for how long it was waited."""
    guard = Host(_busy(1.5) * 2, calm_within_s=0)
    with pytest.raises(SafetyStop, match=r"others use .* before the cell, for 0 s .*process 4711"):
        guard.wait_until_calm(lambda _: None)


@pytest.fixture
def burner() -> Iterator["subprocess.Popen[bytes]"]:
    """A process that keeps a CPU busy and has a secret among its arguments."""
    process = subprocess.Popen([sys.executable, "-ISc", BURN])
    yield process
    process.kill()
    process.wait()


def test_a_busy_process_is_found_by_number_and_name(burner: "subprocess.Popen[bytes]") -> None:
    """A real burner is seen with what it took; the kernel's name of it is told, never its arguments."""
    found = looks._used()
    (mine,) = [value for (pid, _), value in found.items() if pid == burner.pid]
    assert mine[0].startswith("python")
    everybody = {pid for pid, _ in found} - {burner.pid}
    most = busiest(everybody, 0.4)
    assert most is not None
    assert most.cpus > 0.05
    assert "hunter2" not in str(most)


def test_our_own_processes_are_no_culprits(burner: "subprocess.Popen[bytes]") -> None:
    """What the study itself runs is not blamed, however busy it is."""
    most = busiest([burner.pid], 0.3)
    assert most is None or most.pid != burner.pid


def test_a_process_cannot_steer_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name with control characters comes out harmless; a process that was born meanwhile counts from nothing."""
    seen = [{}, {(7, 1): (looks._plain("a\x1b[2J) b"), 100)}]
    monkeypatch.setattr(looks, "_used", lambda: seen.pop(0))
    most = busiest([], 0.05)
    assert most is not None
    assert (most.pid, most.name) == (7, "a?[2J) b")


def test_who_takes_next_to_nothing_is_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that took less than a twentieth of a CPU disturbs nobody."""
    seen = [{(7, 1): ("quiet", 10)}, {(7, 1): ("quiet", 10)}]
    monkeypatch.setattr(looks, "_used", lambda: seen.pop(0))
    assert busiest([], 0.05) is None
