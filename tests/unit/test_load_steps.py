"""What a request does, as the load generator holds it: steps, loops, waits and the bound on blocking calls."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
import time
from array import array
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import psycopg
import pytest

from poollab.errors import MeasurementError
from poollab.load import compute, kin, loop, requests
from poollab.load.clients import watch
from poollab.load.clients.watch import Watch
from poollab.load.closed import Loops
from poollab.load.requests import Tools
from poollab.load.rows import ABSENT, ACQUIRE_TIMEOUT, ERROR, OK, QUERY_TIMEOUT, Rows
from poollab.load.sleeper import Sleeper
from poollab.load.steps import Steps, read
from poollab.load.window import Window
from poollab.run import gather

QUERY = {"do": "query", "sql": "SELECT $1", "args": [1], "times": None}


def _steps(*parts: dict[str, Any], columns: list[list[int]] | None = None) -> Steps:
    made = columns or [[0, 10, 20], [7, 8, 9], [2, 0, 1]]
    return Steps(parts, [array("q", column) for column in made], len(made[0]))


def test_steps_are_sorted_by_who_needs_a_connection() -> None:
    """The connection is held from the first statement or hold to the last one; work in between is done with it."""
    wait, work, hold = ({"do": do, "ns": 2} for do in ("wait", "compute", "hold"))
    steps = _steps(wait, work, QUERY, work, hold, work, wait)
    assert [step.do for step in steps.before] == ["wait", "compute"]
    assert [step.do for step in steps.inside] == ["query", "compute", "hold"]
    assert [step.do for step in steps.after] == ["compute", "wait"]
    alone = _steps(wait, work)
    assert (len(alone.before), alone.inside, alone.after) == (2, [], [])


def test_only_one_plain_statement_is_single() -> None:
    """The short way through the client is for one statement that every request sends once."""
    assert _steps(QUERY).single
    assert not _steps({**QUERY, "times": 2}).single
    assert not _steps({"do": "wait", "ns": 2}, QUERY).single
    assert not _steps({"do": "hold", "ns": 2}).single


def test_a_request_that_skips_its_statements_takes_no_connection() -> None:
    """A statement that is sent by a share of the requests needs a connection in those only, a hold in all."""
    sometimes = {**QUERY, "times": 2}
    assert [_steps(sometimes).needed()(number) for number in range(3)] == [True, False, True]
    assert [_steps(sometimes, QUERY).needed()(number) for number in range(3)] == [True] * 3
    assert [_steps(sometimes, {"do": "hold", "ns": 2}).needed()(number) for number in range(3)] == [True] * 3
    assert not _steps({"do": "wait", "ns": 2}).needed()(0)
    assert _steps(QUERY).inside[0].values == [(7,), (8,), (9,)]


def test_processes_share_out_the_schedule(tmp_path: Path) -> None:
    """Request i goes to process i modulo the number of processes, with its own arguments, and none is sent twice."""
    due, argument = np.arange(7) * 10, np.arange(7) + 100
    (tmp_path / "schedule.bin").write_bytes(due.astype("<i8").tobytes() + argument.astype("<i8").tobytes())
    seen = []
    for process in range(3):
        with (tmp_path / "schedule.bin").open("rb") as file:
            columns = read({"count": 7, "columns": 1}, file, process, 3)
        assert [a - 100 for a in columns[1]] == [d // 10 for d in columns[0]]
        seen += list(columns[0])
    assert sorted(seen) == due.tolist()


def _spec(tmp_path: Path, processes: int, arrivals: dict[str, Any], count: int) -> dict[str, Any]:
    part = {"count": count, "columns": 0}
    for number, folder in enumerate(gather.folders(tmp_path, processes)):
        folder.mkdir(exist_ok=True)
        error = {"0": f"of process {number}"}
        facts = {"errors": error, "warm_up_errors": {}}
        (folder / "facts.json").write_text(json.dumps(facts), "utf-8")
    return {"processes": processes, "arrivals": arrivals, "measure": part, "warm_up": part}


def _write(folder: Path, scheduled: list[int], begun: int | None = None) -> None:
    rows = Rows(len(scheduled))
    rows.scheduled = array("q", [at + 1000 for at in scheduled])
    rows.started = array("q", [at + 1001 for at in scheduled])
    rows.write(folder / "measure.bin", 1000, begun)


def test_rows_of_several_processes_become_one_schedule(tmp_path: Path) -> None:
    """Rows stand in the order of the schedule with their process, and an error stays with its request."""
    spec = _spec(tmp_path, 2, {"kind": "open"}, 5)
    _write(tmp_path / "0", [0, 20, 40])
    _write(tmp_path / "1", [10, 30])
    columns, errors = gather.rows(tmp_path, spec, "measure")
    assert columns["scheduled"].tolist() == [0, 10, 20, 30, 40]
    assert columns["process"].tolist() == [0, 1, 0, 1, 0]
    assert (columns["started"] - columns["scheduled"]).tolist() == [1] * 5
    assert (columns["acquired"] == ABSENT).all()
    assert errors == {"0": "of process 0", "1": "of process 1"}
    _write(tmp_path / "1", [10])
    with pytest.raises(MeasurementError, match="rows are missing"):
        gather.rows(tmp_path, spec, "measure")


def test_rows_of_loops_stand_by_their_time(tmp_path: Path) -> None:
    """A closed loop writes what it began and nothing else; the processes' rows are sorted into one order."""
    spec = _spec(tmp_path, 2, {"kind": "closed"}, 1000)
    _write(tmp_path / "0", [5, 50, 7777], begun=2)
    _write(tmp_path / "1", [1, 20, 60], begun=3)
    columns, errors = gather.rows(tmp_path, spec, "measure")
    assert columns["scheduled"].tolist() == [1, 5, 20, 50, 60]
    assert columns["process"].tolist() == [1, 0, 1, 0, 1]
    assert errors == {"0": "of process 1", "1": "of process 0"}


