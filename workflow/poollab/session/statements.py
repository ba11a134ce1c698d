"""What the server says of a statement before the first run: whether it holds, and whether its arguments can be sent."""

from collections.abc import Iterator
from typing import Any

import psycopg
from psycopg.pq import ExecStatus

#: Types that every client sends a whole number for, by their names in the server, with their smallest and largest.
NUMBERS: dict[str, tuple[int, int] | None] = {
    "smallint": (-(2**15), 2**15 - 1),
    "integer": (-(2**31), 2**31 - 1),
    "bigint": (-(2**63), 2**63 - 1),
    "numeric": None,
    "real": None,
    "double precision": None,
}


def faults(connection: psycopg.Connection[Any], query: dict[str, Any]) -> Iterator[str]:
    """Let the server prepare a query's statement and give what is wrong with it or with its arguments."""
    answer = connection.pgconn.prepare(b"", query["sql"].encode())
    if answer.status != ExecStatus.COMMAND_OK:
        yield f"PostgreSQL refuses it: {_said(answer.get_error_message())}"
        return
    described = connection.pgconn.describe_prepared(b"")
    if described.status != ExecStatus.COMMAND_OK:
        yield f"PostgreSQL does not describe it: {_said(described.get_error_message())}"
        return
    # Asked before any other statement takes the place of the unnamed one.
    kinds = [described.param_type(number) for number in range(described.nparams)]
    for number, (kind, arg) in enumerate(zip(kinds, query["args"], strict=False), start=1):
        yield from _argument(number, _type_name(connection, kind), arg)


def _argument(number: int, kind: str, arg: dict[str, Any]) -> Iterator[str]:
    """Compare an argument's values with the type that the server gave to its placeholder."""
    key = "int" if "int" in arg else "calibrated"
    if kind not in NUMBERS:
        told = f"${number} is {kind} for the server, and args gives {key}; write ${number}::int"
        yield told + (f", or ${number}::int::text where it must be text" if kind == "text" else "")
        return
    low, high = arg["int"] if key == "int" else (arg[key]["from"], arg[key]["to"])
    bounds = NUMBERS[kind]
    if bounds is not None and not bounds[0] <= low <= high <= bounds[1]:
        allowed = f"which holds {bounds[0]:,} to {bounds[1]:,}"
        yield f"${number} is {kind} for the server, {allowed}, and args gives {low:,} to {high:,}; write ${number}::int"


def _type_name(connection: psycopg.Connection[Any], oid: int) -> str:
    row = connection.execute("SELECT format_type(%s::oid, NULL)", [oid]).fetchone()
    return str(row[0]) if row else f"type {oid}"


def _said(message: str) -> str:
    """Return the server's own words in one line, without the place that it points to."""
    lines = [line.strip() for line in message.splitlines() if line.strip(" ^")]
    return " ".join(line for line in lines if not line.startswith("LINE ")).removeprefix("ERROR:").strip()
