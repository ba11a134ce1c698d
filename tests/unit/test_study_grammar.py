"""Arrivals, requests, arms and limits as a study may write them: what is taken, and what is refused in which words."""

from typing import Any

import pytest
from support.faulty import GONE, LIGHT, check_one, faults_of
from support.studies import plans, study

AT = f"{LIGHT}.arrivals"


def _arrive(arrivals: dict[str, Any]) -> dict[str, Any]:
    return {AT: arrivals}


def _ask(*steps: dict[str, Any]) -> dict[str, Any]:
    return {f"{LIGHT}.sql": GONE, f"{LIGHT}.args": GONE, f"{LIGHT}.request": list(steps)}


def _arms(**arms: dict[str, Any]) -> dict[str, Any]:
    return {"pools": GONE, "arms": {label.replace("_", "-"): arm for label, arm in arms.items()}}


READ = {"query": {"sql": "SELECT balance FROM pool_lab WHERE id = $1", "args": [{"int": [1, 9]}]}}
STEP = {"for_s": 6, "poisson": {"rate_per_s": 10}}

ARRIVALS = {
    "two rates": (_arrive({"uniform": {"every_ms": 5, "rate_per_s": 200}}), [AT, "exactly one rate", "every_ms, rate"]),
    "no rate": (_arrive({"bursts": {"size": 3}}), [f"{AT}.bursts", "exactly one rate of every_ms", "got none"]),
    "rate of nothing": (_arrive({"poisson": {"rate_per_s": 0}}), [f"{AT}.poisson.rate_per_s = 0", "more than 0"]),
    "share too large": (_arrive({"poisson": {"share_of_capacity": 95}}), ["share_of_capacity = 95", "at most 5"]),
    "steps too short": (
        _arrive({"steps": [STEP, {"for_s": 5, "uniform": {"every_ms": 5}}]}),
        [f"{AT}.steps: the for_s add up to 11 s, and the window measures 12 s", "make them equal"],
    ),
    "no steps": (_arrive({"steps": []}), [f"{AT}.steps = []", "at least one"]),
    "step of two schedules": (
        _arrive({"steps": [{**STEP, "for_s": 12, "uniform": {"every_ms": 5}}]}),
        [f"{AT}.steps[0]", "exactly one schedule", "got poisson, uniform"],
    ),
    "step without length": (_arrive({"steps": [{"uniform": {"every_ms": 5}}]}), [f"{AT}.steps[0].for_s: is missing"]),
    "step in a step": (
        _arrive({"steps": [{"for_s": 12, "steps": [STEP]}]}),
        [f"{AT}.steps[0].steps: is not a known key"],
    ),
    "ramp of half a kind": (
        _arrive({"ramp": {"shape": "uniform", "from_per_s": 10, "to_share": 0.5}}),
        [f"{AT}.ramp", "from_per_s and to_per_s, or from_share and to_share", "got from_per_s, to_share"],
    ),
    "ramp from nothing": (_arrive({"ramp": {"shape": "uniform", "from_per_s": 0, "to_per_s": 9}}), ["from_per_s = 0"]),
    "ramp of bursts without size": (
        _arrive({"ramp": {"shape": "bursts", "from_per_s": 10, "to_per_s": 20}}),
        [f"{AT}.ramp", "size is of shape bursts alone; add it"],
    ),
    "ramp of no shape": (
        _arrive({"ramp": {"shape": "sine", "from_per_s": 10, "to_per_s": 20}}),
        [f"{AT}.ramp.shape = 'sine': must be uniform or poisson or bursts"],
    ),
    "batch of none": (_arrive({"batch": {"size": 0}}), [f"{AT}.batch.size = 0", "1 to 100000"]),
    "loop without workers": (_arrive({"closed": {}}), [f"{AT}.closed.workers: is missing"]),
    "loop with a schedule": (
        _arrive({"closed": {"workers": 3}, "uniform": {"every_ms": 5}}),
        [AT, "exactly one schedule", "got closed, uniform"],
    ),
    "loop without end": (
        {**_arrive({"closed": {"workers": 3}}), "windows.measure_s": 3600},
        [f"{AT}: 180000000 requests in one cell", "lower max_per_s"],
    ),
    "ramp with too many": (
        _arrive({"ramp": {"shape": "uniform", "from_per_s": 100_000, "to_per_s": 100_000}, "poisson": GONE})
        | {"windows.measure_s": 100, AT: {"ramp": {"shape": "uniform", "from_per_s": 1, "to_per_s": 100_000}}},
        ["5000050 requests in one cell", "lower the rate"],
    ),
}

