"""The engine of `psycopg-executor`: coroutines that hand each blocking call to an executor's thread."""

import time
from collections.abc import Awaitable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

from poollab.load import blocking, requests
from poollab.load.clients.base import Statements, SyncClient
from poollab.load.loop import LoopEngine, Requests
from poollab.load.requests import Maker
from poollab.load.rows import ABSENT, Rows
from poollab.load.steps import Steps
from poollab.load.threads import CUT_EVERY_S
from poollab.load.window import Window

#: How often what still runs when the drain is over is cut off.
CUTS = 20


class ExecutorEngine(LoopEngine):
    """
    An event loop above a blocking client.

    Everything from taking the connection to giving it back is one call in a thread. A request starts when it has
    one: its wait for a free thread is no wait for a connection, and is counted as scheduling delay, as with
    `psycopg-threads`. Its way back to the loop is part of the release: that is what the caller sees.
    """

    def __init__(
        self, client: Any, spec: dict[str, Any], turns_per_ns: float, processes: ProcessPoolExecutor | None
    ) -> None:
        super().__init__(client, spec, turns_per_ns, processes)
        self._blocking: SyncClient = client
        self._size: int = spec["pool"].get("executor") or spec["pool"]["size"]
        self._executor = ThreadPoolExecutor(self._size, thread_name_prefix="poollab-executor")
        self._in_thread = blocking.Tools(turns_per_ns, processes)

    def open(self) -> None:
        """See `LoopEngine`."""
        self._blocking.open()

    def settle(self, statements: Statements) -> str | None:
        """See `LoopEngine`."""
        return self._blocking.settle(statements)

    def prepare(self, window: Window) -> Requests:
        """See `LoopEngine`; the executor's threads are started too."""
        # An idle thread would be used instead of a new one, so all are kept busy for a moment.
        for begun in [self._executor.submit(time.sleep, 0.05) for _ in range(self._size)]:
            begun.result()
        return super().prepare(window)

    def _maker(self, rows: Rows, steps: Steps) -> Maker:
        released, clock, run, executor = rows.released, time.monotonic_ns, self._loop.run_in_executor, self._executor
        held = blocking.held(self._blocking, rows, steps, self._in_thread) if steps.inside else _nothing
        # With steps before the connection a request has started long ago: the wait for a thread then counts with them.
        begun = rows.asked if steps.before else rows.started

        def in_thread(number: int) -> bool:
            begun[number] = clock()
            return held(number)

        async def hold(number: int) -> bool:
            begun[number] = ABSENT
            call: Awaitable[bool] = run(executor, in_thread, number)
            well = await call
            if released[number] != ABSENT:
                released[number] = clock()
            return well

        return requests.general(rows, steps, self._tools, hold)

    def run(self, window: Window, prepared: Requests, zero_ns: int) -> bool:
        """See `LoopEngine`."""
        finished = super().run(window, prepared, zero_ns)
        if not finished:
            window.rows.seal()
            # More than once: a connection that is cut free goes to the next thread that waits for one.
            for _ in range(CUTS):
                self._blocking.abort()
                time.sleep(CUT_EVERY_S)
        return finished

    def close(self) -> int:
        """See `LoopEngine`."""
        reachable = self._blocking.close()
        self._executor.shutdown(wait=False, cancel_futures=True)
        return reachable

    def facts(self) -> dict[str, Any]:
        """See `LoopEngine`."""
        return {**super().facts(), "executor": self._size}


def _nothing(_number: int) -> bool:
    return True
