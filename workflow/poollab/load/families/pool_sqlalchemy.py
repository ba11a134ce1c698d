"""SQLAlchemy's QueuePool on its own over psycopg connections, driven by its own connect and close."""

import operator
import time
from typing import Any

import psycopg
import sqlalchemy
from sqlalchemy import exc
from sqlalchemy.pool import QueuePool

from poollab.load.families.pool_psycopg import SQL, connect_arguments
from poollab.load.families.proof import Proof


class SqlalchemyPool:
    """See `SyncPool`; a connection is made by the thread that asks for it."""

    timeouts = (exc.TimeoutError,)
    backend = staticmethod(operator.attrgetter("dbapi_connection.pgconn.backend_pid"))
    release = staticmethod(operator.methodcaller("close"))

    def __init__(self, spec: dict[str, Any], size: int, connects: list[tuple[int, int]], *, full: bool) -> None:
        self._connects, self._size, self._full = connects, size, full
        self._arguments = connect_arguments(spec)
        self._settings = {
            "pool_size": size,
            "max_overflow": 0,
            "timeout": spec["timeouts"]["acquire_s"],
            "use_lifo": spec["pool"].get("lifo", False),
        }
        self._pool = QueuePool(self._connect, **self._settings)
        self.acquire = self._pool.connect
        self.pipeline = _pipeline if spec["benchmark"]["pipeline"] else None

    def _connect(self) -> Any:
        connection = psycopg.connect(**self._arguments)
        self._connects.append((time.monotonic_ns(), connection.pgconn.backend_pid))
        return connection

    @staticmethod
    def query(connection: Any) -> Any:
        """Execute the statement and take its value."""
        return connection.dbapi_connection.execute(SQL).fetchone()[0]

    def open(self) -> None:
        """Take and give back every connection where the pool was asked to be full: it has no other way to fill."""
        held = [self._pool.connect() for _ in range(self._size if self._full else 0)]
        for connection in held:
            connection.close()

    def close(self) -> None:
        """Close every connection."""
        self._pool.dispose()

    def proof(self) -> Proof:
        """Say what this pool is."""
        return Proof.of(self._pool, sqlalchemy, self._settings, driver=psycopg)


def _pipeline(connection: Any) -> Any:
    return connection.dbapi_connection.pipeline()