REQUESTS = {
    "request beside a statement": ({f"{LIGHT}.request": [READ]}, [f"{LIGHT}.request: stands beside sql"]),
    "step of two kinds": (
        _ask({**READ, "hold": {"ms": 3}}),
        [f"{LIGHT}.request[0]", "exactly one step", "hold, query"],
    ),
    "step of no kind": (_ask({}), [f"{LIGHT}.request[0]", "exactly one step", "got none"]),
    "unknown step": (_ask({"sleep": {"ms": 3}}), [f"{LIGHT}.request[0].sleep: is not a known key"]),
    "argument missing in a step": (
        _ask({"wait": {"ms": 1}}, {"query": {"sql": "SELECT $1::int"}}),
        [f"{LIGHT}.request[1].query.args: 0 given, and the statement uses $1"],
    ),
    "nothing sent on the connection": (_ask({"hold": {"ms": 3}}), [f"{LIGHT}.request: holds a connection", "use wait"]),
    "times below one": (
        _ask({"query": {"sql": "SELECT 1", "times": 0}}),
        [f"{LIGHT}.request[0].query.times = 0", "a whole number, 1 to 10000 or a pair"],
    ),
    "times as a word": (_ask({"query": {"sql": "SELECT 1", "times": "twice"}}), ["query.times = 'twice'", "a pair"]),
    "times upside down": (_ask({"query": {"sql": "SELECT 1", "times": [5, 2]}}), ["request[0].query", "empty", "5"]),
    "times of three": (_ask({"query": {"sql": "SELECT 1", "times": [1, 2, 3]}}), ["request[0].query.times", "a pair"]),
    "share of none": (_ask({"query": {"sql": "SELECT 1", "share": 0}}), ["query.share = 0", "more than 0, at most 1"]),
    "hold below zero": (_ask(READ, {"hold": {"ms": -1}}), [f"{LIGHT}.request[1].hold.ms = -1", "0 to 3600000"]),
    "hold upside down": (_ask(READ, {"hold": {"ms": [50, 0]}}), ["request[1].hold", "empty", "50"]),
    "compute at the zeroth": (
        _ask({"compute": {"ms": 3, "at": [0]}}),
        ["request[0].compute.at[0] = 0", "1 to 2000000"],
    ),
    "argument of two kinds": (
        {f"{LIGHT}.args": [{"int": [1, 2], "calibrated": {"cpu_ms": 1, "from": 1, "to": 2}}]},
        [f"{LIGHT}.args[0]", "exactly one kind of value", "calibrated, int"],
    ),
    "calibrated upside down": (
        {f"{LIGHT}.args": [{"calibrated": {"cpu_ms": 1, "from": 9, "to": 2}}]},
        [f"{LIGHT}.args[0].calibrated", "empty", "9"],
    ),
    "two calibrated": (
        {
            f"{LIGHT}.sql": "SELECT $1::int + $2::int",
            f"{LIGHT}.args": [{"calibrated": {"cpu_ms": 1, "from": 1, "to": 2}}] * 2,
        },
        [f"{LIGHT}.args: more than one is calibrated", "calibrate one"],
    ),
}

ARMS = {
    "threads for coroutines": (_arms(a={"size": 5, "threads": 9}), ["arms.a.threads: asyncpg has no such setting"]),
    "reset for psycopg": (
        _arms(a={"size": 5, "client": "psycopg-async", "reset": False}),
        ["arms.a.reset: psycopg-async has no such setting", "asyncpg"],
    ),
    "fewer threads than connections": (
        _arms(a={"size": 20, "client": "psycopg-threads", "threads": 8}),
        ["arms.a.threads = 8", "more than 8 of its 20 connections", "at least 20"],
    ),
    "executor smaller than the pool": (
        _arms(a={"size": 20, "client": "psycopg-executor", "executor": 8}),
        ["arms.a.executor = 8", "more than 8 of its 20 connections"],
    ),
    "fewer threads than workers": (
        {**_arms(a={"size": 4, "client": "psycopg-threads", "threads": 8}), AT: {"closed": {"workers": 16}}},
        ["arms.a.threads = 8", f"the loop of {LIGHT} has 16 workers", "at least 16 threads"],
    ),
    "processes multiply": (
        _arms(a={"size": 30, "processes": 4}),
        ["arms.a.size = 30: needs 4 processes x 30 + 3", "= 124 connections", "use at most 26"],
    ),
    "unknown client of an arm": (
        _arms(a={"size": 5, "client": "psycopg"}),
        ["arms.a.client = 'psycopg': must be asyncpg or psycopg-async"],
    ),
    "only a stranger": ({f"{LIGHT}.only": ["pool-7"]}, [f"{LIGHT}.only: there is no arm pool-7", "pool-5, pool-20"]),
    "an arm that nothing meets": (
        {f"workloads.{w}.only": ["pool-5", "pool-20"] for w in ("light-uniform", "heavy-uniform", "heavy-bursts")},
        ["arms.pool-100: no workload meets it"],
    ),
    "calibration by an arm that the workload does not meet": (
        {
            f"{LIGHT}.only": ["pool-5"],
            AT: {"poisson": {"share_of_capacity": 0.5}},
            "calibration": {"arm": "pool-20"},
        },
        ["calibration.arm = pool-20", f"{LIGHT} takes its rate from it, and meets pool-5"],
    ),
    "calibration by a stranger": ({"calibration": {"arm": "big"}}, ["calibration.arm = big", "pool-5, pool-20"]),
}

