"""One row of a benchmark with each implementation, on a real server: what ran, what was timed, what was kept."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import labs

from poollab.data import store
from poollab.data.schemas import ITERATIONS, REQUESTS
from poollab.lab.embedded import EmbeddedLab
from poollab.run import benchmark
from poollab.run.cell import Plan, about
from poollab.session import plan_file
from poollab.stats import reuse
from poollab.stats.rows import Rows
from poollab.study.files import parse
from poollab.study.model import Study

#: Client, the arm's kind of caller, class of its pool, and whether it takes the connection that came back last.
CLIENTS = [
    ("asyncpg", "async", "asyncpg.pool.Pool", True),
    ("psycopg-async", "async", "psycopg_pool.pool_async.AsyncConnectionPool", False),
    ("psycopg-threads", "sync", "psycopg_pool.pool.ConnectionPool", False),
    ("sqlalchemy-threads", "sync", "sqlalchemy.pool.impl.QueuePool", False),
]
ARMS = {
    "asyncpg": {"client": "asyncpg", "size": 8},
    "psycopg-async": {"client": "psycopg-async", "size": 8},
    "psycopg-threads": {"client": "psycopg-threads", "size": 8},
    "sqlalchemy-threads": {"client": "sqlalchemy-threads", "size": 8},
}
PAIRS = {
    "async": {"baseline": "psycopg-async", "candidate": "asyncpg"},
    "sync": {"baseline": "psycopg-threads", "candidate": "sqlalchemy-threads"},
}


def plan(row: dict[str, Any], arm: str) -> Plan:
    """Return the first cell of a study with one row."""
    made = {
        "title": "Does it work?",
        "analysis": "pool-implementations",
        "database": {"tables": {"pool_lab": {"rows": 10}}, "settings": {"max_connections": 40}},
        "arms": ARMS,
        "pairs": PAIRS,
        "workloads": {"row": {"benchmark": row}},
    }
    return plan_file.cells(parse(Study, made, "test"), "test")[f"row.{arm}.r1"]


def run(lab: EmbeddedLab, out: Path, row: dict[str, Any], arm: str) -> tuple[dict[str, Any], Rows, Any]:
    """Measure a row; return record, check-outs and iterations as they were kept."""
    cell = plan(row, arm)
    record = benchmark.measure(lab, cell, out, 1, labs.guard(lab), enforced=labs.capped(lab))
    assert record == json.loads((out / "run.json").read_text("utf-8"))
    rows = Rows.of(store.read_parquet(out / "requests.parquet", REQUESTS, **about(cell)))
    times = store.read_parquet(out / "iterations.parquet", ITERATIONS, **about(cell))
    return record, rows, times.to_pandas()


@pytest.mark.parametrize(("client", "kind", "name", "newest"), CLIENTS)
def test_each_implementation_runs_as_itself(
    lab: EmbeddedLab,
    tmp_path: Path,
    client: str,
    kind: str,
    name: str,
    newest: bool,  # noqa: FBT001
) -> None:
    """The record proves class and version; a full pool makes no connection, and shows in which order it reuses them."""
    row = {"family": "single-caller", "mode": kind, "pool": 4, "operations": 50, "iterations": 2}
    record, rows, times = run(lab, tmp_path, row, client)
    assert (record["status"], record["reasons"]) in {("ok", ""), ("host-busy", record["reasons"])}
    proof = record["benchmark"]["implementations"][kind]
    assert f"{proof['module']}.{proof['class_name']}" == name
    assert proof["version"]
    assert (record["benchmark"]["connects"], record["sessions_before"], record["sessions_after"]) == (4, 4, 4)
    assert times["connects"].tolist() == [0, 0, 0]
    assert times["warm_up"].tolist() == [True, False, False]
    assert rows.ok.all()
    assert len(rows) == 100
    assert rows.closed.all()
    assert sorted(set(rows.step.tolist())) == [1, 2]
    stamps = rows.asking_ns, rows.acquired_ns, rows.released_ns
    order = reuse.order(rows.connection.astype(np.int64), *stamps, 4)
    assert max(order, key=lambda key: order[key]) == ("newest" if newest else "oldest")
    # Iterations hold their check-outs: nothing of a row lies outside its iteration's time.
    inside = times[~times["warm_up"]]
    for number, began, took in zip(inside["iteration"], inside["began_ns"], inside["duration_ns"], strict=True):
        mine = rows.where(rows.step == number)
        assert began <= mine.started_ns.min()
        assert mine.released_ns.max() <= began + took


@pytest.mark.parametrize("client", [name for name, *_ in CLIENTS])
def test_cold_start_makes_one_connection_for_each_caller(lab: EmbeddedLab, tmp_path: Path, client: str) -> None:
    """Each iteration begins without a connection and makes as many as there are callers, inside the clock."""
    kind = {name: kind for name, kind, *_ in CLIENTS}[client]
    row = {"family": "cold-start-ramp", "mode": kind, "callers": 6, "pool": 8, "iterations": 2}
    record, rows, times = run(lab, tmp_path, row, client)
    assert times["connects"].tolist() == [6, 6, 6]
    # How soon the server's processes of closed connections are gone is the machine's affair; they were closed.
    assert record["benchmark"]["connects"] == 18
    for number in (1, 2):
        mine = rows.where(rows.step == number)
        assert mine.acquired_ns.max() <= mine.result_ns.min()


@pytest.mark.parametrize("client", ["asyncpg", "psycopg-async", "psycopg-threads"])
def test_a_least_size_is_there_before_the_callers(
    lab: EmbeddedLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, client: str
) -> None:
    """A cold start of a pool with two connections from the start makes two fewer of them inside the clock."""
    monkeypatch.setitem(ARMS, client, {**ARMS[client], "min_size": 2})
    kind = {name: kind for name, kind, *_ in CLIENTS}[client]
    row = {"family": "cold-start-ramp", "mode": kind, "callers": 6, "pool": 8, "iterations": 2}
    record, _, times = run(lab, tmp_path, row, client)
    assert times["connects"].tolist() == [4, 4, 4]
    assert record["benchmark"]["connects"] == 18
    assert record["benchmark"]["implementations"][kind]["settings"]["min_size"] == 2


def test_both_sides_are_kept_to_cpus_of_their_own(lab: EmbeddedLab, tmp_path: Path) -> None:
    """Server and client use disjoint CPUs where there are two, and the record says which; with one it says so too."""
    row = {"family": "rapid-fire", "callers": 2, "pool": 2, "iterations": 1}
    cpus = run(lab, tmp_path, row, "asyncpg")[0]["benchmark"]["cpus"]
    if cpus["note"]:
        assert "CPU" in cpus["note"]
    else:
        assert not set(cpus["database"]) & set(cpus["load_generator"])
        assert cpus["load_generator_read_back"] == cpus["load_generator"]


def test_a_mixed_row_runs_a_pool_of_either_kind(lab: EmbeddedLab, tmp_path: Path) -> None:
    """The candidate of the asynchronous pair brings that of the synchronous one along; both share the connections."""
    row = {"family": "mixed-modes", "mode": "mixed", "callers": 4, "pool": 6, "operations": 5, "iterations": 2}
    record, rows, _ = run(lab, tmp_path, row, "asyncpg")
    ran = {kind: proof["class_name"] for kind, proof in record["benchmark"]["implementations"].items()}
    assert ran == {"async": "Pool", "sync": "QueuePool"}
    assert "implausible" not in record["reasons"]
    assert record["sessions_before"] == 6
    assert len(rows) == 4 * 5 * 2


def test_without_reset_a_release_costs_no_round_trip(lab: EmbeddedLab, tmp_path: Path) -> None:
    """The pool of asyncpg gives a connection back in far less time when it sends no reset query."""
    medians = {}
    for reset in (True, False):
        cell = plan({"family": "single-caller", "pool": 1, "operations": 100, "iterations": 2}, "asyncpg")
        cell.settings["arm"]["reset"] = reset
        out = tmp_path / str(reset)
        benchmark.measure(lab, cell, out, 1, labs.guard(lab), enforced=labs.capped(lab))
        rows = Rows.of(store.read_parquet(out / "requests.parquet", REQUESTS, **about(cell)))
        medians[reset] = float(np.median(rows.released_ns - rows.result_ns))
    assert medians[False] < 0.5 * medians[True]


@pytest.mark.parametrize(
    ("client", "asked", "said"),
    [
        ("asyncpg", {"check": True}, {"check": True, "reset": True, "min_size": 2, "max_size": 2}),
        ("psycopg-async", {"reset": True}, {"check": False, "reset": True, "min_size": 2, "max_size": 2}),
        ("psycopg-threads", {"reset": True, "check": True}, {"check": True, "reset": True, "max_size": 2}),
        ("sqlalchemy-threads", {"check": True}, {"pre_ping": True, "reset_on_return": "reset_rollback"}),
        ("sqlalchemy-threads", {"lifo": True}, {"pre_ping": False, "use_lifo": True, "pool_size": 2}),
    ],
)
def test_settings_are_read_back_from_the_pool(
    lab: EmbeddedLab, tmp_path: Path, client: str, asked: dict[str, Any], said: dict[str, Any]
) -> None:
    """What an arm asks for is what its pool says of itself, and every check-out ends ok with it."""
    kind = {name: kind for name, kind, *_ in CLIENTS}[client]
    cell = plan({"family": "steady-state", "mode": kind, "callers": 3, "pool": 2, "operations": 20}, client)
    cell.settings["arm"].update(asked)
    record = benchmark.measure(lab, cell, tmp_path, 1, labs.guard(lab), enforced=labs.capped(lab))
    settings = record["benchmark"]["implementations"][kind]["settings"]
    assert {name: settings[name] for name in said} == said
    rows = Rows.of(store.read_parquet(tmp_path / "requests.parquet", REQUESTS, **about(cell)))
    assert rows.ok.all()
    assert (record["finished"], record["warm_up_drained"], record["connections"]) == (True, True, 2)


@pytest.mark.parametrize(("client", "kind"), [(name, kind) for name, kind, *_ in CLIENTS])
def test_a_check_out_is_due_when_its_wave_begins(lab: EmbeddedLab, tmp_path: Path, client: str, kind: str) -> None:
    """Callers that the loop or the lock lets run one after another have waited since the iteration began."""
    row = {"family": "rapid-fire", "mode": kind, "callers": 8, "pool": 8, "operations": 5, "iterations": 2}
    _, rows, times = run(lab, tmp_path, row, client)
    for number, began in times.loc[~times["warm_up"], ["iteration", "began_ns"]].itertuples(index=False):
        mine = rows.where(rows.step == number)
        first = np.arange(len(mine)) % 5 == 0
        assert set(mine.scheduled_ns[first]) == {began}
        assert (mine.scheduled_ns[~first] == mine.released_ns[:-1][~first[1:]]).all()
