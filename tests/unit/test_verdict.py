"""The sentences of the main question: what they say in each case, and what they never say."""

from typing import Any

import numpy as np
import pytest

from poollab.stats import analyses, comparisons, drift, findings, groups, sizes, stability
from poollab.stats.compare import Paired

Row = dict[str, Any]
MS = 1e6
#: Each pool's mean wait, round trip and release in ms.
SEED = {5: (22.1, 38.4, 10.1), 20: (0.03, 79.9, 13.8), 100: (0.03, 80.3, 13.8)}
NOISE = (1.004, 0.997, 1.001)


def _run(size: int, repeat: int, means: tuple[float, ...], level: float = 1.0, **more: Any) -> Row:
    wait, trip, release = (m * MS * level * NOISE[(repeat + size) % 3] for m in means)
    whole = 2 * MS + wait + trip + release
    return {
        "cell": f"bursts.pool-{size}.r{repeat}",
        "workload": "bursts",
        "arm": f"pool-{size}",
        "limits": "",
        "repeat": repeat,
        "position": repeat * 10 + size % 10,
        "block": 1,
        "pool_size": size,
        "status": "ok",
        "requests": 480,
        "requests_ok": 480,
        "offered_per_s": 40.0,
        "achieved_per_s": 39.9,
        "scheduling_delay_mean_ns": 2 * MS,
        "before_mean_ns": None,
        "acquisition_wait_mean_ns": wait,
        "query_round_trip_mean_ns": trip,
        "release_mean_ns": release,
        "after_mean_ns": None,
        "overall_mean_ns": whole,
        "overall_p95_ns": int(1.2 * whole),
        "overall_p99_ns": int(1.3 * whole),
        "overall_beyond_p95": 24,
        "overall_beyond_p99": 4,
        "database_memory_mean_bytes": (30 + 2 * size) * 2**20,
        **more,
    }


def _study(means: dict[int, tuple[float, ...]], repeats: int = 3, *changed: Row) -> Row:
    """Return analysis.json of a study; `changed` runs take the place of those of the same cell."""
    own = {run["cell"]: run for run in changed}
    runs = [_run(size, r, means[size]) for r in range(1, repeats + 1) for size in means]
    runs = [own.get(run["cell"], run) for run in runs]
    conditions = [
        {"workload": "bursts", "arm": f"pool-{s}", "limits": "", "pool_size": s, "runs_planned": repeats} for s in means
    ]
    per_run = {run["cell"]: {"littles": {}, "stimulus": {}} for run in runs}
    return findings.whole(analyses.Context({"margin": 0.05}, runs, conditions, per_run))


def _lost(size: int, repeat: int, status: str) -> Row:
    return _run(size, repeat, SEED[size], status=status)


def test_the_seeds_finding_in_the_seeds_words() -> None:
    """With the numbers of the study that this follows: the wait fell, the whole was slower, two parts were longer."""
    found = _study(SEED)
    (entry,) = found["verdicts"]
    assert (entry["wait"], entry["word"], entry["longer"]) == ("fell", "slower", ["query_round_trip", "release"])
    assert entry["sentence"].startswith(
        "bursts, from 5 to 100 connections: the mean acquisition wait fell (22.1 against 0.030 ms), and the whole "
        "operation was slower (72."
    )
    assert "; the query round trip (38." in entry["sentence"]
    assert found["headline"].startswith("A larger pool made the whole operation faster in 0 of 1 workload")
    assert [arm["to_size"] for arm in entry["arms"]] == [20, 100]


def test_the_range_says_what_missing_it_costs() -> None:
    """Of 5, 20 and 100 the best alone is recommended; the others stand with what they cost, and its bounds."""
    recommended = _study(SEED)["verdicts"][0]["range"]
    assert (recommended["low"], recommended["high"], recommended["best"]) == (5, 5, "pool-5")
    assert "5 connections alone; 20 cost +32 % overall time (" in recommended["sentence"]
    assert "under this load and these caps" in recommended["sentence"]


def test_pools_that_are_the_same_make_a_range() -> None:
    """Where all pools are the same the range holds them all, with the memory of its ends."""
    found = _study(dict.fromkeys((5, 20, 100), (0.01, 15.0, 2.0)))["verdicts"][0]
    assert (found["wait"], found["word"]) == ("did not fall", "the same")
    assert "the mean overall time was the same within 5 %" in found["sentence"]
    recommended = found["range"]
    assert (recommended["low"], recommended["high"], recommended["proven"]) == (5, 100, True)
    assert "(3 sizes, each the same as the best of them within 5 %)" in recommended["sentence"]
    assert "40 MiB at its low end, 230 MiB at its high end" in recommended["sentence"]


