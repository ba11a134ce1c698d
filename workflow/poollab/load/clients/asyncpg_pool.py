"""The asyncpg pool as a client."""

from functools import partial
from typing import Any

import asyncpg

from poollab.load.clients.base import AT_START_S, GENERIC_PLANS, WARM_UPS, Statements, one_word
from poollab.load.steps import Values


class AsyncpgClient:
    """A pool that is created empty, grown one connection after another, and warmed on each of them."""

    timeouts: tuple[type[BaseException], ...] = (TimeoutError,)

    def __init__(self, spec: dict[str, Any]) -> None:
        self._spec = spec
        self._size: int = spec["pool"]["size"]
        self._acquire_s, self._query_s = spec["timeouts"]["acquire_s"], spec["timeouts"]["query_s"]
        self._start_s = max(AT_START_S, self._acquire_s)
        self._pool: Any = None
        self.backends: list[int] = []
        self.connects = 0
        #: The pool's own calls with their bounds: a method around them would be a further coroutine for each request.
        self.acquire: Any = None
        self.release: Any = None

    async def open(self) -> None:
        """See `Client`."""
        spec, arm = self._spec, self._spec["pool"]
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
            timeout=self._start_s,
            init=self._connected,
            reset=None if arm.get("reset", True) else _as_it_is,
            server_settings={"application_name": "poollab"},
        )
        await self._pool
        self.acquire = partial(self._pool.acquire, timeout=self._acquire_s)
        self.release = partial(self._pool.release, timeout=self._acquire_s)
        held = [await self._pool.acquire(timeout=self._start_s) for _ in range(self._size)]
        self.backends = [connection.get_server_pid() for connection in held]
        for connection in held:
            await self._pool.release(connection)

    async def _connected(self, _connection: Any) -> None:
        self.connects += 1

    async def settle(self, statements: Statements) -> str | None:
        """See `Client`."""
        held = [await self._pool.acquire(timeout=self._start_s) for _ in range(self._size)]
        kinds, endless = set(), set[str]()
        for number, connection in enumerate(held):
            for sql, values in statements:
                for turn in range(WARM_UPS):
                    if sql not in endless and not await self._warm_once(
                        connection, sql, values[(number + turn) % len(values)]
                    ):
                        endless.add(sql)
                found = await connection.fetchval(GENERIC_PLANS, sql, timeout=self._start_s)
                kinds.add("generic" if found else "custom")
        for connection in held:
            await self._pool.release(connection)
        return one_word(kinds)

    async def _warm_once(self, connection: Any, sql: str, values: Values) -> bool:
        """
        Execute once; what fails for these arguments alone will be a row of the run, and is no fault here.

        Tells whether it ended in time: a statement that does not is not tried on every connection.
        """
        try:
            await self.query(connection, sql, values)
        except asyncpg.SyntaxOrAccessError:
            raise
        except TimeoutError:
            return False
        except asyncpg.PostgresError:
            return True
        return True

    def query(self, connection: Any, sql: str, values: Values) -> Any:
        """See `Client`; all rows are taken, as by the other clients (fetchval would stop the server after one)."""
        return connection.fetch(sql, *values, timeout=self._query_s)

    @staticmethod
    def backend(connection: Any) -> int:
        """See `Client`."""
        pid: int = connection.get_server_pid()
        return pid

    def facts(self) -> dict[str, Any]:
        """See `Client`."""
        kind = type(self._pool)
        return {
            "driver": {"module": "asyncpg", "version": asyncpg.__version__},
            "pool": {"class": kind.__qualname__, "module": kind.__module__, "version": asyncpg.__version__},
        }

    async def close(self) -> int:
        """See `Client`."""
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


async def _as_it_is(_connection: Any) -> None:
    """Stand in for the pool's reset query where an arm goes without it."""
