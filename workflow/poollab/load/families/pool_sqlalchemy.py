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

#: What a pool says nowhere else, by the names of its arguments.
_SAID = operator.attrgetter("_max_overflow", "_pool.use_lifo", "_pre_ping", "_reset_on_return.name")
_NAMES = ("max_overflow", "use_lifo", "pre_ping", "reset_on_return")


def _pinged(*, check: bool) -> dict[str, Any]:
    """Return what a pool needs that checks a connection when it is taken: it is the dialect that knows how."""
    if not check:
        return {}
    from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg  # noqa: PLC0415 - is memory that others lack

    return {"pre_ping": True, "dialect": PGDialect_psycopg(dbapi=psycopg)}  # type: ignore[no-untyped-call]


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
            "use_lifo": bool(spec["pool"].get("lifo")),
        }
        self._pool = QueuePool(self._connect, **self._settings, **_pinged(check=bool(spec["pool"].get("check"))))
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
        """Say what this pool is, with its settings as it holds them itself."""
        pool = self._pool
        settings = {"pool_size": pool.size(), "timeout": pool.timeout(), **dict(zip(_NAMES, _SAID(pool), strict=True))}
        return Proof.of(pool, sqlalchemy, settings, driver=psycopg)


def _pipeline(connection: Any) -> Any:
    return connection.dbapi_connection.pipeline()
