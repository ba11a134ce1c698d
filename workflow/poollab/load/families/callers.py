"""
One caller's loop, asynchronous and synchronous: the only code of ours between two stamps.

A clock is read twice for each check-out: when it has its connection, and when that was given back, which is when the
next one begins. A third reading is taken where something was done with the connection.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from poollab.load import rows as r
from poollab.load.families.stamps import Stamps
from poollab.load.families.work import Caller


class AsyncPool(Protocol):
    """What the loop needs of an asynchronous pool; `acquire` and `release` are the pool's own."""

    acquire: Callable[[], Any]
    release: Callable[[Any], Any]
    query: Callable[[Any], Coroutine[Any, Any, Any]]
    pipeline: Callable[[Any], Any] | None
    backend: Callable[[Any], int]
    timeouts: tuple[type[BaseException], ...]


class SyncPool(Protocol):
    """The same of a synchronous pool."""

    acquire: Callable[[], Any]
    release: Callable[[Any], Any]
    query: Callable[[Any], Any]
    pipeline: Callable[[Any], Any] | None
    backend: Callable[[Any], int]
    timeouts: tuple[type[BaseException], ...]


class AsyncGate:
    """Opens for all when each of `count` callers has arrived, with a connection or without."""

    def __init__(self, count: int) -> None:
        self._left = count
        self._open = asyncio.Event()

    async def arrive(self) -> None:
        """Arrive, and wait for the others."""
        self.give_up()
        await self._open.wait()

    def give_up(self) -> None:
        """Arrive without waiting: this caller got no connection and must not hold up the rest."""
        self._left -= 1
        if self._left == 0:
            self._open.set()


class ThreadGate:
    """The same for threads."""

    def __init__(self, count: int) -> None:
        self._left = count
        self._lock, self._open = threading.Lock(), threading.Event()

    def arrive(self) -> None:
        """Arrive, and wait for the others."""
        self.give_up()
        self._open.wait()

    def give_up(self) -> None:
        """Arrive without waiting."""
        with self._lock:
            self._left -= 1
            if self._left == 0:
                self._open.set()


async def _use_async(pool: AsyncPool, connection: Any, queries: int, hold_ns: int, gate: AsyncGate | None) -> None:
    """Do what a check-out does with its connection."""
    if pool.pipeline is not None:
        async with pool.pipeline(connection):
            pass
    for _ in range(queries):
        await pool.query(connection)
    if hold_ns:
        await asyncio.sleep(hold_ns / 1e9)
    if gate is not None:
        await gate.arrive()


def _use_sync(pool: SyncPool, connection: Any, queries: int, hold_ns: int, gate: ThreadGate | None) -> None:
    """Do the same in a thread."""
    if pool.pipeline is not None:
        with pool.pipeline(connection):
            pass
    for _ in range(queries):
        pool.query(connection)
    if hold_ns:
        time.sleep(hold_ns / 1e9)
    if gate is not None:
        gate.arrive()


async def call_async(pool: AsyncPool, stamps: Stamps, first: int, work: Caller, gate: AsyncGate | None) -> None:
    """Do one caller's operations; check-out i of them is row `first` + i. Every failure is a row."""
    acquire, release, backend, clock = pool.acquire, pool.release, pool.backend, time.monotonic_ns
    started, acquired, result, released = stamps.started, stamps.acquired, stamps.result, stamps.released
    pids, more = stamps.backend, pool.pipeline is not None or gate is not None
    now = clock()
    for row, (queries, hold_ns) in enumerate(work, first):
        started[row] = now
        try:
            connection = await acquire()
        except Exception as error:  # noqa: BLE001 - none may vanish
            _failed(stamps, row, error, pool.timeouts)
            if gate is not None:
                gate.give_up()
            now = clock()
            continue
        acquired[row] = clock()
        pids[row] = backend(connection)
        try:
            if queries or hold_ns or more:
                await _use_async(pool, connection, queries, hold_ns, gate)
                result[row] = clock()
        except Exception as error:  # noqa: BLE001
            _failed(stamps, row, error)
        try:
            await release(connection)
            released[row] = now = clock()
        except Exception as error:  # noqa: BLE001
            _failed(stamps, row, error)
            now = clock()


def call_sync(pool: SyncPool, stamps: Stamps, first: int, work: Caller, gate: ThreadGate | None) -> None:
    """Do one caller's operations in the present thread, as `call_async` does in a task."""
    acquire, release, backend, clock = pool.acquire, pool.release, pool.backend, time.monotonic_ns
    started, acquired, result, released = stamps.started, stamps.acquired, stamps.result, stamps.released
    pids, more = stamps.backend, pool.pipeline is not None or gate is not None
    now = clock()
    for row, (queries, hold_ns) in enumerate(work, first):
        started[row] = now
        try:
            connection = acquire()
        except Exception as error:  # noqa: BLE001 - none may vanish
            _failed(stamps, row, error, pool.timeouts)
            if gate is not None:
                gate.give_up()
            now = clock()
            continue
        acquired[row] = clock()
        pids[row] = backend(connection)
        try:
            if queries or hold_ns or more:
                _use_sync(pool, connection, queries, hold_ns, gate)
                result[row] = clock()
        except Exception as error:  # noqa: BLE001
            _failed(stamps, row, error)
        try:
            release(connection)
            released[row] = now = clock()
        except Exception as error:  # noqa: BLE001
            _failed(stamps, row, error)
            now = clock()


def _failed(stamps: Stamps, row: int, error: Exception, timeouts: tuple[type[BaseException], ...] = ()) -> None:
    """Mark a row; the first failure of a check-out stays its reason."""
    stamps.status[row] = r.ACQUIRE_TIMEOUT if isinstance(error, timeouts) else r.ERROR
    text = str(error).splitlines()[0][:200] if str(error) else ""
    stamps.errors.setdefault(row, f"{type(error).__name__}: {text}")
