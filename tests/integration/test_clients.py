"""Every client against a real server: the same stamps, statuses and schedule, whatever runs a request."""

import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support import labs, studies

from poollab.data.schemas import STAMPS
from poollab.errors import MeasurementError
from poollab.lab.embedded import EmbeddedLab
from poollab.run.cell import Plan

LIGHT = "SELECT balance FROM pool_lab WHERE id = $1"
CLIENTS = ("asyncpg", "psycopg-async", "psycopg-threads", "psycopg-executor")
ONE_ARG: list[dict[str, Any]] = [{"int": [1, 2000]}]
#: The plans of these tests ask for no cap: what is tested is no rate, and a shared machine is slow enough.
FREE: dict[str, Any] = {"database.limits": {}, "load_generator.limits": {}}


@pytest.fixture(scope="module")
def server(lab: EmbeddedLab) -> EmbeddedLab:
    """The shared server."""
    return lab


def _plan(client: str, workload: dict[str, Any], arm: dict[str, Any], changes: dict[str, Any] | None = None) -> Plan:
    """Return the plan of one cell with a client."""
    if client == "psycopg-executor" and "executor" not in arm:
        arm = {**arm, "executor": 8}
    given = {"pools": None, "arms": {"arm": {"client": client, **arm}}, "workloads": {"work": workload}, **FREE}
    windows = {"windows": {"warm_up_s": 0.1, "measure_s": 0.4}}
    (plan,) = studies.plans({**given, **windows, **(changes or {})}).values()
    return plan


def _sql(sql: str, every_ms: float) -> dict[str, Any]:
    return {"sql": sql, "args": ONE_ARG if "$1" in sql else [], "arrivals": {"uniform": {"every_ms": every_ms}}}


def _ordered(rows: pd.DataFrame, *names: str) -> None:
    for earlier, later in pairwise(names or STAMPS):
        assert (rows[later] >= rows[earlier]).all(), (earlier, later)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_plain_run(server: EmbeddedLab, tmp_path: Path, client: str) -> None:
    """Five ordered stamps for each request, on a full pool whose class, version and connects are on record."""
    record, rows = labs.run(server, _plan(client, _sql(LIGHT, 10), {"size": 4}), tmp_path)
    assert labs.words(record) == set(), record["reasons"]
    assert len(rows) == 40
    assert rows["status"].unique().tolist() == ["ok"]
    _ordered(rows)
    assert rows[["asked_ns", "ended_ns", "step"]].isna().all().all()
    assert set(rows["process"]) == {0}
    assert not rows["closed"].any()
    assert (record["connections"], record["sessions_before"], record["sessions_after"]) == (4, 4, 4)
    facts = record["generator"]
    assert (facts["connects"], facts["plan"]) == (4, "generic")
    pools = {"asyncpg": "Pool", "psycopg-async": "AsyncConnectionPool"}
    assert facts["pool"]["class"] == pools.get(client, "ConnectionPool")
    assert facts["pool"]["version"]
    assert labs.sessions_of(server) == 0


def test_every_client_is_sent_the_same(server: EmbeddedLab, tmp_path: Path) -> None:
    """Schedule and arguments of a workload and repeat do not depend on who sends them, or in how many processes."""
    work = {"sql": LIGHT, "args": ONE_ARG, "arrivals": {"poisson": {"rate_per_s": 80}}}
    arms = [(client, {"size": 2}) for client in CLIENTS] + [("psycopg-threads", {"size": 2, "processes": 2})]
    short = {"windows": {"warm_up_s": 0.05, "measure_s": 0.2}}
    found = [labs.run(server, _plan(c, work, arm, short), tmp_path / str(n)) for n, (c, arm) in enumerate(arms)]
    assert len({record["schedule_hash"] for record, _ in found}) == 1
    assert len({tuple(rows["scheduled_ns"]) for _, rows in found}) == 1


