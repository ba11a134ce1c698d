"""Workers in a loop: each sends its next request when its last one has ended, and thinks in between."""

import itertools
import time
from collections.abc import Callable, Coroutine
from typing import Any

from poollab.load.blocking import Request
from poollab.load.requests import Maker, Tools
from poollab.load.rows import ABSENT, Rows


class Loops:
    """
    What the workers of one window share: the next free row, and when to stop.

    A request is scheduled at its worker's last release (or end) plus the think time; a worker's first at
    its own start. No request begins once the window is over, or when there are no rows left.
    """

    def __init__(self, rows: Rows, think_ns: int, length_ns: int) -> None:
        self._rows, self._think_ns, self._length_ns = rows, think_ns, length_ns
        self._next = itertools.count().__next__
        self._end_ns = 0
        self.exhausted = False
        """Whether there were fewer rows than requests to send: the loops then stopped early."""

    def start(self, zero_ns: int) -> None:
        """Fix the end of the window."""
        self._end_ns = zero_ns + self._length_ns

    def take(self, due_ns: int) -> int | None:
        """Return the row of a request that is due then, or None when the worker is to stop."""
        if due_ns >= self._end_ns:
            return None
        # Taken in one step: two threads never get the same row.
        number: int = self._next()
        if number >= len(self._rows):
            self.exhausted = True
            return None
        self._rows.scheduled[number] = due_ns
        return number

    def begun(self) -> int:
        """Return how many requests were begun; to be asked once, when all workers have stopped."""
        return min(self._next(), len(self._rows))

    def following(self, number: int) -> int:
        """Return when the request after this one is due."""
        rows = self._rows
        last = rows.ended[number]
        if last == ABSENT:
            last = rows.released[number]
        return (time.monotonic_ns() if last == ABSENT else last) + self._think_ns


def worker(loops: Loops, request: Maker, tools: Tools) -> Callable[[int], Coroutine[Any, Any, None]]:
    """Return the maker of a worker on an event loop."""

    async def work(_worker: int) -> None:
        due = time.monotonic_ns()
        while (number := loops.take(due)) is not None:
            if due > time.monotonic_ns():
                await tools.sleeper.until(due)
            await request(number)
            due = loops.following(number)

    return work


def thread_worker(loops: Loops, request: Request) -> Request:
    """Return what a worker does in a thread."""

    def work(_worker: int) -> None:
        due = time.monotonic_ns()
        while (number := loops.take(due)) is not None:
            if (ahead := due - time.monotonic_ns()) > 0:
                time.sleep(ahead / 1e9)
            request(number)
            due = loops.following(number)

    return work
