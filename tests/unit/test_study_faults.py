"""
A wrong study is refused with every fault at once: place, value, what is allowed, next step.

Each row of the tables is a way to get a study wrong and the parts that its message must hold.
"""

from typing import Any

import pytest
from support.faulty import GONE, GOOD, LABEL, LIGHT, check_one, faults_of, with_changes

from poollab.errors import ConfigError
from poollab.study.files import parse
from poollab.study.model import Study

NAN, INF = float("nan"), float("inf")

ONE_FAULT = {
    # Keys
    "unknown key": ({"repeat": 3}, ["repeat: is not a known key; did you mean repeats?"]),
    "unknown key, nothing near": ({"zzzz": 3}, ["zzzz: is not a known key", "pools", "workloads"]),
    "unknown key below": ({"database.limits.cpu": 1}, ["database.limits.cpu: is not a known key; did you mean cpus?"]),
    "unknown key in a workload": ({f"{LIGHT}.sqll": "x"}, [f"{LIGHT}.sqll: is not a known key; did you mean sql?"]),
    "unknown schedule": (
        {f"{LIGHT}.arrivals": {"unifrom": {"every_ms": 1}}},
        [f"{LIGHT}.arrivals.unifrom: is not a known key; did you mean uniform?"],
    ),
    "time without its unit": ({"windows.warm_up": 1}, ["windows.warm_up: is not a known key; did you mean warm_up_s?"]),
    "key is a number": ({"workloads": {5: GOOD["workloads"]["light-uniform"]}}, ["workloads.5", LABEL]),
    "missing title": ({"title": GONE}, ["title: is missing; add it"]),
    "missing database": ({"database": GONE}, ["database: is missing; add it", "config/README.md"]),
    "missing arrivals": ({f"{LIGHT}.arrivals": GONE}, [f"{LIGHT}.arrivals: is missing; add it"]),
    "missing rows": ({"database.tables": {"t": {}}}, ["database.tables.t.rows: is missing"]),
    # Types
    "title is a number": ({"title": 5}, ["title = 5: must be text", "quotes"]),
    "title is empty": ({"title": ""}, ["title = '': must be text, 1 to 200 characters"]),
    "title of two lines": ({"title": "a\nb"}, ["title = 'a\\nb': must be one line"]),
    "title with NUL": ({"title": "a\0b"}, ["title", "one line without control characters"]),
    "statement with NUL": ({f"{LIGHT}.sql": "SELECT $1\0"}, [f"{LIGHT}.sql", "control character; remove it"]),
    "text for a number": (
        {"windows.measure_s": "12"},
        ["windows.measure_s = '12': must be a number", "without quotes"],
    ),
    "text for a pool": ({"pools": ["5"]}, ["pools[0] = '5': must be a whole number, 1 to 10000", "without quotes"]),
    "truth value for a number": (
        {"repeats": True},
        ["repeats = True: must be a whole number, 1 to 1000", "no numbers"],
    ),
    "truth value for a cap": ({"database.limits.cpus": True}, ["database.limits.cpus = True: must be a number"]),
    "list for a mapping": ({"database": [1]}, ["database = [1]: must be a mapping", "tables"]),
    "list of workloads": ({"workloads": [1]}, ["workloads = [1]: must be a mapping of names to mappings"]),
    "nothing for a mapping": ({"windows": None}, ["windows = None: must be a mapping", "measure_s, warm_up_s"]),
    "mapping for a list": ({f"{LIGHT}.args": {"int": [1, 2]}}, [f"{LIGHT}.args", "must be a list of mappings"]),
    "number for pools": ({"pools": 5}, ["pools = 5: must be a list of whole numbers", "[5, 20]"]),
    "list for a setting": (
        {"database.settings.work_mem": [1]},
        ["database.settings.work_mem = [1]: must be a number or text", "on or off"],
    ),
    # Nothing where something must be
    "title of blanks": ({"title": "   "}, ["title", "nothing but blanks"]),
    "statement of blanks": ({f"{LIGHT}.sql": "  ", f"{LIGHT}.args": []}, [f"{LIGHT}.sql", "nothing but blanks"]),
    "window of no time": ({"windows.measure_s": 1e-10}, ["windows.measure_s = 1e-10", "0.001 to 3600"]),
    "table of the system": ({"database.tables": {"pg_class": {"rows": 1}}}, ["database.tables.pg_class", "pg_"]),
    # Caps as they are in force
    "level whose period leaves too small a quota": (
        {"database.limits": {"cpus": 0.05, "period_ms": 100}, "limits": {"short": {"database": {"period_ms": 10}}}},
        ["limits.short.database", "500 us", "raise cpus or period_ms"],
    ),
    # Several levels of caps where an analysis sets conditions side by side
    **{
        f"levels for {analysis}": (
            {"analysis": analysis, "limits": {"quota": {}, "free": "none"}},
            ["limits: has 2 levels (quota, free)", f"analysis = {analysis} takes one", "keep one level"],
        )
        for analysis in ("tail-latency", "littles-law", "execution-models")
    },
    # What no window would hold
    "work of a request that never comes": (
        {LIGHT: {"request": [{"compute": {"ms": 1, "at": [2401]}}], "arrivals": {"uniform": {"every_ms": 5}}}},
        [f"{LIGHT}.request[0].compute.at", "2400 requests", "2401"],
    ),
    "warm-up of too many requests": (
        {f"{LIGHT}.arrivals": {"uniform": {"every_ms": 0.1}}, "windows": {"warm_up_s": 3600, "measure_s": 1}},
        [f"{LIGHT}.arrivals", "36000000 requests in one warm-up", "windows.warm_up_s"],
    ),
    "calibration of more requests than a cell holds": (
        {"calibration": {"seconds": 41}},
        ["calibration.seconds = 41", "0.1 to 40"],
    ),
    "pair of one": (
        {LIGHT: {"request": [{"wait": {"ms": [5]}}], "arrivals": {"uniform": {"every_ms": 5}}}},
        [f"{LIGHT}.request[0].wait.ms = [5]", "a pair of numbers"],
    ),
    "analysis of another kind of study": (
        {"analysis": "pool-implementations"},
        ["analysis = pool-implementations", "no workload is one"],
    ),
    # Ranges
    "half a connection": ({"pools": [5.5]}, ["pools[0] = 5.5: must be a whole number"]),
    "pool of none": ({"pools": [5, 0]}, ["pools[1] = 0: must be a whole number, 1 to 10000"]),
    "no pools": ({"pools": []}, ["pools = []", "at least one"]),
    "no workloads": ({"workloads": {}}, ["workloads = {}", "at least one"]),
    "no limits": ({"limits": {}}, ["limits = {}", "at least one"]),
    "window below zero": ({"windows.measure_s": -1}, ["windows.measure_s = -1", "0.001 to 3600"]),
    "endless window": ({"windows.measure_s": INF}, ["windows.measure_s = inf", "0.001 to 3600"]),
    "cap that is no number": (
        {"database.limits.cpus": NAN},
        ["database.limits.cpus = nan", "more than 0, at most 1024"],
    ),
    "period that is no number": ({"database.limits.period_ms": NAN}, ["database.limits.period_ms = nan", "1 to 1000"]),
    "period too short": ({"database.limits.period_ms": 0.5}, ["database.limits.period_ms = 0.5", "1 to 1000"]),
    "memory too small": ({"database.limits.memory_mib": 1}, ["memory_mib = 1", "16 to 1048576"]),
    "share above one": ({"allowed_errors": 5}, ["allowed_errors = 5", "0 to 1"]),
    "share that is no number": ({"allowed_errors": NAN}, ["allowed_errors = nan", "0 to 1"]),
    "too many repeats": ({"repeats": 10**30}, ["repeats = 10", "1 to 1000"]),
    "seed below zero": ({"order.seed": -1}, ["order.seed = -1", "0 to 2^63 - 1"]),
    "major too old": ({"database.major": 9}, ["database.major = 9", "14 to 99"]),
    "range upside down": ({f"{LIGHT}.args": [{"int": [5, 1]}]}, [f"{LIGHT}.args[0]", "empty", "5", "1"]),
    "range of one": ({f"{LIGHT}.args": [{"int": [5]}]}, [f"{LIGHT}.args[0].int"]),
    "range beyond int4": ({f"{LIGHT}.args": [{"int": [1, 2**40]}]}, [f"{LIGHT}.args[0].int[1]", "2^31 - 1"]),
    # Choices
    "unknown client": ({"client": "asyncgp"}, ["client = 'asyncgp': must be asyncpg"]),
    "unknown lifetime": ({"database.lifetime": "cell"}, ["database.lifetime = 'cell': must be block"]),
    # Names
    "label leaves the folder": ({"workloads": {"../x": GOOD["workloads"]["light-uniform"]}}, ["'../x'", LABEL]),
    "label with a capital": ({"pools": GONE, "arms": {"Big": {"size": 5}}}, ["arms.Big", LABEL]),
    "table name with a hyphen": (
        {"database.tables": {"pool-lab": {"rows": 1}}},
        ["database.tables.pool-lab", "underscores"],
    ),
    "setting name with a capital": ({"database.settings": {"Work_Mem": 1}}, ["Work_Mem", "lower-case letters"]),
    # Settings
    "setting of the lab": (
        {"database.settings.listen_addresses": "*"},
        ["database.settings.listen_addresses", "belongs to the lab", "remove the key"],
    ),
    "library of the lab": ({"database.settings.shared_preload_libraries": "x"}, ["belongs to the lab"]),
    "setting breaks its quotes": (
        {"database.settings.work_mem": "1'; x"},
        ["database.settings.work_mem", "apostrophe"],
    ),
    "max_connections is a word": (
        {"database.settings.max_connections": "lots"},
        ["database.settings.max_connections = 'lots'", "whole number"],
    ),
    "max_connections in quotes": (
        {"database.settings.max_connections": "110"},
        ["max_connections = '110'", "without quotes"],
    ),
    "max_connections endless": (
        {"database.settings.max_connections": INF},
        ["database.settings.max_connections = inf"],
    ),
    "max_connections a fraction": (
        {"database.settings.max_connections": 110.5},
        ["max_connections = 110.5", "whole number"],
    ),
    "max_connections too few": ({"database.settings.max_connections": 3}, ["max_connections = 3", "5 to 262143"]),
    # Several parts together
    "quota too small": (
        {"database.limits.cpus": 0.05},
        ["database.limits", "0.05", "10 ms", "500 us", "less than 1000 us", "smallest cpus for this period is 0.1"],
    ),
    "quota of a level too small": (
        {"limits": {"low": {"load_generator": {"cpus": 0.01, "period_ms": 20}}}},
        ["limits.low.load_generator", "200 us", "smallest cpus for this period is 0.05"],
    ),
    "pool too large": (
        {"pools": [5, 500]},
        ["pools = 500: needs 500 + 3 reserved slots + 1 session of ours = 504 connections", "is 110", "at most 106"],
    ),
    "pool too large for the default": (
        {"database.settings": {}},
        ["pools = 100: needs 100 + 3", "= 104 connections", "max_connections is 100", "at most 96"],
    ),
    "arm too large": (
        {"pools": GONE, "arms": {"big": {"size": 107}}},
        ["arms.big.size = 107", "= 111 connections", "at most 106 or raise max_connections"],
    ),
    "size twice": ({"pools": [5, 5]}, ["pools = [5, 5]: a size stands twice", "arms"]),
    "neither pools nor arms": ({"pools": GONE}, ["pools: give either pools", "got neither"]),
    "both pools and arms": ({"arms": {"a": {"size": 5}}}, ["either pools", "or arms", "got both"]),
    "unknown same": ({"workloads.heavy-bursts.same": "nope"}, ["workloads.heavy-bursts.same = nope", "light-uniform"]),
    "same as a follower": (
        {"workloads.third": {"same": "heavy-bursts", "arrivals": {"uniform": {"every_ms": 5}}}},
        ["workloads.third.same = heavy-bursts", "allowed: light-uniform, heavy-uniform"],
    ),
    "same as itself": (
        {f"{LIGHT}.same": "light-uniform"},
        [f"{LIGHT}.same = light-uniform", "itself", "heavy-uniform"],
    ),
    "no statement": ({f"{LIGHT}.sql": GONE}, [f"{LIGHT}.sql: is missing", "same"]),
    "too few arguments": ({f"{LIGHT}.args": []}, [f"{LIGHT}.args: 0 given", "$1"]),
    "too many arguments": ({f"{LIGHT}.sql": "SELECT 1"}, [f"{LIGHT}.args: 1 given", "no placeholder"]),
    "arguments skip one": ({f"{LIGHT}.sql": "SELECT $2::int"}, [f"{LIGHT}.args: 1 given, and the statement uses $2"]),
    "two schedules": (
        {f"{LIGHT}.arrivals": {"uniform": {"every_ms": 1}, "bursts": {"size": 1, "every_ms": 3}}},
        [f"{LIGHT}.arrivals", "exactly one schedule", "got bursts, uniform"],
    ),
    "no schedule": (
        {f"{LIGHT}.arrivals": {}},
        [f"{LIGHT}.arrivals = {{}}", "exactly one schedule", "poisson", "got none"],
    ),
    "schedule without keys": (
        {f"{LIGHT}.arrivals": {"uniform": None}},
        [f"{LIGHT}.arrivals", "uniform without its keys"],
    ),
    "too many arrivals": ({f"{LIGHT}.arrivals": {"uniform": {"every_ms": 0.001}}}, ["12000000 requests in one cell"]),
}


