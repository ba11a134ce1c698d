"""What the analysis of two pools makes of their cells, and what its report shows of that."""

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support import pools

from poollab.data import store
from poollab.errors import DataError
from poollab.report import analyses as report_analyses
from poollab.report import pooltables
from poollab.report.figures import speedup as figure
from poollab.stats import benchmark_arms
from poollab.stats.analyses import pool_implementations

SLOW, FAST = [30.0, 31.0, 29.0], [10.0, 10.0, 10.0]
NOT = "not-needed"
DIFFERENT = {"one.old": [SLOW] * 3, "one.new": [FAST] * 3, "two.old": [FAST, NOT, NOT], "two.new": [FAST, NOT, NOT]}


def special(found: dict[str, Any]) -> dict[str, Any]:
    """Return what the report adds to the context."""
    made: dict[str, Any] = report_analyses.module("pool-implementations").build({"analysis": found})
    return made


def test_rows_get_words_from_their_passes(tmp_path: Path) -> None:
    """A row that is three times as fast in each pass is confirmed; one equal in the first is not measured again."""
    found = pool_implementations.build(pools.results(tmp_path, DIFFERENT))
    one, two = found["rows"]
    assert (one["word"], one["ratio"], one["ratios"]) == ("confirmed faster", 3.0, [3.0, 3.0, 3.0])
    assert (two["word"], two["ratio"], two["ratios"]) == ("no difference", 1.0, [1.0, None, None])
    assert two["arms"]["baseline"]["statuses"] == ["ok", NOT, NOT]
    # The warm-up's 1,000 ms take part in nothing.
    assert one["arms"]["baseline"]["times"]["n"] == 9
    assert one["arms"]["baseline"]["times"]["max_ns"] == 31_000_000
    assert found["headline"].startswith("Candidate against baseline in 2 rows: 1 confirmed faster, 1 no difference;")
    assert "new 3.0 times faster in one" in found["headline"]


def test_costs_waits_and_order_come_from_the_cells(tmp_path: Path) -> None:
    """Six check-outs an iteration: their wait, the CPU of either side for each, the connections, the order of reuse."""
    arm = pool_implementations.build(pools.results(tmp_path, DIFFERENT))["rows"][0]["arms"]["candidate"]
    assert (arm["wait"]["n"], arm["wait"]["median_ns"], arm["release"]["median_ns"]) == (54, 7, 13)
    assert arm["generator_cpu_per_operation_ns"] == 200
    assert arm["database_cpu_per_operation_ns"] == pytest.approx(60_000 / 18)
    assert arm["connections_used"] == [2, 2, 2]
    # Two connections in turn: the one that came back first is always the one that is taken.
    assert arm["reuse"]["oldest"] > 0
    assert arm["reuse"]["newest"] == arm["reuse"]["between"] == 0


def test_a_run_that_does_not_count_leaves_its_pass_out(tmp_path: Path) -> None:
    """Where an arm's first pass had errors the row has no ratio for it, and the other two passes are the majority."""
    times = {**DIFFERENT, "one.new": ["errors", FAST, FAST]}
    found = pool_implementations.build(pools.results(tmp_path, times))
    one = found["rows"][0]
    assert [w["text"] for w in found["warnings"]] == ["These passes do not count: new pass 1 (errors)."]
    assert one["ratios"] == [None, 3.0, 3.0]
    assert one["word"] == "confirmed faster"
    # The other arm of the lost pass is left out too: a ratio is of runs that followed one another.
    assert [one["arms"][role]["times"]["n"] for role in ("baseline", "candidate")] == [6, 6]


def test_runs_of_different_passes_are_not_compared(tmp_path: Path) -> None:
    """Where no pass has a run that counts of both arms, there is no ratio, and the figure leaves the row out."""
    times = {**DIFFERENT, "one.old": [SLOW, "errors", "errors"], "one.new": ["errors", FAST, FAST]}
    found = pool_implementations.build(pools.results(tmp_path, times))
    one = found["rows"][0]
    assert (one["ratio"], one["word"], one["arms"]["candidate"]["times"]["n"]) == (None, "cannot tell", 0)
    groups = [{"workload": name, "limits": ""} for name in ("one", "two")]
    axes = figure.draw({"analysis": found, "special": special(found), "groups": groups}).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["two"]


def test_a_mean_that_one_iteration_makes_is_said_to_disagree(tmp_path: Path) -> None:
    """One slow iteration of 15 makes the mean; the median is the same for both, and the row says so."""
    outlier = [10.0] * 14 + [200.0]
    times = {**DIFFERENT, "one.old": [outlier] * 3, "one.new": [[10.0] * 15] * 3}
    found = pool_implementations.build(pools.results(tmp_path, times))
    assert found["rows"][0]["disagree"]
    assert "The median says otherwise: 1.00" in found["rows"][0]["sentence"]
    assert "The median says otherwise in one" in found["verdicts"][0]["sentence"]
    assert special(found)["disagree"] == [f"one: {found['rows'][0]['sentence']}"]