def test_loops_stop_at_the_end_and_at_the_last_row() -> None:
    """A worker begins nothing that is due after the window, and one without a row left says that it was cut short."""
    rows = Rows(2)
    loops = Loops(rows, think_ns=5, length_ns=100)
    loops.start(1000)
    assert loops.take(1000) == 0
    rows.released[0] = 1040
    assert loops.following(0) == 1045
    rows.ended[0] = 1060
    assert loops.following(0) == 1065, "what follows the release counts"
    assert loops.take(1100) is None
    assert not loops.exhausted
    assert loops.take(1065) == 1
    assert loops.take(1070) is None
    assert loops.exhausted
    assert loops.begun() == 2
    assert rows.scheduled.tolist() == [1000, 1065]


def test_workers_are_shared_out_too(tmp_path: Path) -> None:
    """Five workers in two processes are three and two, each process with room for its part of the requests."""
    arrivals = {"kind": "closed", "workers": 5, "think_ns": 0, "window_ns": {"measure": 10**9}}
    spec = {"arrivals": arrivals, "measure": {"count": 9, "columns": 0}, "steps": []}
    (tmp_path / "zeros").write_bytes(bytes(72))
    sizes = []
    for process in range(2):
        with (tmp_path / "zeros").open("rb") as file:
            window = Window("measure", spec, file, process, 2)
        sizes.append((len(window.due), len(window.rows), window.length_ns))
    assert sizes == [(3, 5, 10**9), (2, 4, 10**9)]


def test_waits_are_never_too_short() -> None:
    """Many waits on one timer each end at their time or after it, in order, whatever order they were asked in."""

    async def run() -> list[int]:
        sleeper, begun = Sleeper(asyncio.get_running_loop()), time.monotonic_ns()
        dues = [begun + ms * 1_000_000 for ms in (9, 3, 6, 3, 1)]

        async def wait(due: int) -> int:
            await sleeper.until(due)
            return time.monotonic_ns() - due

        late = await asyncio.gather(*(wait(due) for due in dues))
        sleeper.close()
        return list(late)

    late = asyncio.run(run())
    assert min(late) >= 0
    assert max(late) < 500_000_000


def test_work_has_the_length_it_was_calibrated_to() -> None:
    """20 ms of work take about 20 ms of CPU time: the rate is measured in CPU time, so others do not stretch it."""
    turns = round(20e6 * compute.calibrate())
    took = []
    for _ in range(5):
        begun = time.thread_time_ns()
        compute.burn(turns)
        took.append(time.thread_time_ns() - begun)
    assert 14e6 < min(took) < 40e6


class _Connection:
    """A connection whose server answers a cancellation, or does not."""

    def __init__(self, *, answers: bool) -> None:
        self.line, self.server = socket.socketpair()
        self.pgconn = SimpleNamespace(socket=self.line.fileno())
        self.cancelled, self._answers = threading.Event(), answers

    def cancel_safe(self, timeout: float) -> None:
        self.cancelled.set()
        if self._answers:
            self.server.sendall(b"!")
        else:
            raise psycopg.errors.CancellationTimeout(f"after {timeout} s")

    def call(self) -> bytes:
        """Block until the server says something or the line ends."""
        return self.line.recv(1)

    def close(self) -> None:
        """End both sides."""
        self.line.close()
        self.server.close()


@pytest.mark.parametrize("answers", [True, False])
def test_a_blocking_call_is_bounded(monkeypatch: pytest.MonkeyPatch, *, answers: bool) -> None:
    """A call that takes too long is cancelled, and where the server does not answer its line is cut: never a hang."""
    monkeypatch.setattr(watch, "CANCEL_S", 0.1)
    connection, guard = _Connection(answers=answers), Watch(0.05)
    begun = time.monotonic()
    guard.begin(connection)
    assert connection.call() == (b"!" if answers else b"")
    with pytest.raises(TimeoutError):
        guard.end(connection)
    assert connection.cancelled.is_set()
    assert 0.05 <= time.monotonic() - begun < 5
    guard.close()
    connection.close()


