"""Make the study's tables in a fresh server, prove them, and wait for the server that will stay."""

import hashlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
from psycopg import sql

from poollab.errors import LabError
from poollab.lab.base import ROLE


def row(number: int) -> tuple[int, int, str]:
    """Return row `number` (from 1): id, a scattered balance below 10,000, and 128 characters."""
    return number, number * 7919 % 10_000, hashlib.md5(str(number).encode(), usedforsecurity=False).hexdigest() * 4


#: Rows of one block of the checksum: the server makes one text of each, and a text ends at 1 GiB.
BLOCK = 100_000


def checksum(rows: int) -> str:
    """
    Return the MD5 over the MD5 of each block of rows as text, in order of id.

    Blocks are of 100,000 ids, from 1; the server computes the same (see `prove`).
    """
    whole = hashlib.md5(usedforsecurity=False)
    for first in range(1, rows + 1, BLOCK):
        text = "".join("{}|{}|{};".format(*row(n)) for n in range(first, min(first + BLOCK, rows + 1)))
        whole.update(hashlib.md5(text.encode(), usedforsecurity=False).hexdigest().encode())
    return whole.hexdigest()


def wait_ready(dsn: str, within_s: float, death: Callable[[], str | None]) -> None:
    """
    Return when the final postmaster answers a query twice with the same start time.

    A temporary server (as initialisation scripts start one) would show another start time.

    Raises:
        LabError: the server died (what `death` says) or did not answer in time.
    """
    deadline, seen, last = time.monotonic() + within_s, None, "no answer"
    while time.monotonic() < deadline:
        if (text := death()) is not None:
            raise LabError(text)
        try:
            with psycopg.connect(dsn, connect_timeout=2, autocommit=True) as connection:
                now = connection.execute("SELECT pg_postmaster_start_time()").fetchone()
        except psycopg.Error as error:
            last = str(error).strip().splitlines()[0]
        else:
            if seen == now:
                return
            seen = now
        time.sleep(0.05)
    raise LabError(
        f"the server was not ready within {within_s:g} s ({last}); look at the log beside the block's record"
    )


def seed(dsn: str, tables: dict[str, int]) -> dict[str, dict[str, Any]]:
    """
    Load the tables (name -> rows), settle them, and return rows, checksum and bytes of each.

    Autovacuum is off for them: it would start 40 s after the load, in the first cells.

    Raises:
        LabError: a table does not hold exactly what was sent.
    """
    proofs = {}
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(ROLE)))
        for name, rows in tables.items():
            _load(connection, sql.Identifier(name), rows)
            proofs[name] = prove(connection, name, rows)
        connection.execute("CHECKPOINT")
    return proofs


def _load(connection: psycopg.Connection[Any], table: sql.Identifier, rows: int) -> None:
    columns = "id int PRIMARY KEY, balance int NOT NULL, payload text NOT NULL"
    connection.execute(sql.SQL(f"CREATE TABLE {{}} ({columns}) WITH (autovacuum_enabled = off)").format(table))
    with connection.cursor() as cursor, cursor.copy(sql.SQL("COPY {} FROM STDIN").format(table)) as copy:
        for block in _blocks(rows):
            copy.write(block)
    connection.execute(sql.SQL("VACUUM (FREEZE, ANALYZE) {}").format(table))
    connection.execute(sql.SQL("GRANT SELECT ON {} TO {}").format(table, sql.Identifier(ROLE)))


def _blocks(rows: int) -> Iterator[str]:
    for first in range(1, rows + 1, 5000):
        yield "".join("{}\t{}\t{}\n".format(*row(n)) for n in range(first, min(first + 5000, rows + 1)))


def prove(connection: psycopg.Connection[Any], name: str, rows: int) -> dict[str, Any]:
    """Compare a table's rows with what they must be; return rows, checksum and bytes with the index."""
    table = sql.Identifier(name)
    rows_as_text = "string_agg(id || '|' || balance || '|' || payload || ';', '' ORDER BY id)"
    kept = f"count(*) AS held, md5({rows_as_text}) AS digest, (id - 1) / {BLOCK} AS block"
    whole = "coalesce(sum(held), 0)::bigint, md5(coalesce(string_agg(digest, '' ORDER BY block), ''))"
    text = sql.SQL(f"SELECT {whole} FROM (SELECT {kept} FROM {{}} GROUP BY block) AS blocks")  # noqa: S608 - constant text
    found = connection.execute(text.format(table)).fetchone()
    want = checksum(rows)
    if found is None or tuple(found) != (rows, want):
        raise LabError(f"table {name} holds {found}, expected {rows} rows with checksum {want}; the server lost data")
    size = connection.execute(
        "SELECT pg_total_relation_size(%s::regclass)", [sql.Identifier(name).as_string(connection)]
    ).fetchone()
    return {"rows": rows, "checksum": want, "bytes": size[0] if size else None}


def settings(dsn: str) -> tuple[str, dict[str, str]]:
    """Return the server's version and every setting that somebody set, as read back."""
    query = "SELECT name, current_setting(name) FROM pg_settings WHERE source IN ('command line', 'configuration file')"
    with psycopg.connect(dsn, autocommit=True) as connection:
        version = connection.execute("SHOW server_version").fetchone()
        rows = connection.execute(query + " ORDER BY name").fetchall()
    return (version[0].split(" ")[0] if version else "?"), dict(rows)