WHOLE = {
    "unknown analysis": ({"analysis": "tail"}, ["analysis = 'tail': must be pool-size or tail-latency"]),
    "margin of everything": ({"margin": 1}, ["margin = 1", "more than 0, at most 0.5"]),
    "level of another word": (
        {"limits": {"a": "off"}},
        ["limits.a = 'off'", "a mapping of keys to values or the word none"],
    ),
    "level with an unknown key": ({"limits": {"a": {"cpus": 1}}}, ["limits.a.cpus: is not a known key"]),
    "own window of none": ({f"{LIGHT}.windows": {"measure_s": 0}}, [f"{LIGHT}.windows.measure_s = 0", "0.001 to 3600"]),
}


@pytest.mark.parametrize(("changes", "parts"), ARRIVALS.values(), ids=ARRIVALS)
def test_a_wrong_schedule_is_one_line(changes: dict[str, Any], parts: list[str]):
    """Whatever is wrong with a schedule is said in one line that names place, value and next step."""
    check_one(changes, parts)


@pytest.mark.parametrize(("changes", "parts"), REQUESTS.values(), ids=REQUESTS)
def test_a_wrong_request_is_one_line(changes: dict[str, Any], parts: list[str]):
    """Whatever is wrong with a request is said in one line that names place, value and next step."""
    check_one(changes, parts)


@pytest.mark.parametrize(("changes", "parts"), ARMS.values(), ids=ARMS)
def test_a_wrong_arm_is_one_line(changes: dict[str, Any], parts: list[str]):
    """An arm that cannot do what it says is refused with the sum, before anything starts."""
    check_one(changes, parts)


@pytest.mark.parametrize(("changes", "parts"), WHOLE.values(), ids=WHOLE)
def test_a_wrong_key_of_the_whole_is_one_line(changes: dict[str, Any], parts: list[str]):
    """The keys that belong to the whole study are checked in the same way."""
    check_one(changes, parts)


def test_faults_of_schedule_request_arm_and_level_are_named_at_once():
    """Four kinds of fault in one file are four lines, so that one correction is enough."""
    faults = faults_of(
        {
            AT: {"steps": [STEP]},
            "workloads.heavy-uniform.args": [],
            **_arms(a={"size": 5, "threads": 9}),
            "limits": {"a": "off"},
        }
    )
    assert sorted(fault.split(": ")[1].split(" = ")[0] for fault in faults) == [
        "arms.a.threads",
        "limits.a",
        "workloads.heavy-uniform.args",
        f"{AT}.steps",
    ]


def test_none_takes_every_cap_off_on_both_sides():
    """The level `none` is uncapped in CPU and memory, whatever the study says for the other levels."""
    found = plans({"limits": {"quota": {}, "no-quota": "none"}})
    for side in ("database", "load_generator"):
        assert found["light.pool-1.no-quota.r1"].caps(side).quota_us is None
        assert found["light.pool-1.no-quota.r1"].caps(side).memory_bytes is None
    assert found["light.pool-1.quota.r1"].caps("database").quota_us == 5000


def test_only_takes_senseless_combinations_out():
    """A workload meets the arms that it names and no other, also where it took the key from another workload."""
    more = {
        "workloads.light.only": ["pool-3"],
        "workloads.other": {"same": "light", "arrivals": {"batch": {"size": 5}}},
    }
    free = {"workloads.free": {"sql": "SELECT 1", "arrivals": {"batch": {"size": 5}}}}
    assert sorted(plans({**more, **free})) == [
        "free.pool-1.r1",
        "free.pool-3.r1",
        "light.pool-3.r1",
        "other.pool-3.r1",
    ]


