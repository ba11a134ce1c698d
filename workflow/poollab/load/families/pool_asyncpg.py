"""asyncpg's pool, driven by its own acquire and release."""

import operator
import time
from typing import Any

import asyncpg

from poollab.load.families.proof import Proof


class _WithoutReset(asyncpg.Connection):  # type: ignore[misc]  # asyncpg ships no types
    """A connection that sends no reset query when it is given back."""

    def get_reset_query(self) -> str:
        return ""


class AsyncpgPool:
    """See `AsyncPool`; `connects` grows with every physical connection."""

    timeouts = (TimeoutError,)
    pipeline = None
    query = staticmethod(operator.methodcaller("fetchval", "SELECT 1"))
    backend = staticmethod(operator.methodcaller("get_server_pid"))

    def __init__(self, spec: dict[str, Any], size: int, connects: list[tuple[int, int]], *, full: bool) -> None:
        self._connects = connects
        reset = spec["pool"].get("reset", True)
        self._settings = {
            "min_size": size if full else 0,
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
            connection_class=asyncpg.Connection if reset else _WithoutReset,
            server_settings={"application_name": "poollab"},
            **self._settings,
        )
        self._settings["reset"] = reset
        self.acquire, self.release = self._pool.acquire, self._pool.release

    async def _connected(self, connection: Any) -> None:
        self._connects.append((time.monotonic_ns(), connection.get_server_pid()))

    async def open(self) -> None:
        """Make the pool ready; with all its connections where it was asked to be full."""
        await self._pool

    async def close(self) -> None:
        """Close every connection."""
        await self._pool.close()

    def proof(self) -> Proof:
        """Say what this pool is."""
        return Proof.of(self._pool, asyncpg, self._settings)
