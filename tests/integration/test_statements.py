"""What a server is asked of every statement before the first run."""

from typing import Any

import psycopg
import pytest

from poollab.lab.embedded import EmbeddedLab
from poollab.session import statements

ONE = [{"int": [1, 9]}]


def _faults(lab: EmbeddedLab, sql: str, args: list[dict[str, Any]]) -> list[str]:
    with psycopg.connect(lab.admin_dsn(), autocommit=True) as connection:
        return list(statements.faults(connection, {"sql": sql, "args": args}))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "SELECT balance FROM pool_lab WHERE id = $1",
        "SELECT $1::int8",
        "SELECT $1::numeric / 3",
        "SELECT pg_sleep($1 / 1000.0)",
        "SELECT pg_sleep($1)",
        "SELECT count(*) FROM pool_lab WHERE payload = $1::int::text",
        "SELECT i FROM generate_series(1, $1) AS i LIMIT 1",
    ],
)
def test_numbers_are_numbers(lab: EmbeddedLab, sql: str) -> None:
    """Placeholders that the server takes for whole numbers or decimals get what args gives."""
    assert _faults(lab, sql, ONE if "$1" in sql else []) == []


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        (
            "SELECT count(*) FROM pool_lab WHERE payload = $1",
            "$1 is text for the server, and args gives int; write $1::int",
        ),
        ("SELECT $1", "$1 is text for the server"),
        ("SELECT 1 WHERE $1", "$1 is boolean for the server, and args gives int; write $1::int"),
        ("SELECT now() - $1::interval", "$1 is interval for the server"),
        ("SELECT $1::timestamptz", "$1 is timestamp with time zone for the server"),
        ("SELECT id FROM nowhere WHERE id = $1", 'PostgreSQL refuses it: relation "nowhere" does not exist'),
    ],
)
def test_what_no_whole_number_can_be_is_refused(lab: EmbeddedLab, sql: str, said: str) -> None:
    """A type that drivers refuse an integer for would make an error of every request of a study."""
    (fault,) = _faults(lab, sql, ONE)
    assert fault.startswith(said)


def test_each_placeholder_is_looked_at(lab: EmbeddedLab) -> None:
    """The number of the placeholder stands in the message, a calibrated one's too."""
    args = [{"int": [1, 2]}, {"calibrated": {"cpu_ms": 1.0, "from": 1, "to": 9}}]
    assert _faults(lab, "SELECT 1 FROM pool_lab WHERE id = $1 AND payload = $2", args) == [
        "$2 is text for the server, and args gives calibrated; write $2::int, or $2::int::text where it must be text"
    ]


def test_a_range_beyond_the_type_is_refused(lab: EmbeddedLab) -> None:
    """Half of the values would be errors, and only of some requests."""
    (fault,) = _faults(lab, "SELECT $1::int2", [{"int": [1, 100_000]}])
    assert fault == (
        "$1 is smallint for the server, which holds -32,768 to 32,767, and args gives 1 to 100,000; write $1::int"
    )
