"""Waits of many requests on one timer, to the resolution of the dispatcher's and never too short."""

import asyncio
import itertools
import time
from heapq import heappop, heappush

from poollab.load import timer


class Sleeper:
    """Wakes coroutines at absolute CLOCK_MONOTONIC times; uvloop's own sleep has a grain of 1 ms."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._heap: list[tuple[int, int, asyncio.Future[None]]] = []
        self._order = itertools.count()
        self._timer = timer.make_timer(loop, self._wake)

    def until(self, due_ns: int) -> "asyncio.Future[None]":
        """Return what is done at `due_ns` or soon after it."""
        future: asyncio.Future[None] = self._loop.create_future()
        heappush(self._heap, (due_ns, next(self._order), future))
        if self._heap[0][2] is future:
            self._timer.arm(due_ns)
        return future

    def _wake(self) -> None:
        heap, now = self._heap, time.monotonic_ns()
        while heap and heap[0][0] <= now:
            future = heappop(heap)[2]
            if not future.done():
                future.set_result(None)
        if heap:
            self._timer.arm(heap[0][0])

    def close(self) -> None:
        """Stop waking."""
        self._timer.close()