def test_a_better_size_between_two_worse_is_no_range_of_all() -> None:
    """A size that costs more between two that do not leaves no clear range."""
    found = _study({5: (0.0, 20.0, 1.0), 20: (0.0, 40.0, 1.0), 100: (0.0, 20.0, 1.0)})["verdicts"][0]["range"]
    assert (found["low"], found["high"]) == (None, None)
    assert found["sentence"].startswith("bursts: no clear range of sizes; 20 cost +")


def test_too_few_good_runs_are_said_in_place_of_a_number() -> None:
    """When two of three runs at the small pool were overloaded there is no number for it, and the reason is counted."""
    found = _study(SEED, 3, _lost(5, 1, "overloaded"), _lost(5, 3, "overloaded"))
    entry = found["verdicts"][0]
    assert entry["word"] == "cannot tell"
    assert entry["sentence"] == (
        "bursts, from 5 to 100 connections: nothing can be told, because 1 of 3 runs at 5 ended ok (2 overloaded)."
    )
    assert entry["range"]["sizes"][0]["inside"] is False
    assert "5 is left out (1 runs ok, 2 overloaded)" in entry["range"]["sentence"]


def test_an_overloaded_smallest_pool_does_not_hide_the_others() -> None:
    """Without an ok run at the baseline the headline says that, and not that fewer than two pools have ok runs."""
    found = _study(SEED, 3, *(_lost(5, r, "overloaded") for r in (1, 2, 3)))
    assert found["headline"].startswith("No workload has two repeats with ok runs of both its first pool and another; ")
    assert "0 of 3 runs at 5 ended ok (3 overloaded)" in found["headline"]
    recommended = found["verdicts"][0]["range"]
    assert (recommended["low"], recommended["high"]) == (20, 100)
    assert "5 is left out (0 runs ok, 3 overloaded)" in recommended["sentence"]


def test_an_overloaded_largest_pool_does_not_hide_the_others() -> None:
    """The headline counts a workload in which a pool between was compared, though the largest was not."""
    found = _study(SEED, 3, *(_lost(100, r, "overloaded") for r in (1, 2, 3)))
    assert found["headline"].startswith("A larger pool made the whole operation faster in 0 of 1 workload, and")
    assert "at 20 the wait fell, overall time: slower" in found["headline"]


def test_a_claim_lost_to_the_number_of_comparisons_is_not_laid_on_the_runs() -> None:
    """An interval beyond the margin that does not survive the correction says so, and not that runs differ too much."""
    wide = Paired(3, 0, ratio=1.35, low=1.14, high=1.60, spread=0.1, free=4.0, p=0.02)
    row = comparisons.judged(wide, comparisons.METRICS[0], 0.05, 9, survives=False)
    assert row["word"] == "cannot tell"
    assert row["why"].startswith("among so many comparisons one like this comes up by chance too often; about ")


def test_pairs_that_are_all_split_are_said_to_be() -> None:
    """Where every pair crosses a block nothing is said of pairs in one block, since there are none."""
    crossed = Paired(3, 3, ratio=1.35, low=1.3, high=1.4, spread=0.01, free=4.0, p=0.001)
    row = comparisons.judged(crossed, comparisons.METRICS[0], 0.05, 1, survives=True)
    assert row["why"] == "every pair of runs is split by the boundary of a block"


def test_a_tail_that_only_some_runs_can_bear_is_not_judged_by_those() -> None:
    """Where one run of three lacks support for its p99, the tail's verdict is on the p95 of all three."""
    changed = [_run(s, r, SEED[s], overall_beyond_p99=10 if r < 3 else 9) for s in (5, 20) for r in (1, 2, 3)]
    entry = _study({5: SEED[5], 20: SEED[20]}, 3, *changed)["verdicts"][0]
    assert entry["tail_metric"] == "overall_p95"


def test_a_run_without_requests_breaks_no_warning() -> None:
    """A sparse schedule may send nothing in a window; the report is made all the same."""
    empty = {"overall_mean_ns": None, "overall_p95_ns": None, "overall_p99_ns": None, "overall_beyond_p99": 0}
    found = _study(SEED, 3, _run(5, 1, SEED[5], requests=0, requests_ok=0, offered_per_s=0.0, **empty))
    assert any(w["kind"] == "tail-support" for w in found["warnings"])


