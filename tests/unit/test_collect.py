"""From cells to tables and findings: nothing is lost on the way, and what is claimed stands in the numbers."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from support import simulator
from support.cells import EMPTY, Folder, read
from support.simulator import Load, World

from poollab.data import store
from poollab.data.schemas import ALL_REQUESTS, CONDITIONS, RUNS
from poollab.errors import DataError
from poollab.quantiles import nearest_rank
from poollab.stats import collect
from poollab.stats.rows import Rows, overall

BURSTS = Load("bursts", 10, 100, 2.0, window_s=3.0)
ARRIVALS = {"bursts": {"bursts": {"size": 10, "every_ms": 100}}}
WORLD = World(spread=0.01)


def _folder(path: Path, bad: tuple[int, int] | None = None) -> dict[tuple[int, int], Rows]:
    """Write a study of two pools, small enough to wait and large enough, and three repeats."""
    folder, kept = Folder(path, ARRIVALS, [3, 10], BURSTS.window_s), {}
    rng = np.random.default_rng(1)
    for repeat in (1, 2, 3):
        for size in (10, 3):
            rows = simulator.run(BURSTS, size, float(np.exp(rng.normal(0, 0.01))), WORLD, rng)
            kept[size, repeat] = rows
            folder.add("bursts", size, repeat, rows, "overloaded" if (size, repeat) == bad else "ok")
    folder.finish()
    return kept


@pytest.fixture(scope="module")
def joined(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[tuple[int, int], Rows]]:
    """Join a simulated study once."""
    path = tmp_path_factory.mktemp("joined")
    kept = _folder(path)
    collect.collect(path)
    return path, kept


def test_all_requests_arrive_in_executed_order(joined: tuple[Path, dict[tuple[int, int], Rows]]) -> None:
    """requests.parquet holds every row of every cell, one cell after another, each with its place."""
    path, kept = joined
    table = store.read_parquet(path / "requests.parquet", ALL_REQUESTS, study="simulated")
    assert table.num_rows == sum(map(len, kept.values()))
    assert pq.ParquetFile(path / "requests.parquet").metadata.num_row_groups == len(kept)
    seen = list(dict.fromkeys(zip(table["position"].to_pylist(), table["cell"].to_pylist(), strict=True)))
    assert seen[:2] == [(1, "bursts.pool-10.r1"), (2, "bursts.pool-3.r1")]
    first = table.slice(0, len(kept[10, 1]))
    assert (first["released_ns"].to_numpy() == kept[10, 1].released_ns).all()
    assert not list(path.glob(".*.part"))


def test_condition_pools_the_requests_of_its_runs(joined: tuple[Path, dict[tuple[int, int], Rows]]) -> None:
    """A condition's percentiles are those of its runs' requests together, with the runs' extremes beside them."""
    path, kept = joined
    small, _ = store.read_parquet(path / "conditions.parquet", CONDITIONS).to_pylist()
    runs = [overall(kept[3, r]) for r in (1, 2, 3)]
    assert small["pool_size"] == 3
    assert small["overall_p95_ns"] == nearest_rank(np.concatenate(runs), 0.95)
    assert small["overall_p95_run_min_ns"] == min(nearest_rank(run, 0.95) or 0 for run in runs)
    assert small["overall_mean_ns"] == pytest.approx(np.concatenate(runs).mean())
    parts = ("scheduling_delay", "acquisition_wait", "query_round_trip", "release")
    assert sum(small[f"{name}_mean_ns"] for name in parts) == pytest.approx(small["overall_mean_ns"])
    assert small["before_mean_ns"] is None


def test_who_waited_is_told_by_the_stamps(joined: tuple[Path, dict[tuple[int, int], Rows]]) -> None:
    """Of bursts of ten on three connections seven in ten wait, and on ten none does."""
    path, _ = joined
    small, large = store.read_parquet(path / "conditions.parquet", CONDITIONS).to_pylist()
    assert small["waited_share"] == pytest.approx(0.7, abs=0.01)
    assert small["waited_wait_p50_ns"] > small["acquisition_wait_p50_ns"]
    assert (large["requests_waited"], large["waited_share"], large["waited_wait_p50_ns"]) == (0, 0.0, None)


