"""The dispatcher: never early, each request once, in order, whichever loop and timer wake it."""

import asyncio
import os
import time
from collections.abc import Callable
from typing import Any

import pytest

from poollab.load import timer

#: 1,000 arrivals at 2,000/s: as many wake-ups a second as any study asks for, in half a second.
COUNT, GAP_NS = 1_000, 500_000


def _uvloop() -> asyncio.AbstractEventLoop:
    return pytest.importorskip("uvloop").new_event_loop()


LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": _uvloop}
TIMERS = {"timerfd": timer.TimerFd, "loop": timer.LoopTimer}


class Hasty:
    """A timer that calls back at once and often, as a loop with a coarse clock might."""

    def __init__(self, loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
        self._loop, self._callback = loop, callback
        self.calls = 0

    def arm(self, _due_ns: int) -> None:
        """Wake without waiting."""
        self.calls += 1
        self._loop.call_soon(self._callback)

    def close(self) -> None:
        """Stop."""


def _dispatch(loop_of: Any, timer_of: Any, count: int, gap_ns: int) -> tuple[list[int], list[int], list[int]]:
    """Return due times, launched numbers and launch times."""
    numbers: list[int] = []
    at: list[int] = []

    def launch(number: int) -> None:
        at.append(time.monotonic_ns())
        numbers.append(number)

    async def run() -> list[int]:
        zero = time.monotonic_ns() + 5_000_000
        due = [zero + i * gap_ns for i in range(count)]
        await asyncio.wait_for(timer.Dispatcher(asyncio.get_running_loop(), due, launch, timer_of).launched, 30)
        return due

    with asyncio.Runner(loop_factory=loop_of) as runner:
        return runner.run(run()), numbers, at


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("kind", TIMERS)
def test_never_early_each_once_in_order(loop: str, kind: str) -> None:
    """A request is never issued before it is due, and every request is issued exactly once and in order."""
    due, numbers, at = _dispatch(LOOPS[loop], TIMERS[kind], COUNT, GAP_NS)
    assert numbers == list(range(COUNT))
    assert min(issued - wanted for issued, wanted in zip(at, due, strict=True)) >= 0


def test_a_timer_that_wakes_too_soon_is_asked_again() -> None:
    """Where a loop wakes before its time the clock is read again and nothing is sent early."""
    due, numbers, at = _dispatch(asyncio.new_event_loop, Hasty, 20, 1_000_000)
    assert numbers == list(range(20))
    assert min(issued - wanted for issued, wanted in zip(at, due, strict=True)) >= 0


@pytest.mark.parametrize("loop", LOOPS)
def test_arrivals_of_one_instant_go_out_together(loop: str) -> None:
    """All requests of a burst are launched by one wake-up, in order."""
    _, numbers, _ = _dispatch(LOOPS[loop], timer.TimerFd, 50, 0)
    assert numbers == list(range(50))


@pytest.mark.parametrize("kind", TIMERS)
def test_due_times_in_the_past_are_sent_at_once(kind: str) -> None:
    """A schedule that began before we were ready is caught up with and loses no request."""
    seen: list[int] = []

    async def run() -> None:
        due = [1, 2, time.monotonic_ns() - 1]
        await asyncio.wait_for(timer.Dispatcher(asyncio.get_running_loop(), due, seen.append, TIMERS[kind]).launched, 5)

    asyncio.run(run())
    assert seen == [0, 1, 2]


def test_whole_seconds_do_not_disarm() -> None:
    """A due time on a whole second of the clock fires like any other (a zero would disarm a timerfd)."""
    seen: list[int] = []

    async def run() -> None:
        due = [(time.monotonic_ns() // 10**9 + 1) * 10**9]
        dispatcher = timer.Dispatcher(asyncio.get_running_loop(), due, seen.append, timer.TimerFd)
        await asyncio.wait_for(dispatcher.launched, 5)
        assert time.monotonic_ns() >= due[0]

    asyncio.run(run())
    assert seen == [0]


def test_no_file_stays_open() -> None:
    """A finished dispatcher has closed its timer: a cell per process, but a warm-up and a window in each."""

    def count() -> int:
        return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a count of names

    _dispatch(asyncio.new_event_loop, timer.TimerFd, 3, 0)
    before = count()
    for _ in range(5):
        _dispatch(asyncio.new_event_loop, timer.TimerFd, 3, 0)
    assert count() == before


def test_linux_gets_the_precise_timer() -> None:
    """On Linux the timer in use is the timerfd, under the fastest loop that is installed."""

    async def run() -> tuple[str, dict[str, str]]:
        loop = asyncio.get_running_loop()
        made = timer.make_timer(loop, lambda: None)
        kind = type(made).__name__
        made.close()
        return kind, timer.names(loop)

    with asyncio.Runner(loop_factory=timer.loop_factory) as runner:
        kind, named = runner.run(run())
    assert kind == "TimerFd"
    assert named["timer"] == "timerfd"
    assert named["loop"] in {"uvloop", "asyncio"}


def test_the_record_names_the_timer_that_was_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no timerfd can be had the fallback works, and the record does not claim the other."""

    def refuse(*_args: object) -> None:
        raise OSError(24, "timerfd_create")

    monkeypatch.setattr(timer, "TimerFd", refuse)

    async def run() -> tuple[str, str]:
        loop = asyncio.get_running_loop()
        made = timer.make_timer(loop, lambda: None)
        made.close()
        return type(made).__name__, timer.names(loop)["timer"]

    kind, named = asyncio.run(run())
    assert kind == "LoopTimer"
    assert named == "loop"
