"""The plan: every cell once, in an order that the seed alone decides, under a name and a hash of its own."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.studies import plans, study

from poollab.plan import conditions, differing_keys, ordered_cells, settings, settings_hash
from poollab.study.model import Study

WIDE: dict[str, Any] = {
    "pools": [5, 20, 30],
    "repeats": 3,
    "workloads.heavy": {"same": "light", "arrivals": {"uniform": {"every_ms": 25}}},
    "workloads.bursts": {"same": "light", "arrivals": {"bursts": {"size": 10, "every_ms": 250}}},
}
PUBLISHED = [
    "light.pool-5.r1",
    "light.pool-20.r1",
    "heavy.pool-5.r1",
    "heavy.pool-20.r1",
    "bursts.pool-5.r1",
    "bursts.pool-20.r1",
]
TWO_ARMS = {"pools": None, "arms": {"small": {"size": 5}, "large": {"size": 20}}}


def _names(made: Study) -> list[str]:
    return [cell.name for cell in ordered_cells(made)]


def test_order_is_reproducible_from_the_seed() -> None:
    """The same study gives the same order every time, and another seed gives another one of the same cells."""
    first, again, other = (_names(study({**WIDE, "order.seed": seed})) for seed in (20, 20, 21))
    assert first == again
    assert first != other
    assert sorted(first) == sorted(other)


def test_order_is_the_published_one() -> None:
    """The order of a seed never changes between versions, since a resumed study must go on in it."""
    made = study({**WIDE, "repeats": 1, "pools": [5, 20], "order.seed": 20})
    assert _names(made) == PUBLISHED


def test_each_repeat_is_a_full_pass() -> None:
    """Drift falls on all pools alike: each repeat holds every condition once, and no two repeats look alike."""
    made = study(WIDE)
    names, count = ordered_cells(made), len(conditions(made))
    passes = [names[i : i + count] for i in range(0, len(names), count)]
    assert [{cell.repeat for cell in part} for part in passes] == [{1}, {2}, {3}]
    assert all({cell.condition for cell in part} == set(conditions(made)) for part in passes)
    assert len({tuple(cell.condition for cell in part) for part in passes}) == 3


def test_another_repeat_changes_nothing_before_it() -> None:
    """Adding repeats to a finished study only adds cells at the end."""
    assert _names(study({**WIDE, "repeats": 5}))[:27] == _names(study(WIDE))


@pytest.mark.parametrize(
    "more",
    [
        {"pools": [5, 20, 30, 35]},
        {"pools": [35, 30, 20, 5]},
        {"workloads.extra": {"same": "light", "arrivals": {"poisson": {"rate_per_s": 50}}}},
        {"repeats": 4},
    ],
)
def test_growing_a_study_only_adds_cells(more: dict[str, Any]) -> None:
    """Another pool, workload or repeat leaves every cell that was there with its name and its settings."""
    before, after = plans(WIDE), plans({**WIDE, **more})
    assert set(before) < set(after)
    assert all(after[name].settings_hash == plan.settings_hash for name, plan in before.items())


LABEL = st.from_regex(r"[a-z0-9](?:[a-z0-9-]{0,6}[a-z0-9])?", fullmatch=True)
LABELS = st.lists(LABEL, min_size=1, max_size=4, unique=True)


@given(LABELS, LABELS, st.one_of(st.none(), LABELS))
def test_cell_names_are_unique_and_safe(workloads: list[str], arms: list[str], limits: list[str] | None) -> None:
    """Every cell has a folder of its own whose name is safe on any file system and in any shell."""
    light = study().workloads["light"].model_dump(exclude_none=True)
    made = study(
        {
            "pools": None,
            "arms": {label: {"size": 2} for label in arms},
            "workloads": {label: {**light, "args": [{"int": [1, 9]}]} for label in workloads},
            "limits": None if limits is None else {label: {} for label in limits},
            "repeats": 2,
        }
    )
    names = _names(made)
    assert len(set(names)) == len(names) == len(workloads) * len(arms) * len(limits or [1]) * 2
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9.-]*", name) for name in names)


RELEVANT: dict[str, Any] = {
    "database.tables": {"pool_lab": {"rows": 2001}},
    "database.settings.work_mem": "2MB",
    "database.settings.shared_buffers": "32MB",
    "database.major": 15,
    "database.limits.cpus": 0.4,
    "database.limits.period_ms": 100,
    "database.limits.memory_mib": 512,
    "load_generator.limits.cpus": 0.4,
    "load_generator.limits.period_ms": 20,
    "load_generator.limits.memory_mib": 300,
    "workloads.light.sql": "SELECT id FROM pool_lab WHERE id = $1",
    "workloads.light.args": [{"int": [1, 1999]}],
    "workloads.light.arrivals": {"uniform": {"every_ms": 11}},
    "windows.warm_up_s": 0.4,
    "windows.measure_s": 1.1,
    "timeouts": {"acquire_s": 9.0},
    "allowed_errors": 0.1,
    "client": "psycopg-async",
    "workloads.light.trace_memory": True,
    "workloads.light.windows": {"measure_s": 2.0},
}


@pytest.mark.parametrize("key", RELEVANT)
def test_what_decides_a_measurement_decides_its_hash(key: str) -> None:
    """Changing anything that decides a number makes it another measurement, and the change is named."""
    ours, theirs = plans({key: RELEVANT[key]}), plans()
    for name, plan in theirs.items():
        assert ours[name].settings_hash != plan.settings_hash
        lines = differing_keys(ours[name].settings, plan.settings)
        assert len(lines) == 1
        assert key.rpartition(".")[2] in lines[0] or key.split(".")[-2] in lines[0]


@pytest.mark.parametrize(
    "change",
    [
        {"title": "Another title"},
        {"order.seed": 99},
        {"repeats": 7},
        {"pools": [1, 3, 8]},
        {"database.limits.cpus": 0.50},
        {"windows.measure_s": 1.0},
        {"workloads.light.arrivals": {"uniform": {"every_ms": 10.0}}},
        {"timeouts": {"acquire_s": 10.0}},
        {"workloads.other": {"same": "light", "arrivals": {"uniform": {"every_ms": 3}}}},
    ],
)
def test_what_decides_no_number_decides_no_hash(change: dict[str, Any]) -> None:
    """Title, order, repeats, further arms and another way of writing the same quantity re-measure nothing."""
    ours = plans(change)
    assert all(ours[name].settings_hash == plan.settings_hash for name, plan in plans().items())


@pytest.mark.parametrize(
    "change",
    [{"reset": False}, {"processes": 2}, {"compute_in": "processes"}, {"client": "psycopg-async"}],
    ids=lambda change: next(iter(change)),
)
def test_every_setting_of_an_arm_decides_its_hash(change: dict[str, Any]) -> None:
    """Another client or setting of an arm is another measurement of that arm, and of no other."""
    before = plans(TWO_ARMS)
    after = plans({**TWO_ARMS, "arms": {"small": {"size": 5, **change}, "large": {"size": 20}}})
    assert before["light.large.r1"].settings_hash == after["light.large.r1"].settings_hash
    assert before["light.small.r1"].settings_hash != after["light.small.r1"].settings_hash


def test_only_the_arm_of_a_changed_size_is_another_measurement() -> None:
    """Changing one arm's pool size leaves the other arm's results as they are."""
    before = plans(TWO_ARMS)
    after = plans({**TWO_ARMS, "arms": {"small": {"size": 6}, "large": {"size": 20}}})
    assert before["light.large.r1"].settings_hash == after["light.large.r1"].settings_hash
    assert before["light.small.r1"].settings_hash != after["light.small.r1"].settings_hash


def test_same_takes_everything_but_the_arrivals() -> None:
    """A workload that says `same` has the other's statement and arguments in its settings, spelt out."""
    made = study(WIDE)
    heavy = next(c for c in conditions(made) if c.workload == "heavy")
    found = settings(made, heavy)["workload"]
    (step,) = found["request"]
    assert step["query"]["sql"] == made.workloads["light"].sql
    assert step["query"]["args"] == [{"int": [1, 2000]}]
    assert found["arrivals"]["uniform"] == {"every_ms": 25.0}