@pytest.mark.parametrize("client", CLIENTS)
def test_queries_that_fail(server: EmbeddedLab, tmp_path: Path, client: str) -> None:
    """A refused query is a row with its error, one without a result set is ok, and the connection serves on."""
    refused = _sql("SELECT 1 / ($1 % 3)", 20)
    record, rows = labs.run(server, _plan(client, refused, {"size": 2}), tmp_path / "refused")
    failed = rows[rows["status"] == "error"]
    assert 0 < len(failed) < len(rows)
    assert failed["error_class"].str.contains("DivisionByZero").all()
    assert failed["result_ns"].isna().all()
    assert failed["released_ns"].notna().all()
    assert labs.words(record) == {"errors"}, record["reasons"]
    assert (record["reachable"], record["new_connections"]) == (2, 0)
    record, rows = labs.run(server, _plan(client, _sql("SET LOCAL jit = 'off'", 50), {"size": 1}), tmp_path / "none")
    assert rows["status"].unique().tolist() == ["ok"]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_statement_the_server_does_not_know(server: EmbeddedLab, tmp_path: Path, client: str) -> None:
    """A statement that no arguments would mend ends the cell with the server's own words."""
    with pytest.raises(MeasurementError, match=r'column "nonsense" does not exist'):
        labs.run(server, _plan(client, _sql("SELECT nonsense FROM pool_lab", 50), {"size": 2}), tmp_path)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_bound_of_milliseconds_on_the_wait(server: EmbeddedLab, tmp_path: Path, client: str) -> None:
    """Waiting at most 5 ms for a connection is no bound on making one: the run is measured, and waits are given up."""
    changes = {"timeouts": {"acquire_s": 0.005}}
    record, rows = labs.run(server, _plan(client, _sql("SELECT pg_sleep(0.02)", 10), {"size": 1}, changes), tmp_path)
    counts = rows["status"].value_counts().to_dict()
    assert set(counts) == {"ok", "acquire_timeout"}, record["reasons"]
    assert counts["ok"] >= 5
    given_up = rows[rows["status"] == "acquire_timeout"]
    assert ((given_up["ended_ns"] - given_up["started_ns"]) >= 4e6).all()


@pytest.mark.parametrize("client", CLIENTS)
def test_a_query_that_never_returns(server: EmbeddedLab, tmp_path: Path, client: str) -> None:
    """A query is cut off after its time, is a row, and the connection is there for the next one."""
    work = {"request": [{"query": {"sql": "SELECT pg_sleep(60)"}}], "arrivals": {"batch": {"size": 4}}}
    # The warm-up before the window meets the bound once, and does not try again on other connections.
    changes = {"timeouts": {"query_s": 0.05, "acquire_s": 5, "drain_s": 5}}
    record, rows = labs.run(server, _plan(client, work, {"size": 2}, changes), tmp_path)
    assert rows["status"].tolist() == ["query_timeout"] * 4
    assert rows["result_ns"].isna().all()
    assert rows["released_ns"].notna().all()
    assert rows["released_ns"].max() < 2e9
    assert ((rows["released_ns"] - rows["acquired_ns"]) >= 0.05e9).all()
    assert labs.words(record) == {"errors"}, record["reasons"]
    assert (record["reachable"], record["new_connections"]) == (2, 0)


@pytest.mark.parametrize("client", CLIENTS)
def test_no_connection_in_time(server: EmbeddedLab, tmp_path: Path, client: str) -> None:
    """With one connection and slow queries the rest gets none in time: rows with that status, and nothing leaks."""
    work = {"sql": "SELECT pg_sleep(0.05)", "arrivals": {"batch": {"size": 8}}}
    changes = {"timeouts": {"acquire_s": 0.12, "drain_s": 5}}
    record, rows = labs.run(server, _plan(client, work, {"size": 1}, changes), tmp_path)
    counts = rows["status"].value_counts().to_dict()
    assert set(counts) == {"ok", "acquire_timeout"}
    assert counts["acquire_timeout"] >= 3
    unserved = rows[rows["status"] == "acquire_timeout"]
    assert unserved[["acquired_ns", "result_ns", "released_ns", "connection"]].isna().all().all()
    assert ((unserved["ended_ns"] - unserved["started_ns"]) >= 0.119e9).all()
    assert labs.words(record) == {"errors"}, record["reasons"]
    assert (record["reachable"], record["connections"], record["new_connections"]) == (1, 1, 0)