def test_equal_arms_are_an_aa_comparison(tmp_path: Path) -> None:
    """Two arms with the same settings are noise against noise: the analysis counts what was claimed all the same."""
    model = copy.deepcopy(pools.MODEL)
    model["arms"]["old"] = model["arms"]["new"]
    found = pool_implementations.build(pools.results(tmp_path, DIFFERENT, model))
    assert found["aa"] == {"rows": 2, "untold": 0, "claimed": ["one"], "goal": 0.05, "kept": False}
    assert "goal of at most 5% is missed" in special(found)["aa"]
    assert pool_implementations.build(pools.results(tmp_path, DIFFERENT))["aa"] is None


def test_rows_of_which_nothing_can_be_told_are_not_counted_as_right(tmp_path: Path) -> None:
    """An A/A row without a comparison could not have been called different, so the share is of the others."""
    model = copy.deepcopy(pools.MODEL)
    model["arms"]["old"] = model["arms"]["new"]
    lost: dict[str, Any] = {**DIFFERENT, "two.new": ["errors"] * 3}
    found = pool_implementations.build(pools.results(tmp_path, lost, model))
    assert (found["aa"]["rows"], found["aa"]["untold"], found["aa"]["claimed"]) == (1, 1, ["one"])
    assert "Of 1 further row nothing can be told." in special(found)["aa"]


def test_a_mixed_row_names_both_of_its_pools_and_is_equal_only_in_both(tmp_path: Path) -> None:
    """A mixed row has a pool of either kind, and a difference may lie in either: both are named, both must be equal."""
    model = copy.deepcopy(pools.MODEL)
    model["arms"] = {name: {"client": "asyncpg", "size": 50} for name in ("old", "new")}
    model["arms"] |= {"calm": {"client": "psycopg-threads", "size": 50}, "keen": {"client": "sqlalchemy-threads"}}
    model["pairs"]["sync"] = {"baseline": "calm", "candidate": "keen"}
    model["workloads"]["one"]["benchmark"]["mode"] = "mixed"
    found = pool_implementations.build(pools.results(tmp_path, DIFFERENT, model))
    one, two = found["rows"]
    assert (one["aa"], two["aa"]) == (False, True)
    assert one["called"] == {"baseline": "old with calm", "candidate": "new with keen"}
    assert found["verdicts"][0]["subject"] == "rapid-fire: new with keen against old with calm"


def test_the_report_shows_every_row_with_its_word(tmp_path: Path) -> None:
    """Each table has a line for each row; the proof names class and version; the tail needs support."""
    found = special(pool_implementations.build(pools.results(tmp_path, DIFFERENT)))
    lines = [row for body in found["tables"]["speedup"]["bodies"] for row in body["rows"]]
    assert [(line["head"], line["cells"][0]["text"]) for line in lines] == [
        ("one", "confirmed faster"),
        ("two", "no difference"),
    ]
    assert lines[0]["cells"][3]["text"] == "3.00"
    # 54 check-outs: two lie beyond p95 and none beyond p99, too few for a ratio.
    assert lines[0]["cells"][5]["missing"]
    assert lines[0]["cells"][6]["missing"]
    order = found["tables"]["connections"]["bodies"][0]["rows"][0]["cells"][-1]["text"]
    assert order == "FIFO 100%"
    proof = found["tables"]["proof"]["bodies"][0]["rows"][0]
    assert (proof["head"], proof["cells"][1]["text"]) == ("asyncpg.pool.Pool", "asyncpg 0.1")
    assert all(len(table["columns"]) <= 12 for table in found["tables"].values())
    assert "server on CPU 0 and client on CPU 1" in found["placement"][0]
    # The second row has one pass of three for each arm.
    assert found["not_needed"] == 4


def test_the_figure_says_how_many_rows_got_which_word(tmp_path: Path) -> None:
    """Its alt text carries the finding, and it draws what it describes."""
    analysis = pool_implementations.build(pools.results(tmp_path, DIFFERENT))
    groups = [{"workload": name, "limits": ""} for name in ("one", "two")]
    context = {"analysis": analysis, "special": special(analysis), "groups": groups}
    assert "2 rows: 1 confirmed faster" in figure.describe(context)["alt"]
    axes = figure.draw(context).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["one", "two"]
    nothing = {**context, "groups": []}
    assert figure.draw(nothing).axes[0].texts[0].get_text().startswith("no row")


