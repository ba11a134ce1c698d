"""A whole cell against a real server: every request is a row, and every bad thing becomes one."""

import os
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from support import facts, labs, studies

from poollab.data import store
from poollab.data.schemas import REQUESTS, SAMPLES, STAMPS
from poollab.errors import DataError, LabError, MeasurementError
from poollab.lab.embedded import EmbeddedLab
from poollab.load.draw import draw
from poollab.run.cell import Plan, about

LIGHT = "SELECT balance FROM pool_lab WHERE id = $1"
Meddle = Callable[..., Any]


@pytest.fixture
def server(lab: EmbeddedLab) -> EmbeddedLab:
    """The shared server under the caps that the plans of these tests ask for."""
    lab.set_caps(labs.HALF, labs.HALF)
    return lab


def _every_ms(gap: float) -> dict[str, Any]:
    return {"uniform": {"every_ms": gap}}


def test_a_plain_cell(server: EmbeddedLab, tmp_path: Path) -> None:
    """Every scheduled request is a row with five ordered stamps, on a pool that was established in full."""
    plan = studies.one_cell(LIGHT, _every_ms(5), {"windows": {"warm_up_s": 0.5, "measure_s": 2}, "pools": [4]})
    record, rows = labs.run(server, plan, tmp_path)
    assert labs.words(record) == set(), record["reasons"]
    assert len(rows) == 400
    assert rows["request"].tolist() == list(range(400))
    assert rows["scheduled_ns"].tolist() == [i * 5_000_000 for i in range(400)]
    assert rows["status"].unique().tolist() == ["ok"]
    for earlier, later in pairwise(STAMPS):
        assert (rows[later] >= rows[earlier]).all(), (earlier, later)
    assert (rows["released_ns"] > rows["scheduled_ns"]).all()
    # The pool stands in full although one connection would have done.
    assert (record["connections"], record["reachable"], record["pool_size"]) == (4, 4, 4)
    assert (record["sessions_before"], record["sessions_after"], record["new_connections"]) == (4, 4, 0)
    assert set(rows["connection"].unique()) <= set(range(4))
    assert record["generator"]["plan"] == "generic"
    assert labs.sessions_of(server) == 0


def test_files_of_a_cell(server: EmbeddedLab, tmp_path: Path) -> None:
    """A cell leaves four files that say where they come from, and its record holds their hashes."""
    plan = studies.one_cell(LIGHT, _every_ms(10), {"windows": {"warm_up_s": 0.3, "measure_s": 0.6}})
    record, _ = labs.run(server, plan, tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"requests.parquet", "warmup.parquet", "samples.parquet", "run.json"}
    assert store.read_json(tmp_path / "run.json") == record
    warm = store.read_parquet(tmp_path / "warmup.parquet", REQUESTS, **about(plan)).to_pandas()
    assert len(warm) == 30
    assert warm["scheduled_ns"].max() < 0
    assert (warm["released_ns"] < 0).all(), "the warm-up is drained before zero"
    samples = store.read_parquet(tmp_path / "samples.parquet", SAMPLES, **about(plan)).to_pandas()
    assert samples["at_ns"].is_monotonic_increasing
    assert 0 <= samples["at_ns"].iloc[0] < 100e6
    assert samples["at_ns"].iloc[-1] >= 0.6e9
    assert len(samples) >= 5
    assert (samples["host_busy_ns"].diff().dropna() >= 0).all()
    with pytest.raises(DataError, match="says cell"):
        store.read_parquet(tmp_path / "requests.parquet", REQUESTS, **{**about(plan), "cell": "other"})
    assert pq.read_schema(tmp_path / "requests.parquet").field("result_ns").type == "int64"