@pytest.mark.parametrize(
    ("word", "low", "said"),
    [
        ("a small difference", 1.01, "none shown to cost more than 5 % over the best of them"),
        ("cannot tell", 1.14, "not told apart by these runs, though more repeats may show 20 slower than 5"),
        ("cannot tell", 0.9, "not told apart by these runs"),
    ],
)
def test_a_range_does_not_hide_that_a_size_in_it_looks_slower(word: str, low: float, said: str) -> None:
    """A size that differs by little, or whose interval lies beyond no difference, is not just called not told apart."""
    shown = [
        {"size": 5, "arm": "a", "word": "the same", "low": 1.0},
        {"size": 20, "arm": "b", "word": word, "low": low},
    ]
    assert sizes._within({"proven": False, "best": "a"}, shown, 0.05) == said


def test_a_run_that_is_not_ok_is_not_used() -> None:
    """A run with a wild number and a status other than ok changes no comparison."""
    wild = _run(5, 2, SEED[5], level=50.0, status="host-busy")
    found = _study(SEED, 3, wild)
    row = next(r for r in found["comparisons"] if (r["metric"], r["to"]) == ("overall_mean", "pool-100"))
    assert row["pairs"] == 2
    assert row["ratio"] == pytest.approx(1.33, abs=0.02)


def test_one_repeat_tells_nothing() -> None:
    """A single repeat gives a sentence that says so, and a warning with what to do."""
    found = _study(SEED, 1)
    assert "because there is one repeat" in found["verdicts"][0]["sentence"]
    assert any(w["kind"] == "few-repeats" and "repeats" in w["advice"] for w in found["warnings"])


def test_runs_that_differ_leave_it_open_with_the_repeats_needed() -> None:
    """With wide runs the sentence says that it cannot be told, how wide, and how many repeats would do."""
    wide = [_run(20, r, (0.0, 20.0, 1.0), level=level) for r, level in ((1, 0.8), (2, 1.25), (3, 1.05))]
    entry = _study({5: (0.0, 20.0, 1.0), 20: (0.0, 20.0, 1.0)}, 3, *wide)["verdicts"][0]
    assert entry["word"] == "cannot tell"
    assert "repeats would tell" in entry["sentence"] or "repeats would not tell" in entry["sentence"]
    assert any(w["kind"] == "spread" for w in findings_of(wide))


def findings_of(wide: list[Row]) -> list[Row]:
    """Return the warnings of a study with wide runs."""
    found: list[Row] = _study({5: (0.0, 20.0, 1.0), 20: (0.0, 20.0, 1.0)}, 3, *wide)["warnings"]
    return found


def test_rate_and_tail_are_named_together_when_they_disagree() -> None:
    """A higher rate with a slower tail is one clause with both; neither is told alone."""
    changed = [
        _run(20, r, SEED[20], achieved_per_s=60.0 + r / 10, overall_p95_ns=int((200 + r) * MS)) for r in (1, 2, 3)
    ]
    entry = _study({5: SEED[5], 20: SEED[20]}, 3, *changed)["verdicts"][0]
    assert "the achieved rate was higher (39.9 against 60.2 per second), while its p95 was slower" in entry["sentence"]


def test_a_percentile_without_support_is_barred() -> None:
    """With four requests beyond a run's p99 the tail's verdict is on p95, and the comparison says why."""
    found = _study(SEED)
    assert found["verdicts"][0]["tail_metric"] == "overall_p95"
    barred = [r for r in found["comparisons"] if r["metric"] == "overall_p99"]
    assert {r["word"] for r in barred} == {"cannot tell"}
    assert barred[0]["why"] == "only 4 requests of a run lie beyond it, and a verdict needs 10"
    advice = [w["advice"] for w in found["warnings"] if w["kind"] == "tail-support"]
    assert advice == ["windows.measure_s of 25 s would do."]


