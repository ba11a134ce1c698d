"""The engine of the asynchronous clients: one event loop, every request a coroutine."""

import asyncio
import time
from collections.abc import Coroutine, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from poollab.load import closed, requests, timer
from poollab.load.clients.base import Client, Statements
from poollab.load.requests import Maker, Tools
from poollab.load.rows import Rows
from poollab.load.steps import Steps
from poollab.load.window import Window

Requests = Sequence[Coroutine[Any, Any, None]]
#: Up to here every coroutine exists before the clock starts (about 1 KiB each); beyond, each is made when it is
#: launched, a fraction of a microsecond later, and a long run takes no more memory than a short one.
MADE_BEFORE = 250_000
#: How long requests that were cancelled when the drain was over may take to end.
CANCEL_S = 1.0
#: As many requests are launched (one more) between two looks at which have ended; a look takes about 0.1 ms.
KEPT_TASKS = (1 << 12) - 1


class LoopEngine:
    """Runs windows on the best loop of this system; the loop stands still between them."""

    def __init__(
        self, client: Any, spec: dict[str, Any], turns_per_ns: float, processes: ProcessPoolExecutor | None
    ) -> None:
        self._client: Client = client
        self._drain_ns = round(spec["timeouts"]["drain_s"] * 1e9)
        self._runner = asyncio.Runner(loop_factory=timer.loop_factory)
        self._loop = self._runner.get_loop()
        self._tools = Tools(self._loop, turns_per_ns, processes)

    def open(self) -> None:
        """Establish the pool."""
        self._runner.run(self._client.open())

    def settle(self, statements: Statements) -> str | None:
        """Warm every connection; see `Client`."""
        return self._runner.run(self._client.settle(statements))

    def prepare(self, window: Window) -> Requests:
        """Make the coroutine of every request (or of every worker in a loop) before the clock starts."""
        make = self._maker(window.rows, window.steps)
        if window.loops is not None:
            make = closed.worker(window.loops, make, self._tools)
        count = len(window.due)
        return [make(number) for number in range(count)] if count <= MADE_BEFORE else _MadeLater(make, count)

    def _maker(self, rows: Rows, steps: Steps) -> Maker:
        if steps.single:
            return requests.single(self._client, rows, steps.inside[0])
        hold = requests.held(self._client, rows, steps, self._tools) if steps.inside else _nothing
        return requests.general(rows, steps, self._tools, hold)

    def run(self, window: Window, prepared: Requests, zero_ns: int) -> bool:
        """Send one window's requests and wait (bounded) for all of them; tell whether all ended."""
        return self._runner.run(self._send(window, prepared, zero_ns))

    async def _send(self, window: Window, prepared: Requests, zero_ns: int) -> bool:
        tasks: list[asyncio.Task[None]] = []
        create, keep = self._loop.create_task, tasks.append

        def launch(number: int) -> None:
            keep(create(prepared[number]))
            # What has ended is let go now and then: a look at all of them at the end would stall the last requests.
            if number & KEPT_TASKS == KEPT_TASKS:
                tasks[:] = _under_way(tasks)

        await timer.Dispatcher(self._loop, window.due, launch, zero_ns=zero_ns).launched
        if not (tasks := _under_way(tasks)):
            return True
        left_ns = zero_ns + window.length_ns + self._drain_ns - time.monotonic_ns()
        _, pending = await asyncio.wait(tasks, timeout=max(0.0, left_ns / 1e9))
        for task in pending:
            task.cancel()
        if pending:
            await asyncio.wait(pending, timeout=CANCEL_S)
        return not pending

    def close(self) -> int:
        """Close the pool; return how many connections it could still hand out."""
        return self._runner.run(self._client.close())

    def facts(self) -> dict[str, Any]:
        """Name loop and timer, for the run's record."""
        return timer.names(self._loop)


def _under_way(tasks: list[asyncio.Task[None]]) -> list[asyncio.Task[None]]:
    return [task for task in tasks if not task.done()]


class _MadeLater(Sequence[Coroutine[Any, Any, None]]):
    """As many coroutines as asked for, each made when it is looked up."""

    def __init__(self, make: Maker, count: int) -> None:
        self._make, self._count = make, count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: Any) -> Any:
        return self._make(number)

    def __iter__(self) -> Iterator[Coroutine[Any, Any, None]]:
        return map(self._make, range(self._count))


async def _nothing(_number: int) -> bool:
    """Stand in for a connection in a workload without one."""
    return True