def test_a_generator_killed_for_memory_is_called_so(capped_lab: EmbeddedLab, tmp_path: Path) -> None:
    """A cap that no interpreter fits into ends with the key that raises it, and the next cell is measured."""
    limits = {"load_generator.limits": {"cpus": 0.5, "period_ms": 10, "memory_mib": 16}}
    plan = studies.one_cell(LIGHT, _every_ms(10), limits)
    with pytest.raises(MeasurementError, match=r"for want of memory; raise load_generator\.limits\.memory_mib"):
        labs.run(capped_lab, plan, tmp_path / "killed")
    record, _ = labs.run(
        capped_lab, studies.one_cell(LIGHT, _every_ms(10), {"windows.measure_s": 0.3}), tmp_path / "next"
    )
    capped_lab.set_caps(labs.HALF, labs.HALF)
    assert labs.words(record) == set(), record["reasons"]


def test_open_connections_are_a_series(capped_lab: EmbeddedLab, tmp_path: Path) -> None:
    """Once a second the samples hold how many sessions the server has, as it shows them itself."""
    capped_lab.set_caps(labs.HALF, labs.HALF)
    plan = studies.one_cell(LIGHT, _every_ms(20), {"windows": {"warm_up_s": 0.3, "measure_s": 2.5}, "pools": [4]})
    labs.run(capped_lab, plan, tmp_path)
    samples = store.read_parquet(tmp_path / "samples.parquet", SAMPLES, **about(plan)).to_pandas()
    assert set(samples["database_sessions"].dropna()) == {4}
    assert samples["database_sessions"].notna().sum() == 3
    assert (samples["database_inactive_file_bytes"] <= samples["database_memory_bytes"]).all()


def test_bursts_use_distinct_connections(server: EmbeddedLab, tmp_path: Path) -> None:
    """Requests of one instant are served by different connections, and with a small pool the rest waits in turn."""
    plan = studies.one_cell(LIGHT, {"bursts": {"size": 6, "every_ms": 100}}, {"pools": [3], "windows.measure_s": 1})
    record, rows = labs.run(server, plan, tmp_path)
    assert labs.words(record) == set(), record["reasons"]
    assert len(rows) == 60
    assert rows["connection"].nunique() == 3
    held = rows.sort_values("acquired_ns")
    for _, part in held.groupby("connection"):
        # A connection serves one request at a time: it is acquired again only after its release began.
        assert (part["acquired_ns"].iloc[1:].to_numpy() >= part["result_ns"].iloc[:-1].to_numpy()).all()
    assert held.groupby("connection")["connection_use"].apply(lambda c: c.tolist() == list(range(1, len(c) + 1))).all()


def test_every_arm_is_sent_the_same(server: EmbeddedLab, tmp_path: Path) -> None:
    """Two pool sizes get the same schedule and arguments, so that they can be compared in pairs."""
    found = studies.plans({"workloads.light.arrivals": {"poisson": {"rate_per_s": 80}}, "windows.measure_s": 0.5})
    records, frames = zip(*(labs.run(server, p, tmp_path / name) for name, p in found.items()), strict=True)
    assert len({record["schedule_hash"] for record in records}) == 1
    assert frames[0]["scheduled_ns"].tolist() == frames[1]["scheduled_ns"].tolist()


def _freeze(server: EmbeddedLab, meddle: Meddle, out: Path, window_s: float) -> "pd.Series[int]":
    changes = {"pools": [5], "windows": {"warm_up_s": 1, "measure_s": window_s}, "timeouts": {"acquire_s": 20}}
    meddle("freeze", server, 5, after_s=1 + window_s / 4, for_s=2.0)
    record, rows = labs.run(server, studies.one_cell(LIGHT, _every_ms(10), changes), out)
    assert len(rows) == 100 * window_s
    assert rows["status"].unique().tolist() == ["ok"], "a freeze makes requests slow, it loses none"
    assert (record["new_connections"], record["reachable"]) == (0, 5)
    return labs.waited_ns(rows)


def _summed_extra_s(waits: "pd.Series[int]") -> float:
    return float((waits - waits.median()).clip(lower=0).sum()) / 1e9


