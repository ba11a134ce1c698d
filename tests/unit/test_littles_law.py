"""The Little's-law analysis on simulated queues with steps, for which every answer is known."""

from pathlib import Path
from typing import Any

import pytest
from support.simulated import MS, context, settings
from support.simulated_studies import RATES, READ, held, in_thread, stepped

from poollab.stats import littles_law_claims, steps
from poollab.stats.analyses import littles_law
from poollab.stats.measured import Run


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the analysis of few connections with a constant hold and many whose hold grows threefold."""
    runs = [run for r in (1, 2) for run in (stepped(3, repeat=r), stepped(12, 3.0, repeat=r))]
    return littles_law.build(context(tmp_path_factory.mktemp("law"), runs))


def arm(found: dict[str, Any], connections: int) -> dict[str, Any]:
    """Return an arm by its connections in all."""
    return next(a for a in found["arms"] if a["connections"] == connections)


def test_every_step_has_its_number_and_its_rate(found: dict[str, Any]) -> None:
    """The step stands in every row, offered is what was scheduled in it, and achieved what was completed in it."""
    few = arm(found, 6)["steps"]
    assert [s["step"] for s in few] == [1, 2, 3, 4]
    assert [(s["from_s"], s["to_s"]) for s in few] == [(0, 10), (10, 20), (20, 30), (30, 40)]
    assert [s["offered_per_s"] for s in few] == list(RATES)
    assert all(s["achieved_per_s"] == pytest.approx(s["offered_per_s"], rel=0.01) for s in few)


def test_busy_connections_are_rate_times_hold(found: dict[str, Any]) -> None:
    """Predicted and measured busy connections agree with each other and with the rate times the simulated hold."""
    for step, rate in zip(arm(found, 6)["steps"], RATES, strict=True):
        assert step["predicted_busy"] == pytest.approx(rate * 0.002, rel=0.02)
        assert step["measured_busy"] == pytest.approx(rate * 0.002, rel=0.02)
        assert step["utilisation"] == pytest.approx(rate * 0.002 / 6, rel=0.02)


def test_where_the_queue_is(found: dict[str, Any]) -> None:
    """Few connections of constant hold queue in the pool; many whose hold grows queue in the database."""
    assert [s["queue"] for s in arm(found, 6)["steps"]][::3] == ["none", "in the pool"]
    assert [s["queue"] for s in arm(found, 24)["steps"]][::3] == ["none", "in the database"]
    assert arm(found, 24)["steps"][-1]["hold_growth"] == pytest.approx(3, rel=0.02)


def test_statements_are_judged(found: dict[str, Any]) -> None:
    """Enough connections, growing hold and waiting at 70 to 80 % are found where the simulation has them."""
    by = {v["subject"]: v["word"] for v in found["verdicts"]}
    assert by["1. The 6 connections are enough"] == "holds here"
    assert by["2. With more connections queries wait in the database, with fewer in the pool"] == "holds here"
    assert by["3. End to end, p99 goes back and forth between the two"] == "holds here"
    multiply = by["Pools multiply: 20 instances with a pool of 20 are more than the server takes"]
    assert multiply == "by arithmetic, not measured"


def test_rule_budget_and_longer_holds(found: dict[str, Any]) -> None:
    """The rule of thumb, the share of each instance and the rate at a hold of 100 ms are simple sums."""
    assert (found["rule"]["cores"], found["rule"]["connections"]) == (1, 2)
    assert [m["connections"] for m in found["rule"]["measured"]] == [6, 24]
    budget = {row["instances"]: row for row in found["budget"]}
    assert (budget[20]["each"], budget[20]["together"], budget[20]["fits"]) == (4, 240, False)
    long = {(row["connections"], row["hold_ms"]): row for row in found["holds"]}
    assert (long[6, 1.0]["most_per_s"], long[6, 100.0]["most_per_s"]) == (6000, 60)
    assert long[6, 100.0]["needed_at_rate"] == pytest.approx(270, rel=0.01)
    assert [long[6, hold]["enough"] for hold in (1.0, 10.0, 100.0)] == [True, False, False]


def test_pool_size_for_a_wait_target(found: dict[str, Any]) -> None:
    """The size for a target grows with the rate, and a pool of that size meets the target in the simulation."""
    mine = [row for row in found["sizes"] if row["arm"] == "pool-3"]
    sizes = [row["size"][0] for row in mine]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]
    again = stepped(sizes[-1])
    last = again.rows.where(again.rows.step == 4)
    assert ((last.acquired_ns - last.asking_ns - 20_000) <= MS).mean() >= 0.95


def test_a_longer_hold_on_a_small_pool(tmp_path: Path) -> None:
    """The same rate with a hold of 100 ms in place of 1 ms makes requests wait, and both stand beside the steps."""
    runs = [run for r in (1, 2) for run in (stepped(3, repeat=r), stepped(12, repeat=r))]
    runs += [held(ms, r) for ms in (1, 100) for r in (1, 2)]
    made = littles_law.build(context(tmp_path, runs))
    by = {v["subject"]: v for v in made["verdicts"]}
    assert by["A longer hold turns a small pool into a bottleneck"]["word"] == "holds here"
    assert [round(row["hold_mean_ns"] / MS) for row in made["others"]] == [1, 100]


def test_a_rate_beyond_capacity_is_not_kept(tmp_path: Path) -> None:
    """A step beyond what the pool can do is not kept, and the rule takes the last one that is."""
    run = stepped(1, rates=(200, 600, 1500), status="overloaded")
    made = littles_law.build(context(tmp_path, [run]))
    (only,) = made["arms"]
    assert [s["kept"] for s in only["steps"]] == [True, True, False]
    assert only["not_ok"] == {run.cell: "overloaded"}
    assert made["rule"]["measured"][0]["achieved_per_s"] == pytest.approx(600, rel=0.01)
    (busy,) = made["verdicts"]
    assert busy["sentence"].startswith("At no step was a pool 70% to 80% busy; the busiest that kept its rate was ")
    assert made["headline"].endswith("of 1 statement of the write-up 0 hold here, 0 do not and 1 cannot be told.")


def test_a_load_that_was_never_kept_is_said_to_be(tmp_path: Path) -> None:
    """Where no step kept its rate the sentence says that, and no busiest one is made up."""
    made = littles_law.build(context(tmp_path, [stepped(1, rates=(1500, 1600), status="overloaded")]))
    (busy,) = made["verdicts"]
    assert (busy["word"], busy["sentence"]) == (
        "cannot tell",
        "At no step was a pool 70% to 80% busy; no step kept its rate.",
    )


@pytest.mark.parametrize(
    ("lower", "higher", "undecided", "expected"),
    [([1], [2], [3, 4, 5], True), ([1], [], [2, 3, 4], None), ([1, 2, 3], [], [4], False), ([], [], [1], None)],
)
def test_back_and_forth_needs_both_ways(
    lower: list[int],
    higher: list[int],
    undecided: list[int],
    expected: bool | None,  # noqa: FBT001
) -> None:
    """Both ways is back and forth, mostly one way is none, and steps that cannot be told apart decide nothing."""
    found = {"lower": lower, "higher": higher, "undecided": undecided}
    assert littles_law_claims._goes_both_ways(found) is expected


def test_cpu_of_a_step_comes_from_the_samples_beside_its_ends() -> None:
    """CPU is interpolated at the ends of a step; without samples there it is not known, never zero."""
    samples = {"at_ns": [0, 1000 * MS, 3000 * MS], "database_cpu_ns": [500, 500 + 200 * MS, 500 + 1400 * MS]}
    assert steps.cores(samples, "database", 0, 1000 * MS) == pytest.approx(0.2)
    assert steps.cores(samples, "database", 500 * MS, 2000 * MS) == pytest.approx(0.7 / 1.5)
    assert steps.cores(samples, "database", 2000 * MS, 5000 * MS) is None
    assert steps.cores({**samples, "database_cpu_ns": [None] * 3}, "database", 0, 1000 * MS) is None


def test_steps_of_a_run() -> None:
    """Steps are numbered from 1 and fill the window without a gap; other arrivals have none."""
    run = stepped(1, rates=(10, 20))
    made = Run({"settings": run.settings, "window_s": 20.0}, {}, run.rows, {})
    assert [(b.number, b.from_ns, b.to_ns) for b in steps.bounds(made)] == [
        (1, 0, 10_000 * MS),
        (2, 10_000 * MS, 20_000 * MS),
    ]
    plain = settings({"closed": {"workers": 1}}, READ, {"size": 1})
    assert steps.bounds(Run({"settings": plain}, {}, run.rows, {})) == []


def test_arithmetic_on_a_setting_is_in_no_count(found: dict[str, Any]) -> None:
    """What follows from max_connections alone is said with its sum, and the headline counts what was measured."""
    (arithmetic,) = [v for v in found["verdicts"] if v["word"] == "by arithmetic, not measured"]
    assert arithmetic["sentence"].startswith("20 x 20 is 400, more than the 97 sessions")
    assert f"of {len(found['verdicts']) - 1} statements of the write-up" in found["headline"]


def test_a_server_that_takes_as_many_is_said_to(tmp_path: Path) -> None:
    """With a limit above 20 x 20 and its reserve the sentence says so, and nothing is claimed as measured."""
    runs = [run for r in (1, 2) for run in (stepped(3, repeat=r), stepped(12, repeat=r))]
    made = littles_law.build(context(tmp_path, runs, max_connections=403))
    sentence = next(v["sentence"] for v in made["verdicts"] if v["subject"].startswith("Pools multiply"))
    assert sentence.startswith("20 x 20 is 400, not more than the 400 sessions")


def test_a_caller_of_an_executor_waits_from_the_scheduled_moment(tmp_path: Path) -> None:
    """Requests that wait for a thread wait in the pool for their callers, and need as large a pool as others."""
    plain = littles_law.build(context(tmp_path / "plain", [stepped(3)]))
    threaded = littles_law.build(context(tmp_path / "threaded", [in_thread(stepped(3))]))
    for key in ("wait_mean_ns", "queue", "waited_share"):
        ours, theirs = ([step[key] for step in made["arms"][0]["steps"]] for made in (threaded, plain))
        assert ours == theirs
    assert [row["size"] for row in threaded["sizes"]] == [row["size"] for row in plain["sizes"]]


def test_the_rule_takes_no_more_cores_than_the_host_has(tmp_path: Path) -> None:
    """A cap above the host's CPUs is none."""
    run = stepped(3)
    run.settings["cap_cores"] = 8.0
    assert littles_law.build(context(tmp_path, [run], cpus=2))["rule"]["cores"] == 2


def test_a_condition_without_a_run_that_counts_is_listed(tmp_path: Path) -> None:
    """What is in no row stands among what is missing."""
    made = littles_law.build(context(tmp_path, [stepped(3), stepped(12, status="errors")]))
    assert [(m["arm"], m["ended"]) for m in made["missing"]] == [("pool-12", ["errors"])]
