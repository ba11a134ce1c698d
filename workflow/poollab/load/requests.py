"""What one request does on an event loop: the only code of ours between two stamps."""

import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from poollab.load import rows as r
from poollab.load.clients.base import Client, describe
from poollab.load.compute import burn
from poollab.load.rows import Rows
from poollab.load.sleeper import Sleeper
from poollab.load.steps import Step, Steps

#: Makes the coroutine of a request from its number.
Maker = Callable[[int], Coroutine[Any, Any, None]]
#: Does what a request does with its connection; tells whether it ended well (else the row says how not).
Held = Callable[[int], Awaitable[bool]]


class Tools:
    """What steps without a statement need: a timer for waits, the rate of the loop for work."""

    def __init__(self, loop: Any, turns_per_ns: float, processes: ProcessPoolExecutor | None) -> None:
        self._loop, self._turns_per_ns, self._processes = loop, turns_per_ns, processes
        self.sleeper = Sleeper(loop)

    async def idle(self, step: Step, number: int) -> None:
        """Do a hold, wait or compute step."""
        ns = step.column[number] if step.column is not None else 0
        if ns == 0:
            return
        if step.do != "compute":
            await self.sleeper.until(time.monotonic_ns() + ns)
        elif self._processes is None:
            burn(round(ns * self._turns_per_ns))
        else:
            await self._loop.run_in_executor(self._processes, burn, round(ns * self._turns_per_ns))


def single(client: Client, rows: Rows, step: Step) -> Maker:
    """Return the maker of requests that are one execution of one statement: nothing is looked up on the way."""
    started, acquired, result, released = rows.started, rows.acquired, rows.result, rows.released
    status, pids, errors, clock = rows.status, rows.backend, rows.errors, time.monotonic_ns
    acquire, query, release, backend = client.acquire, client.query, client.release, client.backend
    sql, values, timeouts, ended = step.sql, step.values, client.timeouts, rows.ended

    async def request(number: int) -> None:
        started[number] = clock()
        try:
            connection = await acquire()
        except timeouts:
            status[number], ended[number] = r.ACQUIRE_TIMEOUT, clock()
            return
        except Exception as error:  # noqa: BLE001 - every failure is a row, none may vanish
            status[number], errors[number], ended[number] = r.ERROR, describe(error), clock()
            return
        acquired[number] = clock()
        pids[number] = backend(connection)
        outcome = r.OK
        try:
            await query(connection, sql, values[number])
            result[number] = clock()
        except timeouts:
            outcome = r.QUERY_TIMEOUT
        except Exception as error:  # noqa: BLE001
            outcome, errors[number] = r.ERROR, describe(error)
        try:
            await release(connection)
            released[number] = clock()
        except Exception as error:  # noqa: BLE001
            outcome, errors[number], ended[number] = r.ERROR, describe(error), clock()
        status[number] = outcome

    return request


def held(client: Client, rows: Rows, steps: Steps, tools: Tools) -> Held:
    """Return what takes a connection, does every step with it, and gives it back."""
    acquired, result, released = rows.acquired, rows.result, rows.released
    status, pids, errors, clock = rows.status, rows.backend, rows.errors, time.monotonic_ns
    acquire, release, backend, timeouts = client.acquire, client.release, client.backend, client.timeouts
    inside = steps.inside

    async def work(connection: Any, number: int) -> None:
        for step in inside:
            if step.do != "query":
                await tools.idle(step, number)
                continue
            for _ in range(1 if step.column is None else step.column[number]):
                await client.query(connection, step.sql, step.values[number])

    async def hold(number: int) -> bool:
        try:
            connection = await acquire()
        except timeouts:
            status[number], rows.ended[number] = r.ACQUIRE_TIMEOUT, clock()
            return False
        acquired[number] = clock()
        pids[number] = backend(connection)
        outcome = r.OK
        try:
            await work(connection, number)
            result[number] = clock()
        except timeouts:
            outcome = r.QUERY_TIMEOUT
        except Exception as error:  # noqa: BLE001 - every failure is a row, none may vanish
            outcome, errors[number] = r.ERROR, describe(error)
        await release(connection)
        released[number] = clock()
        status[number] = outcome
        return outcome == r.OK

    return hold


def general(rows: Rows, steps: Steps, tools: Tools, hold: Held) -> Maker:
    """Return the maker of requests of any steps."""
    before, after, needed = steps.before, steps.after, steps.needed()
    started, asked, ended, status, clock = rows.started, rows.asked, rows.ended, rows.status, time.monotonic_ns

    async def request(number: int) -> None:
        started[number] = clock()
        try:
            for step in before:
                await tools.idle(step, number)
            takes = needed(number)
            if takes and before:
                asked[number] = clock()
            if takes and not await hold(number):
                return
            for step in after:
                await tools.idle(step, number)
            if after or not takes:
                ended[number] = clock()
            status[number] = r.OK
        except Exception as error:  # noqa: BLE001
            status[number], rows.errors[number], ended[number] = r.ERROR, describe(error), clock()

    return request