def test_a_freeze_shows_in_the_tail(server: EmbeddedLab, meddle: Meddle, tmp_path: Path) -> None:
    """
    Two frozen seconds at 100/s are carried by every request due in them, not by the five under way.

    About 200 arrivals wait between 0 and 2 s, evenly. Of 700 requests 35 lie beyond p95, which is the
    value that 35 of those 200 exceed: 2 s x (1 - 35/200) = 1.65 s; p99 is 2 s x (1 - 7/200) = 1.93 s. The
    bounds leave as much room as those of 30 s do (0.4 of 0.5 s and 1.5 of 1.7 s). The sum does not depend
    on the window: 200 x 1 s.
    """
    waits = _freeze(server, meddle, tmp_path, 7)
    assert waits.quantile(0.95, "lower") >= 1.3e9
    assert waits.quantile(0.99, "lower") >= 1.7e9
    assert _summed_extra_s(waits) >= 190
    assert waits.quantile(0.5) < 0.1e9


@pytest.mark.slow
def test_a_freeze_shows_in_the_tail_of_30_seconds(server: EmbeddedLab, meddle: Meddle, tmp_path: Path) -> None:
    """The same over 30 s: p95 of at least 0.4 s and p99 of at least 1.5 s, where a flawed tool shows 5 slow rows."""
    waits = _freeze(server, meddle, tmp_path, 30)
    assert waits.quantile(0.95, "lower") >= 0.4e9
    assert waits.quantile(0.99, "lower") >= 1.5e9
    assert _summed_extra_s(waits) >= 190


def test_overload_is_a_result(server: EmbeddedLab, tmp_path: Path) -> None:
    """More than the pool can serve keeps the schedule and every row, and the run is named overloaded."""
    changes = {"pools": [2], "windows": {"warm_up_s": 0.1, "measure_s": 2}}
    record, rows = labs.run(server, studies.one_cell("SELECT pg_sleep(0.05)", _every_ms(10), changes), tmp_path)
    assert labs.words(record) == {"overloaded"}, record["reasons"]
    assert rows["scheduled_ns"].tolist() == [i * 10_000_000 for i in range(200)]
    assert rows["status"].unique().tolist() == ["ok"]
    # Two at a time, 50 ms each: the last one waits for the 99 pairs before it, minus the time until it was due.
    assert labs.waited_ns(rows).iloc[-1] > 2e9
    start, end = record["counters"]["database"]
    assert end["at_ns"] - start["at_ns"] >= 4e9, "observed until the last release, not until the window's end"


def test_a_starved_generator_is_named(capped_lab: EmbeddedLab, tmp_path: Path) -> None:
    """When the generator itself cannot keep up its lateness is found and named, and is not the database's latency."""
    limits = {"limits": {"cpus": 0.3, "period_ms": 100}}
    changes = {"load_generator": limits, "windows": {"warm_up_s": 0.1, "measure_s": 2}}
    group = capped_lab._side("generator")
    hog = capped_lab._burn(group, 30)
    try:
        record, rows = labs.run(capped_lab, studies.one_cell(LIGHT, _every_ms(5), changes), tmp_path)
    finally:
        hog.kill()
        hog.wait()
        capped_lab.set_caps(labs.HALF, labs.HALF)
    assert "generator-late" in str(record["status"]).split("+"), record["reasons"]
    late = rows["started_ns"] - rows["scheduled_ns"]
    assert late.min() >= 0
    assert late.max() > 5e6
    assert len(rows) == 400