def test_limits_are_compared_level_by_level() -> None:
    """The same pool without the quota is held against that with it, run by run, for each workload and arm."""
    runs = [
        _run(size, r, (0.0, ms, 1.0)) | {"limits": level, "cell": f"{size}.{level}.{r}"}
        for r in (1, 2, 3)
        for size in (5, 20)
        for level, ms in (("capped", 20.0), ("none", 10.0))
    ]
    conditions = [
        {"workload": "bursts", "arm": f"pool-{s}", "limits": level, "pool_size": s, "runs_planned": 3}
        for level in ("capped", "none")
        for s in (5, 20)
    ]
    per_run = {run["cell"]: {"littles": {}, "stimulus": {}} for run in runs}
    found = findings.whole(analyses.Context({"margin": 0.05}, runs, conditions, per_run))
    rows = [row for row in found["limits"] if row["metric"] == "overall_mean"]
    assert [(r["arm"], r["from"], r["to"], r["word"]) for r in rows] == [
        ("pool-5", "capped", "none", "faster"),
        ("pool-20", "capped", "none", "faster"),
    ]
    assert [v["subject"] for v in found["verdicts"]] == ["bursts (capped)", "bursts (none)"]


def test_equal_pools_are_arms_and_not_sizes() -> None:
    """Two arms of one size are named by their labels, and no range of sizes is made of them."""
    runs = [
        _run(20, r, (0.0, 20.0, 1.0), level=v) | {"arm": arm, "cell": f"{arm}.{r}"}
        for arm, levels in (("one", (1, 1.01, 0.99)), ("other", (1.01, 1, 1)))
        for r, v in enumerate(levels, start=1)
    ]
    conditions = [
        {"workload": "bursts", "arm": arm, "limits": "", "pool_size": 20, "runs_planned": 3} for arm in ("one", "other")
    ]
    per_run = {run["cell"]: {"littles": {}, "stimulus": {}} for run in runs}
    found = findings.whole(analyses.Context({"margin": 0.05}, runs, conditions, per_run))
    assert found["headline"].startswith("Another arm made the whole operation faster in 0 of 1 workload, and the ")
    assert "bursts, from one to other: " in found["headline"]
    assert found["limits"] == []
    assert "no range of sizes can be named" in found["verdicts"][0]["range"]["sentence"]


def test_arms_of_two_clients_are_not_two_sizes() -> None:
    """Arms that differ in their client, or in another setting, and in size too are never told as a larger pool."""
    runs = [_run(size, r, SEED[size]) for r in (1, 2, 3) for size in (5, 20)]
    conditions = [
        {"workload": "bursts", "arm": f"pool-{s}", "limits": "", "pool_size": s, "runs_planned": 3} for s in (5, 20)
    ]
    per_run = {run["cell"]: {"littles": {}, "stimulus": {}} for run in runs}
    for other, sized in (({"client": "psycopg-async"}, False), ({"reset": False}, False), ({}, True)):
        arms = {"pool-5": {"size": 5}, "pool-20": {"size": 20, **other}}
        seen = [c | {"client": arms[c["arm"]].get("client", "asyncpg")} for c in conditions]
        made = analyses.Context({"margin": 0.05, "arms": arms}, runs, seen, per_run)
        found = findings.whole(made)
        assert found["headline"].startswith("A larger pool" if sized else "Another arm"), other
        assert (found["verdicts"][0]["range"]["low"] is not None) == sized, other


def test_pools_of_several_processes_are_not_told_as_one() -> None:
    """With four processes, each with a pool, a number of connections is said to be that of each."""
    runs = [_run(size, r, SEED[size]) for r in (1, 2, 3) for size in (5, 20)]
    conditions = [
        {"workload": "bursts", "arm": f"pool-{s}", "limits": "", "pool_size": s, "runs_planned": 3} for s in (5, 20)
    ]
    per_run = {run["cell"]: {"littles": {}, "stimulus": {}} for run in runs}
    arms = {f"pool-{s}": {"size": s, "processes": 4} for s in (5, 20)}
    (entry,) = findings.whole(analyses.Context({"margin": 0.05, "arms": arms}, runs, conditions, per_run))["verdicts"]
    assert entry["sentence"].startswith("bursts, from 5 to 20 connections in each of 4 processes: ")
    assert "5 connections in each of 4 processes alone" in entry["range"]["sentence"]


def test_no_sentence_names_a_cause() -> None:
    """Nothing says that a wait moved, or why; nobody says latency without an interval."""
    text = repr(_study(SEED))
    for word in ("moved", "shifted", "throttl", "due to", "latency", "caused"):
        assert word not in text


