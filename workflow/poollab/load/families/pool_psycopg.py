"""psycopg_pool's two pools, driven by their own getconn and putconn."""

import time
from operator import attrgetter
from typing import Any

import psycopg
import psycopg_pool

from poollab.load.families.proof import Proof

SQL = "SELECT 1"
_PID = attrgetter("pgconn.backend_pid")
#: What asyncpg sends by itself when a connection is given back, in one message too.
RESET = "SELECT pg_advisory_unlock_all(); CLOSE ALL; UNLISTEN *; RESET ALL"
#: What a pool says nowhere else: the functions that it calls when a connection is taken and given back.
_CALLED = attrgetter("_check", "_reset")


def connect_arguments(spec: dict[str, Any]) -> dict[str, Any]:
    """Return what every psycopg connection is made with."""
    return {
        "host": spec["socket"],
        "port": spec["port"],
        "user": spec["user"],
        "dbname": spec["database"],
        "application_name": "poollab",
        "autocommit": True,
        "prepare_threshold": 0,
    }


def _pool_settings(spec: dict[str, Any], size: int, *, full: bool) -> dict[str, Any]:
    """Return the arguments that both pools share; idle and life times are off, as for every pool here."""
    return {
        "min_size": size if full else spec["pool"].get("min_size", 0),
        "max_size": size,
        "timeout": spec["timeouts"]["acquire_s"],
        "max_idle": 1e9,
        "max_lifetime": 1e9,
    }


def _proof(pool: Any) -> Proof:
    """Say what a pool is, with its settings as it holds them itself."""
    check, reset = _CALLED(pool)
    names = ("min_size", "max_size", "timeout", "max_idle", "max_lifetime", "num_workers")
    settings = {**{name: getattr(pool, name) for name in names}, "check": check is not None, "reset": reset is not None}
    return Proof.of(pool, psycopg_pool, settings, driver=psycopg)


async def _reset_async(connection: Any) -> None:
    await connection.execute(RESET, prepare=False)


def _reset(connection: Any) -> None:
    connection.execute(RESET, prepare=False)


class PsycopgAsyncPool:
    """See `AsyncPool`."""

    timeouts = (psycopg_pool.PoolTimeout,)
    backend = staticmethod(_PID)

    def __init__(self, spec: dict[str, Any], size: int, connects: list[tuple[int, int]], *, full: bool) -> None:
        self._connects, self._open_s = connects, spec["timeouts"]["acquire_s"] + 0.1 * size
        self._settings = _pool_settings(spec, size, full=full)
        asked = spec["pool"]
        self._pool = psycopg_pool.AsyncConnectionPool(
            kwargs=connect_arguments(spec),
            open=False,
            configure=self._connected,
            check=psycopg_pool.AsyncConnectionPool.check_connection if asked.get("check") else None,
            reset=_reset_async if asked.get("reset") else None,
            **self._settings,
        )
        self.acquire, self.release = self._pool.getconn, self._pool.putconn
        self.pipeline = psycopg.AsyncConnection.pipeline if spec["benchmark"]["pipeline"] else None

    async def _connected(self, connection: Any) -> None:
        self._connects.append((time.monotonic_ns(), connection.pgconn.backend_pid))

    @staticmethod
    async def query(connection: Any) -> Any:
        """Execute the statement and take its value."""
        return (await (await connection.execute(SQL)).fetchone())[0]

    async def open(self) -> None:
        """Make the pool ready; with the connections that it has from the start."""
        await self._pool.open(wait=self._settings["min_size"] > 0, timeout=self._open_s)

    async def close(self) -> None:
        """Close every connection."""
        await self._pool.close(timeout=10)

    def proof(self) -> Proof:
        """Say what this pool is."""
        return _proof(self._pool)


class PsycopgThreadPool:
    """See `SyncPool`."""

    timeouts = (psycopg_pool.PoolTimeout,)
    backend = staticmethod(_PID)

    def __init__(self, spec: dict[str, Any], size: int, connects: list[tuple[int, int]], *, full: bool) -> None:
        self._connects, self._open_s = connects, spec["timeouts"]["acquire_s"] + 0.1 * size
        self._settings = _pool_settings(spec, size, full=full)
        asked = spec["pool"]
        self._pool = psycopg_pool.ConnectionPool(
            kwargs=connect_arguments(spec),
            open=False,
            configure=self._connected,
            check=psycopg_pool.ConnectionPool.check_connection if asked.get("check") else None,
            reset=_reset if asked.get("reset") else None,
            **self._settings,
        )
        self.acquire, self.release = self._pool.getconn, self._pool.putconn
        self.pipeline = psycopg.Connection.pipeline if spec["benchmark"]["pipeline"] else None

    def _connected(self, connection: Any) -> None:
        self._connects.append((time.monotonic_ns(), connection.pgconn.backend_pid))

    @staticmethod
    def query(connection: Any) -> Any:
        """Execute the statement and take its value."""
        return connection.execute(SQL).fetchone()[0]

    def open(self) -> None:
        """Make the pool ready; with the connections that it has from the start."""
        self._pool.open(wait=self._settings["min_size"] > 0, timeout=self._open_s)

    def close(self) -> None:
        """Close every connection."""
        self._pool.close(timeout=10)

    def proof(self) -> Proof:
        """Say what this pool is."""
        return _proof(self._pool)
