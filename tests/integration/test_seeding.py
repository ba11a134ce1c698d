"""The study's table: the same rows everywhere, proven against the server's own computation."""

import stat
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from support import labs

from poollab.errors import LabError
from poollab.lab import seeding
from poollab.lab.embedded import EmbeddedLab


def test_rows_are_the_declared_ones(lab: EmbeddedLab) -> None:
    """Each row on the server is the one that the rule gives: id, scattered balance, 128 characters."""
    with psycopg.connect(lab.admin_dsn(), autocommit=True) as connection:
        rows = connection.execute("SELECT id, balance, payload FROM pool_lab ORDER BY id").fetchall()
        by_server = connection.execute(
            "SELECT id, id * 7919 % 10000, repeat(md5(id::text), 4) FROM pool_lab ORDER BY id"
        ).fetchall()
    assert rows == [seeding.row(number) for number in range(1, 2001)] == by_server
    assert {len(payload) for _, _, payload in rows} == {128}
    assert len({balance for _, balance, _ in rows}) == 2000


BLOCKS = """
SELECT md5(string_agg(part, '' ORDER BY block)) FROM (
    SELECT (id - 1) / {0} AS block, md5(string_agg(format('%s|%s|%s;', id, balance, payload), '' ORDER BY id)) AS part
    FROM pool_lab GROUP BY 1
) AS blocks
"""


@pytest.mark.parametrize("block", [seeding.BLOCK, 700, 2000, 1])
def test_checksum_is_the_servers(lab: EmbeddedLab, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    """Our checksum over all rows, block by block, is what the server computes over its own, wherever blocks end."""
    monkeypatch.setattr(seeding, "BLOCK", block)
    with psycopg.connect(lab.admin_dsn(), autocommit=True) as connection:
        (found,) = connection.execute(BLOCKS.format(block).encode()).fetchone() or ("",)
        proof = seeding.prove(connection, "pool_lab", 2000)
        (size,) = connection.execute("SELECT pg_total_relation_size('pool_lab')").fetchone() or (0,)
    assert found == seeding.checksum(2000)
    assert proof == {"rows": 2000, "checksum": found, "bytes": size}


def test_no_text_holds_the_whole_table() -> None:
    """A text ends at 1 GiB, so a block of the checksum stays far below it at the longest row there can be."""
    assert len("{}|{}|{};".format(*seeding.row(2**31 - 1))) * seeding.BLOCK < 2**25


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE damaged SET balance = balance + 1 WHERE id = 1000",
        "DELETE FROM damaged WHERE id = 2000",
        "UPDATE damaged SET payload = payload || ' ' WHERE id = 3",
        "TRUNCATE damaged",
    ],
)
def test_a_table_that_differs_is_refused(lab: EmbeddedLab, damage: str) -> None:
    """One changed, lost or longer row is found before anything is measured on it."""
    with psycopg.connect(lab.admin_dsn()) as connection:
        connection.execute("CREATE TABLE damaged AS TABLE pool_lab")
        seeding.prove(connection, "damaged", 2000)
        connection.execute(sql.SQL(damage))
        with pytest.raises(LabError, match="table damaged holds"):
            seeding.prove(connection, "damaged", 2000)
        connection.rollback()


def test_table_is_settled_and_stays_so(lab: EmbeddedLab) -> None:
    """Autovacuum is off for the table and statistics are there, so that neither falls into the first cells."""
    with psycopg.connect(lab.admin_dsn(), autocommit=True) as connection:
        row = connection.execute(
            "SELECT reloptions, reltuples, relallvisible > 0 AND relallvisible >= relpages - 1 "
            "FROM pg_class WHERE relname = 'pool_lab'"
        ).fetchone()
    assert row == (["autovacuum_enabled=off"], 2000.0, True)


def test_generator_may_read_and_nothing_else(lab: EmbeddedLab) -> None:
    """The load generator's role reads the table and can neither change nor create anything."""
    dsn = lab.admin_dsn().replace("user=postgres", f"user={seeding.ROLE}")
    with psycopg.connect(dsn, autocommit=True) as connection:
        assert connection.execute("SELECT count(*) FROM pool_lab").fetchone() == (2000,)
        for text in ("DELETE FROM pool_lab", "CREATE TABLE t (i int)", "SELECT pg_read_file('/etc/passwd')"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(text)


def test_settings_are_read_back(lab: EmbeddedLab) -> None:
    """The settings in a block's record are what the server says, those of the study among them."""
    version, found = seeding.settings(lab.admin_dsn())
    assert version.startswith("16.")
    assert {key: found[key] for key in labs.SETTINGS if key != "max_parallel_workers_per_gather"} == {
        "max_connections": "40",
        "shared_buffers": "16MB",
    }
    assert found["max_parallel_workers_per_gather"] == "0"
    assert found["autovacuum"] == "off"
    assert found.get("listen_addresses") == ""


def test_the_server_listens_on_no_network(lab: EmbeddedLab) -> None:
    """No TCP address is listened on, and nobody but the server's user and root may reach its socket."""
    with psycopg.connect(lab.admin_dsn(), autocommit=True) as connection:
        assert connection.execute("SELECT inet_server_addr()").fetchone() == (None,)
    assert stat.S_IMODE(Path(lab.record.socket).stat().st_mode) == 0o700


def test_a_dead_server_is_not_waited_for() -> None:
    """Waiting for a server that died ends at once with what it said, not after the time-out."""
    with pytest.raises(LabError, match="it said no"):
        seeding.wait_ready("host=/nonexistent", 30, lambda: "it said no")


def test_a_silent_server_is_waited_for_within_bounds() -> None:
    """A server that never answers ends the wait with the last reason."""
    with pytest.raises(LabError, match=r"not ready within 0\.2 s"):
        seeding.wait_ready("host=/nonexistent dbname=x user=y", 0.2, lambda: None)
