"""A statement that the server refuses is a fault of the study file, and reported like one."""

from support.project import Project


def test_a_statement_that_the_server_refuses(fresh: Project) -> None:
    """A wrong column ends with exit 2 and PostgreSQL's own words, before a cell is begun and with nothing left."""
    fresh.study({"workloads.light.sql": "SELECT balnce FROM pool_lab WHERE id = $1"})
    done = fresh.run()
    assert done.code == 2, done
    assert "workloads.light.sql: PostgreSQL refuses it" in done.text
    assert 'column "balnce" does not exist' in done.text
    assert "Traceback" not in done.text
    assert not list(fresh.results.glob("cells/*/run.json"))
    assert fresh.traces() == []


def test_an_argument_that_the_drivers_refuse(fresh: Project) -> None:
    """An integer for a text column would make an error of every request, and is a fault of the file instead."""
    fresh.study({"workloads.light.sql": "SELECT count(*) FROM pool_lab WHERE payload = $1"})
    done = fresh.run()
    assert done.code == 2, done
    assert "workloads.light.sql: $1 is text for the server, and args gives int; write $1::int" in done.text
    assert not list(fresh.results.glob("cells/*/run.json"))
    assert fresh.traces() == []
