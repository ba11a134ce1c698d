"""The shipped studies ask what they say: their cells, their controls, and how long a person waits."""

from functools import cache
from pathlib import Path

import pytest

from poollab.run.cell import Plan
from poollab.session.plan_file import cells, seconds
from poollab.study.files import load_study
from poollab.study.model import Study

ROOT = Path(__file__).resolve().parents[2]
ORDINARY = ("aa", "execution-models", "littles-law", "pool-size", "pool-size-matched", "quota-control", "tail-latency")
SMALL = ("smoke-execution-models", "smoke-littles-law", "smoke-tail-latency")


@cache
def _study(name: str) -> Study:
    return load_study(ROOT / "config" / "studies" / f"{name}.yaml")


@cache
def _plans(name: str) -> dict[str, Plan]:
    return cells(_study(name), name)


@pytest.mark.parametrize("name", ORDINARY)
def test_a_study_takes_about_a_quarter_of_an_hour_at_most(name: str) -> None:
    """A full study is something that a person waits for."""
    assert seconds(list(_plans(name).values())) <= 16 * 60


@pytest.mark.parametrize("name", SMALL)
def test_a_smoke_form_takes_less_than_a_minute_and_asks_the_same(name: str) -> None:
    """Each long study has a small form with the same analysis, for tests."""
    assert seconds(list(_plans(name).values())) <= 40
    assert _study(name).analysis == _study(name.removeprefix("smoke-")).analysis


def test_the_a_a_study_compares_a_pool_with_itself() -> None:
    """Both arms are one and the same measurement, so whatever differs is what runs differ by on their own."""
    found = _plans("aa")
    pairs = [(plan, found[name.replace(".first.", ".second.")]) for name, plan in found.items() if ".first." in name]
    assert len(pairs) == 9
    assert all(one.settings_hash == two.settings_hash for one, two in pairs)


def test_the_control_differs_from_the_main_study_in_its_caps_alone() -> None:
    """With the quota the control's settings are the main study's; without, only the limits differ."""
    main, control = _plans("pool-size"), _plans("quota-control")
    for name in ("heavy-bursts.pool-20", "heavy-uniform.pool-5"):
        assert control[f"{name}.quota.r1"].settings_hash == main[f"{name}.r1"].settings_hash
        free = control[f"{name}.no-quota.r1"]
        assert {key for key in free.settings if free.settings[key] != main[f"{name}.r1"].settings[key]} == {"limits"}
        assert free.caps("database").quota_us is free.caps("load_generator").quota_us is None


def test_the_matched_study_asks_for_half_of_the_cap() -> None:
    """40 heavy queries a second at the asked cost are half of the database's cap, in bursts or not."""
    for name in ("heavy-uniform.pool-5.r1", "heavy-bursts.pool-5.r1"):
        settings = _plans("pool-size-matched")[name].settings
        (step,) = settings["workload"]["request"]
        cost_ms = step["query"]["args"][1]["calibrated"]["cpu_ms"]
        assert 40 * cost_ms / 1000 == pytest.approx(0.5 * settings["limits"]["database"]["cpus"], rel=0.02)


def test_tail_latency_covers_the_grid_and_its_reference() -> None:
    """Three numbers of workers meet four pools, and one worker on one connection gives the theory's S1."""
    conditions = {name.rpartition(".")[0] for name in _plans("tail-latency")}
    grid = {f"c-{workers}.pool-{size}" for workers in (16, 96, 192) for size in (10, 20, 40, 70)}
    assert conditions == grid | {"c-1.pool-1"}


def test_littles_law_rises_to_the_capacity_in_ten_steps_of_twenty_seconds() -> None:
    """From 10 % to 95 % of what the machine can do, on two instances, with the database capped at one core."""
    plan = _plans("littles-law")["rising.two-of-2.r1"]
    steps = plan.settings["workload"]["arrivals"]["steps"]
    shares = [step["poisson"]["share_of_capacity"] for step in steps]
    assert [step["for_s"] for step in steps] == [20.0] * 10
    assert (shares[0], shares[-1]) == (0.10, 0.95)
    assert shares == sorted(shares)
    assert plan.settings["arm"]["processes"] == 2
    assert plan.caps("database").cores == 1.0


def test_execution_models_meets_every_client_on_every_pool() -> None:
    """The pool's ceiling is measured for four clients on six pools; threads are as many as requests at once."""
    found = [
        plan for plan in _plans("execution-models").values() if plan.workload == "pool-ceiling" and plan.repeat == 1
    ]
    assert {(plan.settings["client"], plan.settings["arm"]["size"]) for plan in found} == {
        (client, size)
        for client in ("asyncpg", "psycopg-async", "psycopg-threads", "psycopg-executor")
        for size in (1, 2, 4, 8, 16, 32)
    }
    assert {p.settings["arm"]["threads"] for p in found if p.settings["client"] == "psycopg-threads"} == {600}
    waits = _plans("execution-models")["waits.psycopg-threads-8.r1"]
    assert waits.settings["arm"]["threads"] == 4000
