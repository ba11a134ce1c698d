"""The tail-latency analysis on simulated closed loops, for which every answer is known."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.simulated import MS, SimulatedRun, context
from support.simulated_studies import TRIP, in_thread
from support.simulated_studies import closed as run

from poollab.stats import spares
from poollab.stats.analyses import tail_latency


def built(tmp_path: Path, runs: list[SimulatedRun], **machine: Any) -> dict[str, Any]:
    """Analyse runs."""
    return tail_latency.build(context(tmp_path, runs, **machine))


def words(found: dict[str, Any]) -> dict[str, str]:
    """Return the words by the beginning of the subject and its workers."""
    return {
        v["subject"].split(" ", 1)[0] + v["subject"][v["subject"].rfind("(") :]: v["word"] for v in found["verdicts"]
    }


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the analysis of loops that follow the theory, three runs each."""
    sizes = {1: (1,), 16: (10, 20, 40), 96: (10, 20, 40), 192: (10, 20, 40)}
    runs = [run(c, p, r) for c, pools in sizes.items() for p in pools for r in (1, 2, 3)]
    return built(tmp_path_factory.mktemp("tail"), runs)


def test_rate_is_that_of_the_theory(plain: dict[str, Any]) -> None:
    """S1 is the hold of one worker alone, and every condition reaches min(C, P) / S1 within 2 %."""
    (s1,) = plain["references"]
    assert s1["hold_ns"] == pytest.approx(TRIP, rel=0.01)
    assert (s1["nominal_ns"], s1["pool_size"], s1["client"]) == (3 * MS, 1, "asyncpg")
    for row in plain["conditions"]:
        assert row["ratio"] == pytest.approx(1, abs=0.02)
        assert row["goal"] == "reached"


def test_use_of_the_pool(plain: dict[str, Any]) -> None:
    """A pool below the number of workers is full all the time; one above never is, and holds what is in flight."""
    by = {(row["workers"], row["pool_size"]): row for row in plain["conditions"]}
    assert by[96, 10]["utilisation"] == pytest.approx(1, abs=0.01)
    assert by[96, 10]["nearly_full_share"] > 0.99
    assert by[96, 10]["peak_in_flight"] == 96
    assert (by[16, 20]["nearly_full_share"], by[16, 20]["peak_in_use"]) == (0, 16)
    assert by[16, 20]["utilisation"] == pytest.approx(16 / 20, abs=0.01)


def test_wait_and_query_without_the_release(plain: dict[str, Any]) -> None:
    """Time goes with C x S1 / P, its percentiles are in order, and it carries its support."""
    row = next(r for r in plain["conditions"] if (r["workers"], r["pool_size"]) == (96, 20))
    assert row["mean_ns"] == pytest.approx(96 * TRIP / 20, rel=0.02)
    assert row["p50"]["ns"] <= row["p95"]["ns"] <= row["p99"]["ns"] <= row["max_ns"]
    assert row["p99"]["beyond"] == row["requests"] - np.ceil(round(row["requests"] * 0.99, 9))


def test_conclusions_hold_where_theory_holds(plain: dict[str, Any]) -> None:
    """On a server of endless CPU the write-up's conclusions hold; what a sleep cannot show is not claimed."""
    found = words(plain)
    assert found["1.(96 workers)"] == found["1.(192 workers)"] == "holds here"
    assert found["2.(16 workers)"] == "holds here"
    assert found["3.(16 workers)"] == "holds here"
    fourth = [v["word"] for v in plain["verdicts"] if v["subject"].startswith("4.")]
    assert fourth == ["by arithmetic, not measured", "cannot tell"]
    assert plain["headline"].endswith("of 8 statements of the write-up 5 hold here, 0 do not and 3 cannot be told.")


