"""psycopg's asynchronous pool as a client."""

import asyncio
from functools import partial
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus
from psycopg_pool import AsyncConnectionPool

from poollab.load.clients import psycopg_common as common
from poollab.load.clients.base import AT_START_S, GENERIC_PLANS, WARM_UPS, Statements, one_word
from poollab.load.steps import Values

_IDLE = TransactionStatus.IDLE


class PsycopgAsyncClient:
    """An AsyncConnectionPool that is created empty, grown one connection after another, and warmed on each."""

    timeouts = common.TIMEOUTS

    def __init__(self, spec: dict[str, Any]) -> None:
        self._spec = spec
        self._size: int = spec["pool"]["size"]
        self._acquire_s, self._query_s = spec["timeouts"]["acquire_s"], spec["timeouts"]["query_s"]
        self._start_s = max(AT_START_S, spec["timeouts"]["acquire_s"])
        self._pool: Any = None
        self.backends: list[int] = []
        self.connects = 0
        #: The pool's own call: a method around it would be a further coroutine for each request.
        self.acquire: Any = None

    async def open(self) -> None:
        """See `Client`."""
        check = AsyncConnectionPool.check_connection if self._spec["pool"].get("check") else None
        self._pool = AsyncConnectionPool(
            kwargs={**common.connection_arguments(self._spec), "cursor_factory": psycopg.AsyncRawCursor},
            configure=self._connected,
            check=check,
            **common.pool_arguments(self._spec),
        )
        await self._pool.open()
        self.acquire = partial(self._pool.getconn, self._acquire_s)
        held = [await self._pool.getconn(self._start_s) for _ in range(self._size)]
        self.backends = [self.backend(connection) for connection in held]
        for connection in held:
            await self._pool.putconn(connection)

    async def _connected(self, _connection: Any) -> None:
        self.connects += 1

    async def settle(self, statements: Statements) -> str | None:
        """See `Client`."""
        held = [await self._pool.getconn(self._start_s) for _ in range(self._size)]
        kinds, endless = set(), set[str]()
        for number, connection in enumerate(held):
            for sql, values in statements:
                for turn in range(WARM_UPS):
                    if sql not in endless and not await self._warm_once(
                        connection, sql, values[(number + turn) % len(values)]
                    ):
                        endless.add(sql)
                asked = await connection.execute(GENERIC_PLANS, (sql,), prepare=False)
                found = await asked.fetchone()
                kinds.add("generic" if found and found[0] else "custom")
        for connection in held:
            await self._pool.putconn(connection)
        return one_word(kinds)

    async def _warm_once(self, connection: Any, sql: str, values: Values) -> bool:
        """
        Execute once; what fails for these arguments alone will be a row of the run, and is no fault here.

        Tells whether it ended in time: a statement that does not is not tried on every connection.
        """
        try:
            await self.query(connection, sql, values)
        except common.TIMEOUTS:
            return False
        except psycopg.Error as error:
            if common.of_statement(error):
                raise
        return True

    async def query(self, connection: Any, sql: str, values: Values) -> None:
        """See `Client`; when the time is over psycopg cancels the statement in the server."""
        async with asyncio.timeout(self._query_s):
            cursor = await connection.execute(sql, values)
            if cursor.pgresult.status == common.TUPLES_OK:
                await cursor.fetchall()

    async def release(self, connection: Any) -> None:
        """See `Client`; only a connection that is in a transaction needs the server, and so a bound."""
        if connection.pgconn.transaction_status == _IDLE:
            await self._pool.putconn(connection)
            return
        async with asyncio.timeout(self._acquire_s):
            await self._pool.putconn(connection)

    @staticmethod
    def backend(connection: Any) -> int:
        """See `Client`."""
        pid: int = connection.pgconn.backend_pid
        return pid

    def facts(self) -> dict[str, Any]:
        """See `Client`."""
        return common.facts(self._pool)

    async def close(self) -> int:
        """See `Client`."""
        held = []
        try:
            for _ in range(self._size):
                held.append(await self._pool.getconn(1))  # noqa: PERF401 - what was taken counts after an error too
        except psycopg.Error:
            pass
        for connection in held:
            await connection.close()
        await self._pool.close(1)
        return len(held)