def test_the_study_that_the_table_breaks_is_right():
    """The table's faults are the only ones: the study itself is in order."""
    assert parse(Study, with_changes({}), "my-study.yaml").pools == [5, 20, 100]


@pytest.mark.parametrize(("changes", "parts"), ONE_FAULT.values(), ids=ONE_FAULT)
def test_one_fault_is_one_line_with_its_place_value_and_next_step(changes: dict[str, Any], parts: list[str]):
    """Whatever is wrong is said in one line: place, value, what is allowed, next step."""
    check_one(changes, parts)


MANY_FAULTS = {
    "of one part": (
        {"repeats": 0, "zz": 1, "pools": [0, "x"], "windows.measure_s": -1, "title": None},
        ["title = None", "pools[0] = 0", "pools[1] = 'x'", "repeats = 0", "windows.measure_s = -1", "zz: "],
    ),
    "of both caps": (
        {"database.limits.cpus": 0.05, "load_generator.limits.cpus": 0.01},
        ["database.limits", "load_generator.limits"],
    ),
    "of two pools": ({"pools": [200, 300]}, ["pools = 200", "pools = 300"]),
    "of one part and between parts": (
        {"title": GONE, "pools": [500], "order.seed": -1},
        ["title: is missing", "order.seed = -1", "pools = 500: needs"],
    ),
    "between parts of two kinds": (
        {"pools": [500], f"{LIGHT}.args": []},
        [f"{LIGHT}.args: 0 given", "pools = 500: needs"],
    ),
    "an unknown key hides no bad pool": ({"repeat": 1, "pools": [5, 5]}, ["repeat: is not", "pools = [5, 5]"]),
    "a bad table hides no bad workload": (
        {"database.tables": {"T": {"rows": 1}}, f"{LIGHT}.sql": GONE},
        ["database.tables.T", f"{LIGHT}.sql: is missing"],
    ),
}


@pytest.mark.parametrize(("changes", "beginnings"), MANY_FAULTS.values(), ids=MANY_FAULTS)
def test_all_faults_are_named_at_once_and_each_once(changes: dict[str, Any], beginnings: list[str]):
    """Several faults are several lines, so that one correction is enough."""
    faults = [fault.removeprefix("my-study.yaml: ") for fault in faults_of(changes)]
    assert len(faults) == len(beginnings), faults
    assert [b for b in beginnings if not any(fault.startswith(b) for fault in faults)] == [], faults


def test_a_broken_part_brings_up_no_fault_that_only_follows_from_it():
    """Without max_connections the default of 100 would make pool 100 too large: that is no fault of this study."""
    faults = faults_of({"database.settings.max_connections": [110]})
    assert len(faults) == 1, faults


def test_an_empty_mapping_names_everything_that_a_study_needs():
    """Whoever begins with nothing is told all that is needed."""
    with pytest.raises(ConfigError) as caught:
        parse(Study, {}, "my-study.yaml")
    text = str(caught.value)
    assert text.splitlines()[0].startswith("Nothing was started: ")
    assert all(f"my-study.yaml: {key}: is missing; add it" in text for key in ("title", "database", "workloads"))
    assert "pools: give either" in text