def test_a_rate_that_stops_growing_is_not_called_linear(tmp_path: Path) -> None:
    """Where twice the connections take twice as long the pool is no bottleneck, and the CPU ceiling is named."""
    cpu = {"database": 1.2, "generator": 0.7}
    runs = [run(1, 1), *(run(96, p, r, trip=TRIP * p // 10, cpu=cpu) for p in (10, 20, 40) for r in (1, 2))]
    found = built(tmp_path, runs)
    first = next(v for v in found["verdicts"] if v["subject"].startswith("1."))
    assert first["word"] == "does not hold here"
    assert "only up to pool 10" in first["sentence"]
    assert "the CPU that a request costs allows" in first["sentence"]
    goals = {r["pool_size"]: r["goal"] for r in found["conditions"]}
    assert goals[40] == "not reached, theory would need 381% of the CPU ceiling"


def test_one_run_is_no_equality(tmp_path: Path) -> None:
    """With a single run of each pool nothing is called the same, and nothing else is decided."""
    found = built(tmp_path, [run(1, 1), run(16, 8), run(16, 10), run(16, 20), run(16, 40)])
    assert [words(found)[f"{n}.(16 workers)"] for n in (1, 2, 3)] == ["cannot tell"] * 3


def test_a_run_far_out_is_named(tmp_path: Path) -> None:
    """A run whose p99 is twice that of its siblings is named, and whether the spare repeat showed it again."""
    runs = [run(96, 20, 1), run(96, 20, 2, trip=3 * TRIP), run(96, 20, 3), run(96, 20, 4)]
    (outlier,) = tail_latency.build(context(tmp_path, runs, {"spare_repeats": 1}))["outliers"]
    assert outlier["cell"] == "c96.pool-20.r2"
    assert outlier["times"] == pytest.approx(3, rel=0.05)
    assert [(again["cell"], again["same"]) for again in outlier["again"]] == [("c96.pool-20.r4", False)]


def test_a_largest_pool_that_is_too_small_shows_no_right_size(tmp_path: Path) -> None:
    """Where no pool has as many connections as workers, the best agrees with conclusion 3 and does not show it."""
    found = built(tmp_path, [run(1, 1), *(run(96, p, r) for p in (10, 20) for r in (1, 2))])
    assert words(found)["3.(96 workers)"] == "cannot tell"
    sentence = next(v["sentence"] for v in found["verdicts"] if v["subject"].startswith("3."))
    assert "more than the largest pool measured, 20;" in sentence


def test_a_far_run_that_comes_back_is_said_to(tmp_path: Path) -> None:
    """A run measured again came back when it lies nearer to the far one than to the others, and not else."""
    for factor, same in ((3, True), (1.2, False)):
        runs = [run(96, 20, r) for r in (1, 3, 4)]
        runs += [run(96, 20, 2, trip=3 * TRIP), run(96, 20, 5, trip=round(factor * TRIP))]
        folder = tmp_path / str(same)
        outliers = tail_latency.build(context(folder, runs, {"spare_repeats": 1}))["outliers"]
        first = next(o for o in outliers if o["cell"] == "c96.pool-20.r2")
        assert ([again["same"] for again in first["again"]], first["spare"]) == ([same], False)
        assert [o["spare"] for o in outliers if o["cell"] == "c96.pool-20.r5"] == ([True] if same else [])


def test_without_a_reference_there_is_no_theory(tmp_path: Path) -> None:
    """Without C = 1 there is no S1: no ratio is made up, and conclusion 1 cannot be told."""
    found = built(tmp_path, [run(96, 10), run(96, 20)])
    assert found["references"] == []
    assert {row["goal"] for row in found["conditions"]} == {"no S1 to compare with"}
    assert words(found)["1.(96 workers)"] == "cannot tell"


def test_nothing_measured(tmp_path: Path) -> None:
    """Without an ok run there is a headline that says so, and no verdict but none."""
    found = built(tmp_path, [run(96, 10, status="errors")])
    assert (found["conditions"], found["verdicts"]) == ([], [])
    assert "Nothing can be said" in found["headline"]


def test_a_caller_of_an_executor_waits_from_the_scheduled_moment(tmp_path: Path) -> None:
    """The wait for a thread lies before the start of the request: it is in wait and query, and in what is in flight."""
    runs = [in_thread(run(c, p, r, client="psycopg-executor")) for c, p in ((1, 1), (96, 20)) for r in (1, 2)]
    row = built(tmp_path, runs)["conditions"][-1]
    assert row["mean_ns"] == pytest.approx(96 * TRIP / 20, rel=0.02)
    assert (row["peak_in_flight"], row["peak_in_use"]) == (96, 20)
    assert row["goal"] == "reached"


@pytest.fixture(scope="module")
def thinking(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the analysis of 96 workers that think for 12 ms: 24 connections are enough for them."""
    runs = [run(1, 1, r) for r in (1, 2)]
    runs += [run(96, p, r, think_ms=12) for p in (10, 20, 40, 100, 120) for r in (1, 2)]
    return built(tmp_path_factory.mktemp("thinking"), runs)


def test_theory_of_workers_that_think(thinking: dict[str, Any]) -> None:
    """A loop with think time is bounded by min(P / S1, C / (S1 + Z)), and reaches that."""
    rows = [row for row in thinking["conditions"] if row["workers"] == 96]
    assert [row["needed"] for row in rows] == [pytest.approx(24, rel=0.01)] * 5
    most = [row["theory_per_s"] for row in rows]
    assert most == [pytest.approx(value, rel=0.01) for value in (2500, 5000, 6000, 6000, 6000)]
    assert [row["goal"] for row in rows] == ["reached"] * 5


def test_conclusions_with_think_time(thinking: dict[str, Any]) -> None:
    """Time goes with C x S1 / P - Z on pools that are too small, and no right size is taken from what is in flight."""
    found = words(thinking)
    assert found["1.(96 workers, 12 ms think time)"] == "holds here"
    first = next(v["sentence"] for v in thinking["verdicts"] if v["subject"].startswith("1."))
    assert first.startswith("From pool 10 to 20 ")
    assert "times C x S1 / P - Z" in first
    assert found["3.(96 workers, 12 ms think time)"] == "cannot tell"


def test_think_time_without_s1_sizes_nothing(tmp_path: Path) -> None:
    """Where workers think and S1 is missing it is not known which pools are too small, and that is said."""
    found = built(tmp_path, [run(96, p, r, think_ms=12) for p in (10, 20) for r in (1, 2)])
    assert {row["needed"] for row in found["conditions"]} == {None}
    assert words(found)["1.(96 workers, 12 ms think time)"] == "cannot tell"


def test_loops_that_differ_are_not_mixed(tmp_path: Path) -> None:
    """As many workers with another think time or client are another loop, with an S1 of its own client."""
    runs = [run(1, 1), *(run(96, p, think_ms=think) for p in (10, 20) for think in (0, 12))]
    runs += [in_thread(run(c, p, client="psycopg-executor", trip=2 * TRIP)) for c, p in ((1, 1), (96, 10))]
    found = built(tmp_path, runs)
    assert [row["label"] for row in found["conditions"]] == [
        "1 worker, asyncpg",
        "1 worker, psycopg-executor",
        *["96 workers, 12 ms think time, asyncpg"] * 2,
        *["96 workers, asyncpg"] * 2,
        "96 workers, psycopg-executor",
    ]
    s1 = {row["client"]: row["s1_ns"] for row in found["conditions"]}
    assert s1["psycopg-executor"] == pytest.approx(2 * s1["asyncpg"], rel=0.02)


def test_s1_of_another_request_is_none(tmp_path: Path) -> None:
    """One worker alone that sends another statement tells nothing of this one."""
    other = run(1, 1)
    other.settings["workload"]["request"] = [{"query": {"sql": "SELECT pg_sleep(0.1)", "args": []}}]
    found = built(tmp_path, [other, run(96, 10)])
    assert found["conditions"][-1]["goal"] == "no S1 to compare with"


def test_a_request_that_holds_no_connection_all_the_time_has_no_theory(tmp_path: Path) -> None:
    """What a request does without its connection is a think time of unknown length, so no bound is claimed."""
    runs = [run(1, 1), run(96, 10)]
    runs[1].rows.ended_ns[:] = runs[1].rows.released_ns + 5 * MS
    row = built(tmp_path, runs)["conditions"][-1]
    assert (row["theory_per_s"], row["needed"]) == (None, None)
    assert row["goal"] == "no theory, as part of a request holds no connection"


def test_the_cpu_ceiling_knows_the_caps(tmp_path: Path) -> None:
    """A side that is capped at less than the host has runs out of CPU earlier, and the larger cap changes nothing."""
    ceilings = []
    for caps in ({}, {"cap_cores": 0.25}, {"generator_cap_cores": 0.125}, {"cap_cores": 64.0}):
        one = run(96, 10)
        one.settings.update(caps)
        row = built(tmp_path / str(len(ceilings)), [one])["conditions"][0]
        ceilings.append(row["cpu_ceiling_per_s"] / row["achieved_per_s"])
    # 0.5 cores of the server and 0.25 of the client were used, of 2 that the host has.
    assert ceilings == [pytest.approx(value, rel=0.01) for value in (2 / 0.75, 0.5, 0.5, 2 / 0.75)]


def test_a_spare_run_that_does_not_count_was_measured_all_the_same(tmp_path: Path) -> None:
    """A spare run that ended host-busy stands beside the run that it was measured for, and so does its trigger."""
    runs = [run(96, 20, 1), run(96, 20, 2, trip=3 * TRIP), run(96, 20, 3), run(96, 20, 4, status="host-busy")]
    found = tail_latency.build(context(tmp_path, runs, {"spare_repeats": 1}))
    (spare,) = found["spares"]
    assert (spare["cell"], spare["status"]) == ("c96.pool-20.r4", "host-busy")
    assert [t["cell"] for t in spare["trigger"]] == ["c96.pool-20.r2"]
    (outlier,) = found["outliers"]
    assert (outlier["again"], outlier["lost"]) == ([], [spare])


def test_what_triggered_a_spare_run_need_not_be_far_out(tmp_path: Path) -> None:
    """A spare run goes by the overall p99 of ordinary runs, so it is explained where wait and query show nothing."""
    late = run(96, 20, 2)
    late.rows = replace(late.rows, scheduled_ns=late.rows.scheduled_ns - 200 * MS)
    found = tail_latency.build(
        context(tmp_path, [run(96, 20, 1), late, run(96, 20, 3), run(96, 20, 4)], {"spare_repeats": 1})
    )
    assert found["outliers"] == []
    assert [(s["cell"], [t["cell"] for t in s["trigger"]]) for s in found["spares"]] == [
        ("c96.pool-20.r4", ["c96.pool-20.r2"])
    ]


def test_a_spare_run_without_a_trigger_is_not_given_one(tmp_path: Path) -> None:
    """Where no ordinary run is far out by now, the spare run is there and nothing is said to have called for it."""
    made = context(tmp_path, [run(96, 20, r) for r in (1, 2, 3)], {"spare_repeats": 1})
    (spare,) = spares.added(made, ("c96", "pool-20", ""))
    assert (spare["cell"], spare["trigger"]) == ("c96.pool-20.r3", [])


def test_a_condition_without_a_run_that_counts_is_listed(tmp_path: Path) -> None:
    """What is in no row stands among what is missing, with how its runs ended."""
    found = built(tmp_path, [run(96, 10), *(run(96, 20, r, status="errors") for r in (1, 2))])
    assert found["missing"] == [
        {"workload": "c96", "arm": "pool-20", "limits": "", "ended": ["errors", "errors"]},
    ]
