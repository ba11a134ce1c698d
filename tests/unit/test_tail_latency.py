"""The tail-latency analysis on simulated closed loops, for which every answer is known."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.simulated import MS, SimulatedRun, context
from support.simulated_studies import TRIP
from support.simulated_studies import closed as run

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
    assert plain["reference"]["hold_ns"] == pytest.approx(TRIP, rel=0.01)
    assert (plain["reference"]["nominal_ns"], plain["reference"]["pool_size"]) == (3 * MS, 1)
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
    assert [v["word"] for v in plain["verdicts"] if v["subject"].startswith("4.")] == ["holds here", "cannot tell"]
    assert plain["headline"].endswith("6 hold here, 0 do not and 3 cannot be told.")


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
    assert found["reference"]["hold_ns"] is None
    assert {row["goal"] for row in found["conditions"]} == {"no S1 to compare with"}
    assert words(found)["1.(96 workers)"] == "cannot tell"


def test_nothing_measured(tmp_path: Path) -> None:
    """Without an ok run there is a headline that says so, and no verdict but none."""
    found = built(tmp_path, [run(96, 10, status="errors")])
    assert (found["conditions"], found["verdicts"]) == ([], [])
    assert "Nothing can be said" in found["headline"]