def test_acquire_timeouts_are_rows(server: EmbeddedLab, tmp_path: Path) -> None:
    """Requests that get no connection in time are rows with their status, and waited as long as allowed."""
    windows, timeouts = {"warm_up_s": 0.1, "measure_s": 1.5}, {"acquire_s": 0.3, "drain_s": 5}
    changes = {"pools": [1], "timeouts": timeouts, "windows": windows}
    plan = studies.one_cell("SELECT pg_sleep(0.2)", _every_ms(50), changes)
    record, rows = labs.run(server, plan, tmp_path)
    assert "errors" in labs.words(record)
    counts = rows["status"].value_counts().to_dict()
    assert sum(counts.values()) == 30
    assert set(counts) == {"ok", "acquire_timeout"}
    assert counts["acquire_timeout"] >= 10
    unserved = rows[rows["status"] == "acquire_timeout"]
    assert unserved[["acquired_ns", "result_ns", "released_ns", "connection"]].isna().all().all()
    gave_up_after = unserved["ended_ns"] - unserved["started_ns"]
    # The loop's own timers, which the driver's time-outs use, have a grain of 1 ms.
    assert gave_up_after.min() >= 0.299e9
    assert gave_up_after.max() < 0.4e9
    # Who got a connection waited no longer than the bound (and the loop's grain).
    good = rows[rows["status"] == "ok"]
    assert (good["acquired_ns"] - good["started_ns"]).max() < 0.6e9
    assert (good["acquired_ns"] - good["started_ns"]).max() > 0.1e9
    # No connection leaked: the only one can still be taken, and the server saw no other.
    assert (record["reachable"], record["connections"], record["new_connections"]) == (1, 1, 0)


def test_query_timeouts_are_rows(server: EmbeddedLab, tmp_path: Path) -> None:
    """A query that takes too long is cut off, is a row without a result, and hangs nobody."""
    sql = "SELECT pg_sleep(CASE WHEN $1 % 5 = 0 THEN 2 ELSE 0 END)"
    changes = {"timeouts": {"query_s": 0.2, "drain_s": 5}, "windows": {"warm_up_s": 0.1, "measure_s": 1}, "pools": [3]}
    plan = _avoiding_faults(sql, 5, changes)
    record, rows = labs.run(server, plan, tmp_path)
    counts = rows["status"].value_counts().to_dict()
    assert sum(counts.values()) == 20
    assert counts["query_timeout"] > 0
    late = rows[rows["status"] == "query_timeout"]
    assert late["result_ns"].isna().all()
    assert late["acquired_ns"].notna().all()
    assert "errors" in labs.words(record)


def _avoiding_faults(sql: str, every: int, changes: dict[str, Any]) -> Plan:
    """Return a plan whose warm-up draws no multiple of `every` and whose window some: only measured requests fail."""
    for number in range(2000):
        work = {"sql": sql, "args": [{"int": [1, 2000]}], "arrivals": _every_ms(50)}
        (plan,) = studies.plans({"workloads": {f"w{number}": work}, **changes}).values()
        warm, main = (
            draw(plan.study, plan.settings["workload"], 1, phase, seconds).args[0] % every
            for phase, seconds in zip(("warm-up", "measure"), plan.windows, strict=True)
        )
        if (warm != 0).all() and (main == 0).sum() >= 3:
            return plan
    raise AssertionError


def test_query_errors_are_rows(server: EmbeddedLab, tmp_path: Path) -> None:
    """A query that the server refuses is a row with the error's class; the connection serves on."""
    changes = {"windows": {"warm_up_s": 0.1, "measure_s": 1}, "pools": [2]}
    plan = _avoiding_faults("SELECT 1 / ($1 % 4)", 4, changes)
    record, rows = labs.run(server, plan, tmp_path)
    failed = rows[rows["status"] == "error"]
    assert 0 < len(failed) < 20
    assert failed["error_class"].str.startswith("DivisionByZeroError: division by zero").all()
    assert failed["result_ns"].isna().all()
    assert failed["released_ns"].notna().all()
    assert rows[rows["status"] == "ok"]["error_class"].isna().all()
    assert labs.words(record) == {"errors"}, record["reasons"]
    assert (record["reachable"], record["new_connections"], record["sessions_after"]) == (2, 0, 2)