def test_a_workload_may_have_windows_of_its_own():
    """What a workload's windows do not name stays as the study says; other workloads keep theirs."""
    found = plans(
        {
            "workloads.light.windows": {"measure_s": 7},
            "workloads.b": {"sql": "SELECT 1", "arrivals": {"batch": {"size": 5}}},
        }
    )
    assert found["light.pool-1.r1"].windows == (0.3, 7.0)
    assert found["b.pool-1.r1"].windows == (0.3, 1.0)


@pytest.mark.parametrize(
    ("arm", "arrivals", "want"),
    [
        ({"client": "psycopg-threads"}, {"closed": {"workers": 16}}, {"threads": 16}),
        ({"client": "psycopg-threads", "processes": 2}, {"closed": {"workers": 17}}, {"threads": 9}),
        ({"client": "psycopg-threads"}, {"batch": {"size": 600}}, {"threads": 600}),
        ({"client": "psycopg-threads"}, {"uniform": {"every_ms": 5}}, {"threads": 100}),
        ({"client": "psycopg-threads", "size": 30, "processes": 4}, {"uniform": {"every_ms": 5}}, {"threads": 30}),
        ({"client": "psycopg-threads", "size": 120}, {"uniform": {"every_ms": 5}}, {"threads": 120}),
        ({"client": "psycopg-threads", "threads": 40}, {"batch": {"size": 600}}, {"threads": 40}),
        ({"client": "psycopg-executor"}, {"batch": {"size": 600}}, {"executor": 8}),
        ({"client": "psycopg-executor", "executor": 12}, {"batch": {"size": 600}}, {"executor": 12}),
        ({"client": "psycopg-async"}, {"batch": {"size": 600}}, {}),
    ],
)
def test_threads_left_to_a_default_stand_in_the_settings(
    arm: dict[str, Any], arrivals: dict[str, Any], want: dict[str, int]
):
    """How many threads an arm really has is part of what decides a measurement, said or not."""
    changes = {"pools": None, "arms": {"a": {"size": 8, **arm}}, "workloads.light.arrivals": arrivals}
    (plan,) = plans({**changes, "database.settings.max_connections": 200}).values()
    assert {key: value for key, value in plan.settings["arm"].items() if key in {"threads", "executor"}} == want
    assert plan.settings["client"] == arm["client"]


def test_short_and_long_form_are_one_measurement():
    """A statement written as sql and as a request of one step is the same measurement."""
    light = study().workloads["light"]
    request = [{"query": {"sql": light.sql, "args": [{"int": [1, 2000]}], "times": 1}}]
    long = plans({"workloads.light": {"request": request, "arrivals": {"uniform": {"every_ms": 10}}}})
    assert {name: plan.settings_hash for name, plan in long.items()} == {
        name: plan.settings_hash for name, plan in plans().items()
    }


@pytest.mark.parametrize(
    "change",
    [{"analysis": "tail-latency"}, {"margin": 0.1}, {"calibration": {"seconds": 9}}, {"client": "asyncpg"}],
    ids=lambda change: next(iter(change)),
)
def test_what_only_the_report_needs_re_measures_nothing(change: dict[str, Any]):
    """Analysis and margin decide no measurement, and no more does a calibration that no workload needs."""
    assert all(plans(change)[name].settings_hash == plan.settings_hash for name, plan in plans().items())


def test_a_share_of_the_capacity_brings_its_calibration_into_the_settings():
    """Where a rate is a share, the rules by which the capacity is found decide the measurement."""
    share = {"workloads.light.arrivals": {"poisson": {"share_of_capacity": 0.5}}}
    (ours, theirs) = (plans({**share, "calibration": {"seconds": s}})["light.pool-1.r1"] for s in (2, 3))
    assert ours.settings["calibration"]["seconds"] == 2.0
    assert ours.settings_hash != theirs.settings_hash


@pytest.mark.parametrize("analysis", ["tail-latency", "littles-law", "execution-models", "pool-size"])
def test_one_level_of_limits_is_taken_by_every_analysis(analysis: str):
    """A level by itself sets nothing side by side, so every analysis takes it."""
    found = plans({"analysis": analysis, "limits": {"quota": {}}})
    assert set(found) == {"light.pool-1.quota.r1", "light.pool-3.quota.r1"}