def _placed(levels: list[float], blocks: list[int] | None = None) -> list[Row]:
    """Return runs of two conditions that take turns, with these levels in the order of execution."""
    return [
        _run((5, 20)[i % 2], i // 2 + 1, (0.0, 20.0, 1.0), level=level) | {"position": i + 1}
        | {"block": blocks[i] if blocks else 1}
        for i, level in enumerate(levels)
    ]  # fmt: skip


def test_drift_is_found_and_told() -> None:
    """Runs that get slower by a fifth over the order are a drift of about a fifth, with its interval."""
    found = drift.drift(_placed(list(np.linspace(1, 1.2, 10))))
    assert found["change"] == pytest.approx(1.2, abs=0.03)
    assert found["p"] < 0.001
    assert found["sentence"].startswith("Drift over the order was found in the mean overall time (+")
    assert len(found["points"]) == 10


def test_no_drift_is_told_with_its_bounds() -> None:
    """Runs without a trend say so, and how large a drift could have gone unseen."""
    found = drift.drift(_placed([1, 1.01, 0.99, 1, 1.01, 0.99, 1, 1.01, 0.99, 1]))
    assert found["p"] > 0.05
    assert found["low"] < 1 < found["high"]
    assert found["sentence"].startswith("No drift")


def test_blocks_that_differ_are_told() -> None:
    """A second block in which everything takes a tenth longer is found beside the conditions' own levels."""
    levels = [1, 1.01, 0.99, 1, 1.1, 1.11, 1.1, 1.09]
    found = drift.drift(_placed(levels, [1, 1, 1, 1, 2, 2, 2, 2]))
    assert found["blocks_p"] < 0.01
    assert found["blocks"][1]["ratio"] == pytest.approx(1.1, abs=0.02)
    assert "blocks differ" in found["sentence"]


def test_one_run_a_condition_shows_no_drift() -> None:
    """With one run for each condition nothing is left to see a drift in, and no number is made up."""
    found = drift.drift(_placed([1, 1.3]))
    assert found["change"] is None
    assert "cannot be tested" in found["sentence"]


def test_arms_that_differ_in_nothing_are_said_to() -> None:
    """The same pool under two labels is no comparison: what differs between its runs is chance."""
    changed = [_run(size, r, SEED[size], settings_hash="a" if size < 100 else "b") for r in (1, 2, 3) for size in SEED]
    (warning,) = [w for w in _study(SEED, 3, *changed)["warnings"] if w["kind"] == "identical-arms"]
    assert warning["text"].startswith("pool-5 and pool-20 have the same settings")
    assert not [w for w in _study(SEED)["warnings"] if w["kind"] == "identical-arms"]


def test_two_groups_of_runs_are_pointed_out() -> None:
    """Six runs of which three took half as long again are warned of: their mean describes neither group."""
    levels = (1.0, 1.5, 1.01, 1.51, 0.99, 1.49)
    runs = [_run(5, i + 1, (0.0, 20.0, 1.0), level=v) for i, v in enumerate(levels)]
    conditions = [{"workload": "bursts", "arm": "pool-5", "limits": "", "pool_size": 5, "runs_planned": 6}]
    found = stability.warnings(groups.groups(runs, conditions), drift.drift(runs), 0.05)
    assert "fall into two groups (3 and 3 runs" in next(w["text"] for w in found if w["kind"] == "bimodal")


@pytest.mark.parametrize(
    ("client", "warned"), [("asyncpg", True), ("psycopg-threads", False), ("psycopg-executor", False)]
)
def test_a_wait_for_a_thread_is_no_late_generator(client: str, warned: bool) -> None:  # noqa: FBT001
    """With threads the delay before the start is the wait for a free one, and no larger cap would help."""
    runs = [_run(5, r, (0.0, 2.0, 0.0), client=client) for r in (1, 2, 3)]
    conditions = [{"workload": "bursts", "arm": "pool-5", "limits": "", "pool_size": 5, "runs_planned": 3}]
    found = stability.warnings(groups.groups(runs, conditions), drift.drift(runs), 0.05)
    assert any(w["kind"] == "generator" for w in found) is warned


def test_runs_that_a_section_uses_all_the_same_are_not_said_to_give_no_number() -> None:
    """Where a part of the report uses runs that are not ok, the warning names it."""
    runs = [_run(5, r, (0.0, 2.0, 0.0), status="ok" if r < 4 else "overloaded") for r in (1, 2, 3, 4)]
    conditions = [{"workload": "bursts", "arm": "pool-5", "limits": "", "pool_size": 5, "runs_planned": 4}]
    found = stability.warnings(groups.groups(runs, conditions), drift.drift(runs), 0.05, "the section on the steps")
    told = next(w["text"] for w in found if w["kind"] == "runs-not-ok")
    assert told.endswith("give no number outside the section on the steps.")