def test_without_confirm_all_passes_vote(tmp_path: Path) -> None:
    """A study that measures every pass has its word from all of them, and the report says so."""
    model = {**copy.deepcopy(pools.MODEL), "confirm": None}
    times = {**DIFFERENT, "one.old": [FAST, SLOW, SLOW]}
    found = pool_implementations.build(pools.results(tmp_path, times, model))
    assert (found["rows"][0]["ratios"], found["rows"][0]["word"]) == ([1.0, 3.0, 3.0], "confirmed faster")
    shown = special(found)
    assert not shown["confirm"]["first_decides"]
    assert "that pass only" not in shown["tables"]["speedup"]["notes"][0]


def test_a_pass_of_two_blocks_is_left_out_and_shown(tmp_path: Path) -> None:
    """Arms that two servers served give no ratio: the pass is named in row, report and warning."""
    context = pools.results(tmp_path, DIFFERENT)
    context.records["one.new.r2"]["block"] = 2
    found = pool_implementations.build(context)
    one = found["rows"][0]
    assert (one["ratios"], one["split"], one["word"]) == ([3.0, None, 3.0], [2], "confirmed faster")
    assert one["arms"]["baseline"]["times"]["n"] == 6
    assert "Pass 2 is left out: its arms lie in different blocks." in one["sentence"]
    assert special(found)["left_out"] == [f"one: {one['sentence']}"]
    assert [w["text"] for w in found["warnings"]] == [
        "These passes do not count: pass 2 (its arms lie in different blocks)."
    ]


def test_a_pipeline_that_an_arm_has_not_makes_a_row_not_comparable(tmp_path: Path) -> None:
    """A pool without one would do without: the row has no ratio, is counted nowhere, and says why."""
    model = copy.deepcopy(pools.MODEL)
    model["workloads"]["one"]["benchmark"]["pipeline"] = True
    found = pool_implementations.build(pools.results(tmp_path, DIFFERENT, model))
    one = found["rows"][0]
    assert (one["word"], one["ratio"], sum(found["counts"].values())) == ("not comparable", None, 1)
    assert found["headline"] == "No confirmed difference in 1 row: 1 no difference; 1 further row is not comparable."
    assert one["sentence"].endswith("not compared, since new cannot use the pipeline that the row asks for.")
    shown = special(found)["tables"]["speedup"]["bodies"][0]["rows"][0]["cells"]
    assert (shown[3]["missing"], shown[0]["text"]) == ("not comparable", "not comparable")
    model["arms"]["new"]["client"] = "psycopg-async"
    assert pool_implementations.build(pools.results(tmp_path, DIFFERENT, model))["counts"]["confirmed faster"] == 1


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ({"client": "asyncpg"}, {"client": "asyncpg", "reset": True, "size": 99}, True),
        ({"client": "asyncpg"}, {"client": "asyncpg", "reset": False}, False),
        ({}, {"client": "asyncpg", "processes": 1, "check": False}, True),
        ({"client": "psycopg-async"}, {"client": "psycopg-async", "reset": True}, False),
        ({"client": "asyncpg"}, {"client": "asyncpg", "min_size": 5}, True),
    ],
)
def test_arms_are_equal_by_what_they_do(
    one: dict[str, Any],
    other: dict[str, Any],
    equal: bool,  # noqa: FBT001
) -> None:
    """A default that is spelt out, another size, and a least size on a full pool change nothing."""
    model = {"client": "asyncpg", "arms": {"a": {"size": 50, **one}, "b": {"size": 50, **other}}}
    pair = {"baseline": "a", "candidate": "b"}
    assert benchmark_arms.equal_arms(model, pair, "rapid-fire") is equal
    if "min_size" in other:
        assert not benchmark_arms.equal_arms(model, pair, "cold-start-ramp")


@pytest.mark.parametrize(("family", "shown"), [("cold-start-ramp", True), ("rapid-fire", False)])
def test_a_least_size_that_an_arm_sets_is_in_the_proof(
    tmp_path: Path,
    family: str,
    shown: bool,  # noqa: FBT001
) -> None:
    """It is a setting where pools begin empty; elsewhere it is the size of the row."""
    context = pools.results(tmp_path, DIFFERENT)
    for record in (r for r in context.records.values() if r["status"] == "ok"):
        record["settings"]["arm"] = {"min_size": 2}
        record["settings"]["workload"]["benchmark"]["family"] = family
        proof = {**pools.PROOF, "settings": {"min_size": 2, "max_size": 50}}
        record["benchmark"]["implementations"] = {"async": proof}
    found = pool_implementations.build(context)["proof"]["new"]
    assert [one["settings"] for one in found] == [{"min_size": 2} if shown else {}]


