"""What the psycopg clients share: how they connect, and what their pools are told."""

import logging
from typing import Any

import psycopg
import psycopg_pool
from psycopg.adapt import Dumper
from psycopg.pq import ExecStatus

from poollab.load.clients.base import AT_START_S, NEVER_S

TUPLES_OK = ExecStatus.TUPLES_OK
TIMEOUTS: tuple[type[BaseException], ...] = (TimeoutError, psycopg_pool.PoolTimeout)


class Untyped(Dumper):
    """
    Sends an integer without a type, so that the server infers it from the statement.

    psycopg would choose the smallest type for each value, and one statement would be prepared (and planned)
    several times on one connection.
    """

    def dump(self, obj: Any) -> bytes:
        """Return the digits."""
        return b"%d" % obj


def of_statement(error: BaseException) -> bool:
    """Tell whether an error is the statement's own (class 42 of SQLSTATE), so that no arguments would mend it."""
    return isinstance(error, psycopg.Error) and (error.sqlstate or "").startswith("42")


def connection_arguments(spec: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of every connection; statements are prepared at their first execution."""
    psycopg.adapters.register_dumper(int, Untyped)
    return {
        "host": spec["socket"],
        "port": spec["port"],
        "user": spec["user"],
        "dbname": spec["database"],
        "sslmode": "disable",
        "gssencmode": "disable",
        "application_name": "poollab",
        "autocommit": True,
        "prepare_threshold": 0,
        "connect_timeout": round(max(AT_START_S, spec["timeouts"]["acquire_s"])),
    }


def pool_arguments(spec: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of every pool: created empty, nothing expires, connections are made one at a time."""
    # A pool that loses connections would write lines of its own while the clock runs.
    logging.getLogger("psycopg").setLevel(logging.CRITICAL)
    return {
        "min_size": 0,
        "max_size": spec["pool"]["size"],
        "open": False,
        "timeout": spec["timeouts"]["acquire_s"],
        "max_waiting": 0,
        "max_lifetime": NEVER_S,
        "max_idle": NEVER_S,
    }


def facts(pool: Any) -> dict[str, Any]:
    """Name driver and pool as they really ran."""
    kind = type(pool)
    return {
        "driver": {"module": "psycopg", "version": psycopg.__version__, "implementation": psycopg.pq.__impl__},
        "pool": {"class": kind.__qualname__, "module": kind.__module__, "version": psycopg_pool.__version__},
    }