def test_a_call_in_time_is_left_alone() -> None:
    """Calls that return in time raise nothing and cancel nothing, however many follow one another."""
    connection, guard = _Connection(answers=True), Watch(0.2)
    for _ in range(50):
        guard.begin(connection)
        time.sleep(0.005)
        guard.end(connection)
    assert not connection.cancelled.is_set()
    guard.close()
    connection.close()


class _Pool:
    """A client whose calls fail as they are told."""

    timeouts = (TimeoutError,)

    def __init__(self, **failing: BaseException) -> None:
        self._failing = failing

    async def _do(self, what: str) -> "_Pool":
        await asyncio.sleep(0)
        if what in self._failing:
            raise self._failing[what]
        return self

    def acquire(self) -> Any:
        return self._do("acquire")

    def query(self, _connection: Any, _sql: str, _values: Any) -> Any:
        return self._do("query")

    def release(self, _connection: Any) -> Any:
        return self._do("release")

    def backend(self, _connection: Any) -> int:
        return 7


REACHED = ("started", "acquired", "result", "released")
FAILURES: list[tuple[dict[str, BaseException], int, tuple[str, ...], str | None]] = [
    ({}, OK, REACHED, None),
    ({"acquire": TimeoutError()}, ACQUIRE_TIMEOUT, ("started",), None),
    ({"acquire": OSError("gone")}, ERROR, ("started",), "OSError: gone"),
    ({"query": TimeoutError()}, QUERY_TIMEOUT, ("started", "acquired", "released"), None),
    ({"query": ValueError("no\nway")}, ERROR, ("started", "acquired", "released"), "ValueError: no"),
    ({"release": TimeoutError()}, ERROR, ("started", "acquired", "result"), "TimeoutError: "),
    ({"query": TimeoutError(), "release": TimeoutError()}, ERROR, ("started", "acquired"), "TimeoutError: "),
]


@pytest.mark.parametrize("short", [True, False], ids=["single", "steps"])
@pytest.mark.parametrize(("failing", "status", "reached", "error"), FAILURES)
def test_every_failure_is_a_row(
    failing: dict[str, BaseException], status: int, reached: tuple[str, ...], error: str | None, *, short: bool
) -> None:
    """A connection, a statement or a release that fails or hangs is a row that says so, by either way to a client."""
    rows, steps, pool = Rows(1), _steps(QUERY, columns=[[0], [7]]), _Pool(**failing)

    async def run() -> None:
        tools = Tools(asyncio.get_running_loop(), 0.0, None)
        if short:
            await requests.single(pool, rows, steps.inside[0])(0)
        else:
            await requests.general(rows, steps, tools, requests.held(pool, rows, steps, tools))(0)
        tools.sleeper.close()

    asyncio.run(run())
    assert rows.status[0] == status
    assert [name for name in REACHED if getattr(rows, name)[0] != ABSENT] == list(reached)
    assert rows.errors.get(0) == error


@pytest.mark.parametrize("made_before", [0, 1000])
def test_a_long_schedule_is_made_as_it_goes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, made_before: int) -> None:
    """Whether coroutines exist before the clock or are made at their launch, every request is sent once and in time."""
    monkeypatch.setattr(loop, "MADE_BEFORE", made_before)
    due, argument = np.arange(50) * 1_000_000, np.arange(50)
    (tmp_path / "schedule.bin").write_bytes(due.astype("<i8").tobytes() + argument.astype("<i8").tobytes())
    arrivals = {"kind": "open", "window_ns": {"measure": 50_000_000}}
    spec = {"arrivals": arrivals, "measure": {"count": 50, "columns": 1}, "steps": [QUERY], "timeouts": {"drain_s": 5}}
    with (tmp_path / "schedule.bin").open("rb") as file:
        window = Window("measure", spec, file, 0, 1)
    engine = loop.LoopEngine(_Pool(), spec, 0.0, None)
    zero = time.monotonic_ns() + 5_000_000
    assert engine.run(window, engine.prepare(window), zero)
    assert window.end(zero) == 50
    rows = window.rows
    assert set(rows.status) == {OK}
    assert all(start >= at for start, at in zip(rows.started, rows.scheduled, strict=True))
    assert [at - zero for at in rows.scheduled] == due.tolist()


def test_processes_end_together(tmp_path: Path) -> None:
    """When one of several processes fails the others are ended, and its exit code is that of all."""
    program = tmp_path / "program.py"
    program.write_text(
        "import sys, time\n"
        "from poollab.load import kin\n"
        "def work(number):\n"
        "    if number == 1:\n"
        "        raise SystemExit('no pool')\n"
        "    time.sleep(60)\n"
        "sys.exit(kin.run_all(3, work))\n"
    )
    package = Path(kin.__file__).resolve().parents[2]
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, str(program)],
        env={"PYTHONPATH": str(package), "PATH": os.defpath},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr.strip()) == (1, "no pool")
    assert time.monotonic() - begun < 30


def test_statuses_start_as_unfinished() -> None:
    """A request that nobody touched is written as unfinished and not as ok."""
    assert OK not in Rows(3).status
