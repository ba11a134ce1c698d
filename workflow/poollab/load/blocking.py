"""What one request does in a thread: the same steps and stamps as in requests.py, with nothing awaited."""

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from poollab.load import rows as r
from poollab.load.clients.base import SyncClient, describe
from poollab.load.compute import burn
from poollab.load.rows import Rows
from poollab.load.steps import Step, Steps

#: Does one request, or the part of it that holds a connection (then it tells whether that ended well).
Request = Callable[[int], None]
Held = Callable[[int], bool]


class Tools:
    """What steps without a statement need: the rate of the loop for work, and where it is done."""

    def __init__(self, turns_per_ns: float, processes: ProcessPoolExecutor | None) -> None:
        self._turns_per_ns, self._processes = turns_per_ns, processes

    def idle(self, step: Step, number: int) -> None:
        """Do a hold, wait or compute step."""
        ns = step.column[number] if step.column is not None else 0
        if ns == 0:
            return
        if step.do != "compute":
            time.sleep(ns / 1e9)
        elif self._processes is None:
            burn(round(ns * self._turns_per_ns))
        else:
            self._processes.submit(burn, round(ns * self._turns_per_ns)).result()


def held(client: SyncClient, rows: Rows, steps: Steps, tools: Tools) -> Held:
    """Return what takes a connection, does every step with it, and gives it back."""
    acquired, result, released = rows.acquired, rows.result, rows.released
    status, pids, errors, clock = rows.status, rows.backend, rows.errors, time.monotonic_ns
    acquire, query, release, backend = client.acquire, client.query, client.release, client.backend
    timeouts, inside = client.timeouts, steps.inside

    def work(connection: Any, number: int) -> None:
        for step in inside:
            if step.do != "query":
                tools.idle(step, number)
                continue
            for _ in range(1 if step.column is None else step.column[number]):
                query(connection, step.sql, step.values[number])

    def hold(number: int) -> bool:
        try:
            connection = acquire()
        except timeouts:
            status[number], rows.ended[number] = r.ACQUIRE_TIMEOUT, clock()
            return False
        acquired[number] = clock()
        pids[number] = backend(connection)
        outcome = r.OK
        try:
            work(connection, number)
            result[number] = clock()
        except timeouts:
            outcome = r.QUERY_TIMEOUT
        except Exception as error:  # noqa: BLE001 - every failure is a row, none may vanish
            outcome, errors[number] = r.ERROR, describe(error)
        release(connection)
        released[number] = clock()
        status[number] = outcome
        return outcome == r.OK

    return hold


def general(rows: Rows, steps: Steps, tools: Tools, hold: Held) -> Request:
    """Return what does one request of any steps."""
    before, after, needed = steps.before, steps.after, steps.needed()
    started, asked, ended, status, clock = rows.started, rows.asked, rows.ended, rows.status, time.monotonic_ns

    def request(number: int) -> None:
        started[number] = clock()
        try:
            for step in before:
                tools.idle(step, number)
            takes = needed(number)
            if takes and before:
                asked[number] = clock()
            if takes and not hold(number):
                return
            for step in after:
                tools.idle(step, number)
            if after or not takes:
                ended[number] = clock()
            status[number] = r.OK
        except Exception as error:  # noqa: BLE001
            status[number], rows.errors[number], ended[number] = r.ERROR, describe(error), clock()

    return request