def test_limit_levels_are_cells_of_their_own() -> None:
    """With several cap levels each is a condition, and its own caps stand in its settings."""
    levels = {"half": {}, "tight": {"database": {"cpus": 0.2, "period_ms": 10}}}
    found = plans({"limits": levels})
    assert {plan.limits for plan in found.values()} == {"half", "tight"}
    assert found["light.pool-1.tight.r1"].caps("database").quota_us == 2000
    assert found["light.pool-1.tight.r1"].caps("load_generator").quota_us == 5000
    assert found["light.pool-1.half.r1"].caps("database").quota_us == 5000


def test_differing_keys_name_key_and_both_values() -> None:
    """A refusal says which keys differ, deep ones by their path, with the old and the new value."""
    ours, theirs = {"a": {"b": 1, "c": [1, 2]}, "new": 5}, {"a": {"b": 2, "c": [1, 2]}, "old": "x"}
    assert differing_keys(ours, theirs) == [
        "a.b: 2 in the results, 1 now",
        "new: '(absent)' in the results, 5 now",
        "old: 'x' in the results, '(absent)' now",
    ]
    assert differing_keys({"a": [{"b": 1}, 2]}, {"a": [{"b": 3}, 2]}) == ["a[0].b: 3 in the results, 1 now"]
    assert differing_keys(ours, ours) == []


def test_hash_does_not_depend_on_the_order_of_keys() -> None:
    """Sorting the keys of a study file otherwise is no other study."""
    assert settings_hash({"a": 1, "b": {"c": 2, "d": 3}}) == settings_hash({"b": {"d": 3, "c": 2}, "a": 1})
    assert re.fullmatch(r"[0-9a-f]{16}", settings_hash({}))
