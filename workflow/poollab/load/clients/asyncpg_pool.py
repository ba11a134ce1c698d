"""The asyncpg pool as a client."""

import time
from collections.abc import Coroutine
from typing import Any

import asyncpg

from poollab.load import rows as r
from poollab.load.rows import Rows

#: PostgreSQL plans a prepared statement five times for its arguments before it may settle on one plan.
CUSTOM_PLANS = 5


class AsyncpgClient:
    """A pool that is created empty, grown one connection after another, and warmed on each of them."""

    module = "asyncpg"
    version = asyncpg.__version__

    def __init__(self, spec: dict[str, Any]) -> None:
        self._spec = spec
        self._size: int = spec["pool"]["size"]
        self._pool: Any = None
        self.backends: list[int] = []
        """Server process ids of the connections, in order of establishment."""

    async def open(self) -> None:
        """Establish every connection of the pool, one after another."""
        spec = self._spec
        self._pool = asyncpg.create_pool(
            host=spec["socket"],
            port=spec["port"],
            user=spec["user"],
            database=spec["database"],
            ssl=False,
            min_size=0,
            max_size=self._size,
            max_inactive_connection_lifetime=0,
            max_queries=2**62,
            max_cached_statement_lifetime=0,
            timeout=spec["timeouts"]["acquire_s"],
            server_settings={"application_name": "poollab"},
        )
        await self._pool
        held = [await self._pool.acquire() for _ in range(self._size)]
        self.backends = [connection.get_server_pid() for connection in held]
        for connection in held:
            await self._pool.release(connection)

    async def warm(self, sql: str, args: list[tuple[int, ...]]) -> str:
        """
        Execute the statement on every connection until its plan is settled.

        Returns `generic` or `custom` (the server keeps planning for each argument), `mixed` where
        connections differ.
        """
        held = [await self._pool.acquire() for _ in range(self._size)]
        kinds = set()
        for number, connection in enumerate(held):
            for turn in range(CUSTOM_PLANS + 2):
                await self._warm_once(connection, sql, args[(number + turn) % len(args)])
            counts = "SELECT generic_plans FROM pg_prepared_statements WHERE statement = $1"
            kinds.add("generic" if await connection.fetchval(counts, sql) else "custom")
        for connection in held:
            await self._pool.release(connection)
        return kinds.pop() if len(kinds) == 1 else "mixed"

    async def _warm_once(self, connection: Any, sql: str, values: tuple[int, ...]) -> None:
        """Execute once; what fails for these arguments alone will be a row of the run, and is no fault here."""
        try:
            await connection.fetchval(sql, *values, timeout=self._spec["timeouts"]["query_s"])
        except asyncpg.SyntaxOrAccessError:
            raise
        except (TimeoutError, asyncpg.PostgresError):
            return

    def requests(self, rows: Rows, sql: str, args: list[tuple[int, ...]]) -> list[Coroutine[Any, Any, None]]:
        """Make the coroutine of every request before the clock starts."""
        started, acquired, result, released = rows.started, rows.acquired, rows.result, rows.released
        status, backend, errors, clock = rows.status, rows.backend, rows.errors, time.monotonic_ns
        acquire, release = self._pool.acquire, self._pool.release
        acquire_s, query_s = self._spec["timeouts"]["acquire_s"], self._spec["timeouts"]["query_s"]

        async def request(number: int, values: tuple[int, ...]) -> None:
            started[number] = clock()
            try:
                connection = await acquire(timeout=acquire_s)
            except TimeoutError:
                status[number] = r.ACQUIRE_TIMEOUT
                return
            except Exception as error:  # noqa: BLE001 - every failure is a row, none may vanish
                status[number], errors[number] = r.ERROR, describe(error)
                return
            acquired[number] = clock()
            backend[number] = connection.get_server_pid()
            outcome = r.OK
            try:
                await connection.fetchval(sql, *values, timeout=query_s)
                result[number] = clock()
            except TimeoutError:
                outcome = r.QUERY_TIMEOUT
            except Exception as error:  # noqa: BLE001
                outcome, errors[number] = r.ERROR, describe(error)
            try:
                await release(connection, timeout=acquire_s)
                released[number] = clock()
            except Exception as error:  # noqa: BLE001
                outcome, errors[number] = r.ERROR, describe(error)
            status[number] = outcome

        return [request(number, values) for number, values in enumerate(args)]

    async def close(self) -> int:
        """Close one connection after another; return how many the pool could still hand out."""
        held = []
        try:
            # All are taken before the first is closed: a closed one would be handed out anew, with a reconnect.
            for _ in range(self._size):
                held.append(await self._pool.acquire(timeout=1))  # noqa: PERF401 - what was taken counts after an error too
            for connection in held:
                await connection.close(timeout=2)
        except (TimeoutError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            self._pool.terminate()
        return len(held)


def describe(error: BaseException) -> str:
    """Return an error's class and the first line of its text (which may hold no secret: there is none)."""
    return f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}"