@pytest.mark.parametrize("client", CLIENTS)
def test_what_the_drain_cuts_off_is_unfinished(server: EmbeddedLab, tmp_path: Path, client: str) -> None:
    """When the drain is over no request is begun any more, and all that were not answered have the same status."""
    work = {"sql": "SELECT pg_sleep(0.25)", "arrivals": {"batch": {"size": 9}}}
    changes = {"timeouts": {"drain_s": 0.5}}
    arm = {"size": 1, **({"threads": 4} if client == "psycopg-threads" else {})}
    record, rows = labs.run(server, _plan(client, work, arm, changes), tmp_path)
    counts = rows["status"].value_counts().to_dict()
    assert set(counts) == {"ok", "unfinished"}
    assert 1 <= counts["ok"] <= 3
    assert rows["started_ns"].max() < 1e9
    assert rows.loc[rows["status"] == "ok", "released_ns"].max() < 1.1e9
    assert labs.words(record) == {"errors", "unclean"}, record["reasons"]
    assert "still under way" in record["reasons"]


@pytest.mark.parametrize("client", ["psycopg-threads", "psycopg-executor"])
def test_a_warm_up_that_does_not_drain_leaves_nothing_behind(server: EmbeddedLab, tmp_path: Path, client: str) -> None:
    """What the warm-up could not send is not sent in the window: there every request starts when it is due or later."""
    changes = {"windows": {"warm_up_s": 0.4, "measure_s": 0.4}, "timeouts": {"drain_s": 0.3}}
    arm = {"size": 1, **({"threads": 4} if client == "psycopg-threads" else {})}
    record, rows = labs.run(server, _plan(client, _sql("SELECT pg_sleep(0.1)", 10), arm, changes), tmp_path)
    begun = rows[rows["started_ns"].notna()]
    assert (begun["started_ns"] >= begun["scheduled_ns"]).all()
    assert set(rows["status"]) == {"ok", "unfinished"}
    assert "the warm-up did not drain" in record["reasons"]


@pytest.mark.parametrize(("client", "key"), [("psycopg-threads", "threads"), ("psycopg-executor", "executor")])
def test_the_wait_for_a_thread_is_no_wait_for_a_connection(
    server: EmbeddedLab, tmp_path: Path, client: str, key: str
) -> None:
    """Twelve requests at once on four threads and four connections: the wait is for a thread, and is counted there."""
    work = {"sql": "SELECT pg_sleep(0.05)", "arrivals": {"batch": {"size": 12}}}
    record, rows = labs.run(server, _plan(client, work, {"size": 4, key: 4}), tmp_path)
    assert labs.words(record) == set(), record["reasons"]
    assert (rows["acquired_ns"] - rows["started_ns"]).median() < 10e6
    assert (rows["started_ns"] - rows["scheduled_ns"]).max() > 90e6
    _ordered(rows)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_closed_loop(server: EmbeddedLab, tmp_path: Path, client: str) -> None:
    """Three workers on two connections: each sends when it has its answer and has thought, until the window ends."""
    work = {"sql": "SELECT pg_sleep(0.01)", "arrivals": {"closed": {"workers": 3, "think_ms": 5}}}
    record, rows = labs.run(server, _plan(client, work, {"size": 2}), tmp_path)
    assert labs.words(record) == set(), record["reasons"]
    assert rows["closed"].all()
    assert rows["status"].unique().tolist() == ["ok"]
    assert rows["request"].tolist() == list(range(len(rows)))
    assert rows["scheduled_ns"].is_monotonic_increasing
    # Two connections of at least 10 ms each for 0.4 s, and no request after that.
    assert 10 < len(rows) <= 80 + 3
    assert rows["scheduled_ns"].max() < 0.4e9
    _ordered(rows)
    # Every request but each worker's first is due 5 ms after a release.
    due = set((rows["released_ns"] + 5_000_000).tolist())
    assert sum(at in due for at in rows["scheduled_ns"].tolist()) == len(rows) - 3
    under_way = [int(((rows["started_ns"] <= at) & (rows["released_ns"] > at)).sum()) for at in rows["acquired_ns"]]
    assert max(under_way) <= 3


