"""Versions of what ran: in the identity of a block, and in the row of each run."""

import importlib.metadata
from typing import Any

import pytest

from poollab.lab import machine
from poollab.plan import differing_keys
from poollab.stats.summary import ran

DRIVERS = ("asyncpg", "uvloop", "psycopg", "psycopg-binary", "psycopg-pool", "sqlalchemy")


def test_every_driver_is_recorded() -> None:
    """A block's record holds the version of each distribution on a request's way, null where it is not installed."""
    found = machine.describe()["drivers"]
    assert tuple(found) == DRIVERS
    assert found["psycopg-pool"] == importlib.metadata.version("psycopg-pool")
    assert machine._version("no-such-distribution") is None


@pytest.mark.parametrize("name", DRIVERS)
def test_another_version_is_another_environment(name: str) -> None:
    """Blocks that were measured with two versions of any of them are never mixed, and the key is named."""
    now = {"drivers": dict.fromkeys(DRIVERS, "1.0")}
    then = {"drivers": {**now["drivers"], name: "0.9"}}
    (line,) = differing_keys(machine.identity(now), machine.identity(then))
    assert line == f"drivers.{name}: '0.9' in the results, '1.0' now"


PSYCOPG = {
    "driver": {"module": "psycopg", "version": "3.3.9", "implementation": "binary"},
    "pool": {"class": "ConnectionPool", "module": "psycopg_pool.pool", "version": "3.3.3"},
}
PROOFS = {
    "sync": {
        "module": "psycopg_pool.pool",
        "class_name": "ConnectionPool",
        "version": "3.3.3",
        "driver": "psycopg 3.3.9",
    },
    "async": {"module": "asyncpg.pool", "class_name": "Pool", "version": "0.32.0", "driver": "asyncpg 0.32.0"},
}


@pytest.mark.parametrize(
    ("record", "driver", "pool"),
    [
        ({"generator": PSYCOPG}, "psycopg 3.3.9 (binary)", "psycopg_pool.pool.ConnectionPool 3.3.3"),
        ({"generator": {"driver": None, "pool": None}}, None, None),
        ({"generator": {"plan": "generic"}}, None, None),
        (
            {
                "generator": {"driver": {"module": "psycopg_pool", "version": "x"}},
                "benchmark": {"implementations": PROOFS},
            },
            "psycopg 3.3.9; asyncpg 0.32.0",
            "psycopg_pool.pool.ConnectionPool 3.3.3; asyncpg.pool.Pool 0.32.0",
        ),
    ],
)
def test_a_runs_row_says_what_ran(record: dict[str, Any], driver: str | None, pool: str | None) -> None:
    """Driver and class of the pool come from the load generator itself, with their versions; null where none ran."""
    assert ran(record) == {"driver": driver, "pool_class": pool}