def test_allowed_errors_are_no_fault(server: EmbeddedLab, tmp_path: Path) -> None:
    """A study that allows a share of errors gets its rows and an ok run."""
    changes = {"windows": {"warm_up_s": 0.1, "measure_s": 1}, "pools": [2], "allowed_errors": 0.9}
    plan = _avoiding_faults("SELECT 1 / ($1 % 4)", 4, changes)
    record, rows = labs.run(server, plan, tmp_path)
    assert (rows["status"] == "error").any()
    assert "errors" not in labs.words(record)


def test_errors_while_warming_are_rows_too(server: EmbeddedLab, tmp_path: Path) -> None:
    """A query that fails for some arguments fails in the warm-up as well; that must not end the cell without rows."""
    plan = studies.one_cell("SELECT 1 / ($1 % 2)", _every_ms(50), {"windows": {"warm_up_s": 0.5, "measure_s": 1}})
    record, rows = labs.run(server, plan, tmp_path)
    assert len(rows) == 20
    assert set(rows["status"]) == {"ok", "error"}
    assert "errors" in labs.words(record)


def test_killed_sessions_are_rows(server: EmbeddedLab, meddle: Meddle, tmp_path: Path) -> None:
    """Sessions that an administrator ends in mid-run become error rows, the run is marked, and nothing hangs."""
    changes = {"pools": [3], "windows": {"warm_up_s": 0.3, "measure_s": 3}, "timeouts": {"acquire_s": 5, "drain_s": 5}}
    meddle("terminate", server, 3, after_s=1.5)
    record, rows = labs.run(server, studies.one_cell("SELECT pg_sleep(0.05)", _every_ms(25), changes), tmp_path)
    assert len(rows) == 120
    failed = rows[rows["status"] != "ok"]
    assert 1 <= len(failed) <= 20
    assert failed["status"].unique().tolist() == ["error"]
    assert failed["error_class"].notna().all()
    assert failed["error_class"].str.contains("AdminShutdown|ConnectionDoesNotExist", regex=True).any()
    assert {"errors", "unclean"} <= labs.words(record), "connections were made inside the window"
    assert record["new_connections"] > 0
    # The run goes on after the blow: its last requests are served.
    assert rows["status"].iloc[-20:].eq("ok").all()


def test_a_server_that_dies_ends_the_block(tmp_path: Path) -> None:
    """When the server is gone in mid-run nothing of the run is kept, and the error says that the block is over."""
    with labs.running(rows=100) as lab:
        changes = {"windows": {"warm_up_s": 0.2, "measure_s": 1}, "timeouts": {"drain_s": 1, "acquire_s": 1}}
        plan = studies.one_cell("SELECT 1", _every_ms(20), changes)
        os.kill(lab.record.detail["postmaster"][0], 9)
        deadline = time.monotonic() + 5
        while lab.alive() and time.monotonic() < deadline:
            time.sleep(0.01)
        with pytest.raises(LabError, match="server of this block is gone"):
            labs.record_of(lab, plan, tmp_path / "cell")
        assert not (tmp_path / "cell").exists()
        folder, segment = lab.record.folder, lab.record.detail["segment"]
    assert facts.processes_in(folder) == []
    assert segment not in facts.segments()


def test_a_statement_the_server_does_not_know(server: EmbeddedLab, tmp_path: Path) -> None:
    """A statement that cannot even be prepared ends the cell with the server's own words and leaves no file."""
    plan = studies.one_cell("SELECT nonsense FROM pool_lab WHERE id = $1", _every_ms(50), {"windows.measure_s": 0.5})
    with pytest.raises(MeasurementError, match=r'column "nonsense" does not exist') as refused:
        labs.record_of(server, plan, tmp_path / "cell")
    assert "Traceback" not in str(refused.value)
    assert 'File "' not in str(refused.value)
    assert not (tmp_path / "cell" / "run.json").exists()
    assert list((Path(server.record.folder) / "cells").iterdir()) == []
    assert labs.sessions_of(server) == 0
