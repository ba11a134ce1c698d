"""asyncpg's pool, driven by its own acquire and release."""

import operator
import time
from typing import Any

import asyncpg

from poollab.load.families.proof import Proof

#: What a pool says nowhere else: the function that it calls when a connection is taken.
_SETUP = operator.attrgetter("_setup")


class _WithoutReset(asyncpg.Connection):  # type: ignore[misc]  # asyncpg ships no types
    """A connection that sends no reset query when it is given back."""

    def get_reset_query(self) -> str:
        return ""


async def _check(connection: Any) -> None:
    await connection.fetchval("SELECT 1")


class AsyncpgPool:
    """See `AsyncPool`; `connects` grows with every physical connection."""

    timeouts = (TimeoutError,)
    pipeline = None
    query = staticmethod(operator.methodcaller("fetchval", "SELECT 1"))
    backend = staticmethod(operator.methodcaller("get_server_pid"))

    def __init__(self, spec: dict[str, Any], size: int, connects: list[tuple[int, int]], *, full: bool) -> None:
        self._connects = connects
        self._resets: bool | None = None
        self._settings = {
            "min_size": size if full else spec["pool"].get("min_size", 0),
            "max_size": size,
            "max_inactive_connection_lifetime": 0,
            "max_queries": 2**62,
            "max_cached_statement_lifetime": 0,
        }
        self._pool = asyncpg.create_pool(
            host=spec["socket"],
            port=spec["port"],
            user=spec["user"],
            database=spec["database"],
            ssl=False,
            timeout=spec["timeouts"]["acquire_s"],
            init=self._connected,
            setup=_check if spec["pool"].get("check") else None,
            connection_class=asyncpg.Connection if spec["pool"].get("reset", True) else _WithoutReset,
            server_settings={"application_name": "poollab"},
            **self._settings,
        )
        self.acquire, self.release = self._pool.acquire, self._pool.release

    async def _connected(self, connection: Any) -> None:
        self._connects.append((time.monotonic_ns(), connection.get_server_pid()))
        if self._resets is None:
            # The connection keeps the answer for its own releases, so that asking costs nothing twice.
            self._resets = connection.get_reset_query() != ""

    async def open(self) -> None:
        """Make the pool ready; with the connections that it has from the start."""
        await self._pool

    async def close(self) -> None:
        """Close every connection."""
        await self._pool.close()

    def proof(self) -> Proof:
        """Say what this pool is: its sizes by its own account, and whether the first of its connections resets."""
        sizes = {"min_size": self._pool.get_min_size(), "max_size": self._pool.get_max_size()}
        called = {"reset": self._resets, "check": _SETUP(self._pool) is not None}
        return Proof.of(self._pool, asyncpg, {**self._settings, **sizes, **called})