def test_the_verdict_says_what_was_made(joined: tuple[Path, dict[tuple[int, int], Rows]]) -> None:
    """The wait fell with the larger pool; the sentence has its numbers, and never that the wait moved or why."""
    found = read(joined[0], "analysis.json")
    verdict = found["verdicts"][0]
    assert (verdict["wait"], verdict["from_size"], verdict["to_size"]) == ("fell", 3, 10)
    assert "from 3 to 10 connections: the mean acquisition wait fell (" in verdict["sentence"]
    assert verdict["longer"] == ["query_round_trip"]
    for word in ("moved", "throttl", "because of", "latency"):
        assert word not in json.dumps(found["verdicts"]) + found["headline"]
    assert found["headline"].endswith(".")
    assert [row["cell"] for row in found["littles"]] == [row["cell"] for row in found["stimulus"]]
    assert all(row["faults"] == [] for row in found["stimulus"])


def test_a_run_that_is_not_ok_gives_no_number(tmp_path: Path) -> None:
    """With one of three runs overloaded the other two are pooled; the run stays in the table with its reason."""
    kept = _folder(tmp_path, bad=(3, 2))
    collect.collect(tmp_path)
    small = store.read_parquet(tmp_path / "conditions.parquet", CONDITIONS).to_pylist()[0]
    assert (small["runs_measured"], small["runs_ok"]) == (3, 2)
    assert small["requests"] == len(kept[3, 1]) + len(kept[3, 3])
    runs = store.read_parquet(tmp_path / "runs.parquet", RUNS).to_pylist()
    assert [r["reasons"] for r in runs if r["status"] != "ok"] == ["made overloaded"]
    assert any(w["kind"] == "runs-not-ok" for w in read(tmp_path, "analysis.json")["warnings"])


@pytest.mark.parametrize("arrivals", [{"batch": {"size": 300}}, {"closed": {"workers": 3, "think_ms": 0}}])
def test_what_the_clock_did_not_offer_has_no_offered_rate(tmp_path: Path, arrivals: dict[str, Any]) -> None:
    """A batch that is over in a quarter of its window reached four times the rate that the window would make of it."""
    folder = Folder(tmp_path, {"bursts": arrivals}, [3], BURSTS.window_s)
    rows = simulator.run(BURSTS, 3, 1.0, WORLD, np.random.default_rng(1))
    ends = [{"at_ns": at, **dict.fromkeys(EMPTY)} for at in (10**6, 751 * 10**6)]
    folder.add("bursts", 3, 1, rows, counters={"database": ends, "generator": ends})
    folder.finish()
    collect.collect(tmp_path)
    for name, schema in (("runs", RUNS), ("conditions", CONDITIONS)):
        (row,) = store.read_parquet(tmp_path / f"{name}.parquet", schema).to_pylist()
        assert row["offered_per_s"] is None
        assert row["achieved_per_s"] == pytest.approx(row["requests_ok"] / 0.75)
    run = read(tmp_path, "analysis.json")
    assert not [w for w in run["warnings"] if "windows.measure_s of" in w["advice"]]


def test_a_cell_of_another_stimulus_is_refused(tmp_path: Path) -> None:
    """Arms that were sent different schedules are never compared; the message names both cells."""
    folder = Folder(tmp_path, ARRIVALS, [3, 10], BURSTS.window_s)
    rows = simulator.run(BURSTS, 3, 1.0, WORLD, np.random.default_rng(1))
    folder.add("bursts", 3, 1, rows)
    folder.add("bursts", 10, 1, rows, schedule_hash="9" * 16)
    folder.finish()
    with pytest.raises(DataError, match=r"bursts\.pool-3\.r1 and bursts\.pool-10\.r1 were sent different"):
        collect.collect(tmp_path)


def test_a_broken_write_leaves_the_old_table(tmp_path: Path) -> None:
    """When joining fails in the middle, the table of before is still there and whole, and no part of a new one."""
    path = tmp_path / "requests.parquet"
    with store.parquet_writer(path, ALL_REQUESTS, study="old"):
        pass
    with pytest.raises(RuntimeError), store.parquet_writer(path, ALL_REQUESTS, study="new"):
        raise RuntimeError
    assert store.read_parquet(path, ALL_REQUESTS, study="old").num_rows == 0
    assert [p.name for p in tmp_path.iterdir()] == ["requests.parquet"]