@pytest.mark.parametrize("client", ["asyncpg", "psycopg-threads"])
def test_two_processes(server: EmbeddedLab, tmp_path: Path, client: str) -> None:
    """Two generator processes with a pool each send one schedule between them, on one clock."""
    record, rows = labs.run(server, _plan(client, _sql(LIGHT, 10), {"size": 2, "processes": 2}), tmp_path)
    assert labs.words(record) == set(), record["reasons"]
    assert rows["scheduled_ns"].tolist() == [i * 10_000_000 for i in range(40)]
    assert rows["process"].tolist() == [0, 1] * 20
    assert rows["status"].unique().tolist() == ["ok"]
    _ordered(rows)
    by_process = rows.groupby("process")["connection"].agg(set)
    assert by_process[0] <= {0, 1}
    assert by_process[1] <= {2, 3}
    assert (record["sessions_before"], record["connections"], record["reachable"]) == (4, 4, 4)
    assert (record["pool_size"], record["generator"]["processes"]) == (2, 2)
    assert labs.sessions_of(server) == 0


STEPS: list[dict[str, Any]] = [
    {"wait": {"ms": 4}},
    {"compute": {"ms": 3}},
    {"query": {"sql": LIGHT, "args": ONE_ARG, "times": [2, 4]}},
    {"hold": {"ms": 6}},
    {"query": {"sql": "SELECT 1", "share": 0.5}},
    {"compute": {"ms": 2}},
    {"wait": {"ms": 5}},
]


@pytest.mark.parametrize("client", ["asyncpg", "psycopg-threads", "psycopg-executor"])
def test_a_request_of_many_steps(server: EmbeddedLab, tmp_path: Path, client: str) -> None:
    """Steps before, with and after the connection last at least as long as they say, each in its own interval."""
    work = {"request": STEPS, "arrivals": {"uniform": {"every_ms": 60}}}
    record, rows = labs.run(server, _plan(client, work, {"size": 2}), tmp_path)
    assert labs.words(record) == set(), record["reasons"]
    assert rows["status"].unique().tolist() == ["ok"]
    _ordered(rows, "started_ns", "asked_ns", "acquired_ns", "result_ns", "released_ns", "ended_ns")
    # Work is calibrated by CPU time, so a little less than stated may pass where the calibration was disturbed.
    assert (rows["asked_ns"] - rows["started_ns"]).min() >= 4e6 + 0.7 * 3e6
    assert (rows["result_ns"] - rows["acquired_ns"]).min() >= 6e6
    assert (rows["ended_ns"] - rows["released_ns"]).min() >= 5e6 + 0.7 * 2e6
    assert record["generator"]["compute"]["turns_per_ms"] > 100
    assert record["generator"]["plan"] in {"generic", "mixed"}


@pytest.mark.parametrize("client", ["asyncpg", "psycopg-threads"])
def test_requests_without_a_database(server: EmbeddedLab, tmp_path: Path, client: str) -> None:
    """A workload that only waits opens no connection; its requests run at once and its memory is on record."""
    work = {"request": [{"wait": {"ms": 200}}], "arrivals": {"batch": {"size": 300}}, "trace_memory": True}
    record, rows = labs.run(server, _plan(client, work, {"size": 2}), tmp_path)
    assert labs.words(record) == set(), record["reasons"]
    assert rows[["acquired_ns", "result_ns", "released_ns", "asked_ns", "connection"]].isna().all().all()
    assert ((rows["ended_ns"] - rows["started_ns"]) >= 200e6).all()
    assert rows["ended_ns"].max() < 1e9, "300 waits of 200 ms at once, not one after another"
    assert (record["sessions_before"], record["connections"], record["generator"]["connects"]) == (0, 0, 0)
    memory = record["generator"]["memory"]
    assert memory["traced_peak_bytes"] > 10_000
    assert memory["peak_rss_bytes"] >= memory["rss_before_requests_bytes"] > 0
    if client == "psycopg-threads":
        assert record["generator"]["threads"] == record["generator"]["threads_peak"] == 300