def test_rows_that_their_holds_bind_are_counted_apart(tmp_path: Path) -> None:
    """A row whose clock is 95 % hold could not have differed: word, headline and the A/A count say so."""
    model = copy.deepcopy(pools.MODEL)
    model["arms"]["old"] = model["arms"]["new"]
    context = pools.results(tmp_path, DIFFERENT, model)
    for cell, share in (("two.old.r1", 0.97), ("two.new.r1", 0.95), ("one.old.r1", 0.2)):
        context.records[cell]["benchmark"]["unhurried_ns"] = share * 30_000_000
    found = pool_implementations.build(context)
    one, two = found["rows"]
    assert (one["unhurried_share"], one["hold_bound"]) == (None, False)
    assert two["unhurried_share"] == pytest.approx(0.95)
    assert found["headline"].endswith("2 rows: 1 confirmed faster, 1 no difference but hold-bound.")
    assert (found["hold_bound"], found["aa"]["rows"], found["aa"]["untold"]) == (1, 1, 1)
    lines = [row for body in special(found)["tables"]["speedup"]["bodies"] for row in body["rows"]]
    assert [line["cells"][0]["text"] for line in lines] == ["confirmed faster", "no difference; hold-bound"]
    assert lines[1]["cells"][-1]["text"] == "95"


def test_drift_over_the_order_is_told(tmp_path: Path) -> None:
    """Runs that get slower from the first to the last are a warning of the study, though no section shows the order."""
    context = pools.results(tmp_path, DIFFERENT)
    runs = [
        {
            "cell": f"one.{arm}.r{repeat}",
            "workload": "one",
            "arm": arm,
            "limits": "",
            "block": 1,
            "status": "ok",
            "position": 2 * repeat + place,
            "overall_mean_ns": 1000.0 * 1.1 ** (2 * repeat + place) * (1.001 if repeat == 2 else 1),
        }
        for place, arm in enumerate(("old", "new"))
        for repeat in (1, 2, 3)
    ]
    found = pool_implementations.build(replace(context, runs=runs))["warnings"]
    assert [(warning["kind"], warning["subject"]) for warning in found] == [("drift", "study")]
    assert found[0]["text"].startswith("Drift over the order was found")


def test_check_outs_count_from_when_they_were_due(tmp_path: Path) -> None:
    """A caller that comes to run late has waited; how many were under way at once is the pool's affair alone."""
    context = pools.results(tmp_path, DIFFERENT)
    for cell, late_ns, lasts_ns in (("two.old.r1", 50_000, 100_000), ("two.new.r1", 0, 300_000)):
        about = {"study": "s", "cell": cell, "settings": "hash"}
        made = pools.requests(100, late_ns, lasts_ns)
        store.write_parquet(tmp_path / "cells" / cell / "requests.parquet", made, **about)
    found = pool_implementations.build(context)
    two = found["rows"][1]
    one, other = (two["arms"][role] for role in ("baseline", "candidate"))
    assert (one["wait"]["p95_ns"], other["wait"]["p95_ns"]) == (50_007, 7)
    assert (one["use"]["p95_ns"], other["use"]["p95_ns"]) == (150_000, 300_000)
    assert (one["concurrency"], other["concurrency"]) == (pytest.approx(2), pytest.approx(6))
    assert two["interleave"]
    ratio = special(found)["tables"]["speedup"]["bodies"][0]["rows"][1]["cells"][5]
    assert (ratio["value"], ratio["note"]) == (pytest.approx(0.5), "\u2021")


@pytest.mark.parametrize(("newest", "said"), [(19, "no choice"), (20, "LIFO 100%")])
def test_an_order_needs_enough_choices(newest: int, said: str) -> None:
    """Of a few check-outs that had a choice nothing follows."""
    assert pooltables.reuse({"newest": newest, "oldest": 0, "between": 0}) == said


def test_an_analysis_of_an_earlier_version_is_refused(tmp_path: Path) -> None:
    """Its percentiles mean something else than the headings of this report say."""
    found = pool_implementations.build(pools.results(tmp_path, DIFFERENT))
    del found["confirm"]["first_decides"]
    with pytest.raises(DataError, match="of an earlier version"):
        special(found)


def test_callers_that_follow_one_another_interleave_alike(tmp_path: Path) -> None:
    """Where neither arm has two check-outs under way at once, more time between them is no other order."""
    found = pool_implementations.build(pools.results(tmp_path, DIFFERENT))
    one, other = (found["rows"][0]["arms"][role]["concurrency"] for role in ("baseline", "candidate"))
    assert max(one, other) > 1.5 * min(one, other)
    assert not found["rows"][0]["interleave"]
