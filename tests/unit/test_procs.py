"""Processes as /proc shows them: a pid alone is no identity, and a zombie is no process."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from poollab.lab import procs

SLEEP = "import time; time.sleep(60)"


@pytest.fixture
def sleeper() -> Iterator["subprocess.Popen[bytes]"]:
    """A real process that sleeps, in a session of its own."""
    process = subprocess.Popen([sys.executable, "-c", SLEEP], start_new_session=True)
    yield process
    process.kill()
    process.wait()


def test_identity_is_pid_and_start_time(sleeper: "subprocess.Popen[bytes]") -> None:
    """A process that reuses a dead one's number is not taken for it."""
    started = procs.start_time(sleeper.pid)
    assert started is not None
    assert procs.alive(sleeper.pid, started)
    assert procs.alive(sleeper.pid, None)
    assert not procs.alive(sleeper.pid, started + 1)


def test_a_zombie_does_not_count(sleeper: "subprocess.Popen[bytes]") -> None:
    """A process that has ended and is not reaped yet holds nothing, so it is no leftover."""
    started = procs.start_time(sleeper.pid)
    os.kill(sleeper.pid, signal.SIGKILL)
    deadline = time.monotonic() + 5
    while procs.alive(sleeper.pid, started) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not procs.alive(sleeper.pid, started)
    assert sleeper.pid not in procs.descendants(os.getpid())


def test_nobody_is_not_alive() -> None:
    """A pid that no process has is not alive and has no start time."""
    assert procs.start_time(2**22 + 7) is None
    assert not procs.alive(2**22 + 7, None)
    assert procs.title(2**22 + 7) == ""


def test_a_name_with_parentheses_and_spaces() -> None:
    """A command name with spaces and parentheses does not shift the fields behind it."""
    code = f"import ctypes; ctypes.CDLL(None).prctl(15, b'x) R (y 1 2', 0, 0, 0); print(flush=True); {SLEEP}"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            assert process.pid in procs.descendants(os.getpid())
            assert procs.alive(process.pid, procs.start_time(process.pid))
        finally:
            process.kill()


def test_descendants_are_the_whole_tree() -> None:
    """Grandchildren belong to the tree as well."""
    child = f"c = subprocess.Popen([sys.executable, '-c', {SLEEP!r}])"
    code = f"import subprocess, sys; {child}; print(c.pid, flush=True); c.wait()"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        grandchild = int(process.stdout.readline())
        try:
            assert {process.pid, grandchild} == set(procs.descendants(process.pid))
        finally:
            os.kill(grandchild, signal.SIGKILL)


@pytest.mark.parametrize("stopped", [False, True])
def test_end_ends_a_process(sleeper: "subprocess.Popen[bytes]", stopped: bool) -> None:  # noqa: FBT001
    """A running process and a frozen one (which takes no other signal) are both ended."""
    if stopped:
        os.kill(sleeper.pid, signal.SIGSTOP)
    assert procs.end([(sleeper.pid, procs.start_time(sleeper.pid))], grace_s=2) == 1
    assert sleeper.wait(5) == -signal.SIGTERM


def test_end_kills_who_does_not_listen() -> None:
    """A process that ignores SIGTERM is killed after the grace."""
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); print(flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        procs.end([(process.pid, procs.start_time(process.pid))], grace_s=0.1)
        assert process.wait(5) == -signal.SIGKILL


def test_end_leaves_strangers_alone(sleeper: "subprocess.Popen[bytes]") -> None:
    """Another process under a pid that was ours gets no signal."""
    started = procs.start_time(sleeper.pid)
    assert started is not None
    assert procs.end([(sleeper.pid, started - 1)], grace_s=0.1) == 0
    assert sleeper.poll() is None


def test_sessions_are_counted_by_titles_that_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients count, helpers and parallel workers do not; only what has no title of the server's is read again."""
    titles = {
        1: "/x/postgres -D data",
        2: "postgres: checkpointer ",
        3: "postgres: poollab postgres [local] idle",
        4: "postgres: parallel worker for PID 3 ",
        5: "postgres: poollab postgres [local] SELECT",
    }
    read: list[int] = []

    def title(pid: int) -> str:
        read.append(pid)
        return titles.get(pid, "")

    monkeypatch.setattr(procs, "title", title)
    seen = procs.Backends()
    assert seen.count(titles) == 2
    # A child that has just been forked still has the postmaster's title.
    assert seen.count([1, 2, 3, 6]) == 1
    titles[6] = "postgres: poollab postgres [local] authentication"
    assert seen.count([1, 2, 3, 6]) == 2
    assert read == [1, 2, 3, 4, 5, 1, 6, 1, 6]