@pytest.mark.parametrize("client", ["asyncpg", "psycopg-threads"])
def test_work_in_the_caller_and_apart(server: EmbeddedLab, tmp_path: Path, client: str) -> None:
    """A block of work in the caller holds the other requests up; done in another process it does not."""
    work = {
        "request": [{"compute": {"ms": 100, "at": [20]}}, {"query": {"sql": LIGHT, "args": ONE_ARG}}],
        "arrivals": {"uniform": {"every_ms": 5}},
    }
    done = {}
    for where in ("caller", "processes"):
        plan = _plan(client, work, {"size": 4, "compute_in": where})
        record, rows = labs.run(server, plan, tmp_path / where)
        # On a busy machine the work takes far longer than its CPU time, and the rate may not be kept.
        assert labs.words(record) <= {"overloaded"}, record["reasons"]
        block = rows.loc[19]
        assert block["asked_ns"] - block["started_ns"] >= 0.7 * 100e6
        others = rows.drop(index=19)
        done[where] = float((others["released_ns"] - others["scheduled_ns"]).quantile(0.9))
    # Threads get their turn every 5 ms, an event loop none until the block is over; apart nobody waits.
    assert done["caller"] > max(4.5e6, done["processes"]), done


def test_steps_and_their_numbers(server: EmbeddedLab, tmp_path: Path) -> None:
    """Each request carries the number of its arrivals step; a step beyond capacity is named and loses no row."""
    parts = [{"for_s": 0.5, "uniform": {"every_ms": 50}}, {"for_s": 0.5, "uniform": {"every_ms": 4}}]
    work = {"sql": "SELECT pg_sleep(0.02)", "arrivals": {"steps": parts}}
    changes = {"windows": {"warm_up_s": 0.2, "measure_s": 1}}
    record, rows = labs.run(server, _plan("asyncpg", work, {"size": 2}, changes), tmp_path)
    assert rows["step"].tolist() == [1] * 10 + [2] * 125
    assert labs.words(record) == {"overloaded"}, record["reasons"]
    assert "part 2 of the schedule" in record["reasons"]
    assert rows["status"].unique().tolist() == ["ok"]


@pytest.mark.slow
@pytest.mark.parametrize("client", CLIENTS)
def test_a_frozen_server_hangs_nobody(
    server: EmbeddedLab, meddle: Callable[..., Any], tmp_path: Path, client: str
) -> None:
    """A server that answers nothing, not even a cancellation, costs each request a bounded time, and the run ends."""
    changes = {
        "timeouts": {"query_s": 0.3, "acquire_s": 6, "drain_s": 20},
        "windows": {"warm_up_s": 0.3, "measure_s": 2},
    }
    meddle("freeze", server, 2, after_s=0.8, for_s=12.0)
    begun = time.monotonic()
    record, rows = labs.run(server, _plan(client, _sql(LIGHT, 50), {"size": 2}, changes), tmp_path)
    assert time.monotonic() - begun < 30
    counts = rows["status"].value_counts().to_dict()
    assert sum(counts.values()) == 40
    assert counts.get("query_timeout", 0) + counts.get("error", 0) >= 2
    assert "unfinished" not in counts
    assert "errors" in labs.words(record), record["reasons"]
    assert "still under way" not in record["reasons"]


@pytest.mark.slow
def test_waits_are_those_of_queueing_theory(server: EmbeddedLab, tmp_path: Path) -> None:
    """
    One connection held for a fixed time under Poisson arrivals is M/D/1: mean wait = rho S / (2 (1 - rho)).

    S is the measured mean hold. A run's mean scatters by 7 % at this length, hence the bound of 20 %.
    """
    work = {"sql": "SELECT pg_sleep(0.01)", "arrivals": {"poisson": {"rate_per_s": 50}}}
    changes = {"windows": {"warm_up_s": 1, "measure_s": 60}}
    record, rows = labs.run(server, _plan("asyncpg", work, {"size": 1}, changes), tmp_path)
    assert labs.words(record) == set(), record["reasons"]
    hold_s = float((rows["released_ns"] - rows["acquired_ns"]).mean()) / 1e9
    rho = len(rows) / 60 * hold_s
    theory_s = rho * hold_s / (2 * (1 - rho))
    measured_s = float((rows["acquired_ns"] - rows["started_ns"]).mean()) / 1e9
    assert measured_s == pytest.approx(theory_s, rel=0.2)
