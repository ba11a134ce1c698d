"""Benchmarks in a study file: rows, pairs, order and the messages about their faults."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from poollab.errors import ConfigError
from poollab.plan import Condition, ordered_cells, settings
from poollab.study.files import load_study
from poollab.study.model import Study

STUDIES = Path(__file__).resolve().parents[2] / "config" / "studies"
#: Rows of each family in the whole benchmark, as its source counts them.
ROWS = {
    "cold-start-ramp": 8,
    "rapid-fire": 8,
    "single-caller": 6,
    "steady-state": 15,
    "saturated-threads": 4,
    "random-hold": 4,
    "mixed-modes": 4,
    "many-commands": 4,
    "exhaustion-recovery": 4,
    "bursty-waves": 4,
    "concurrent-opens": 3,
    "single-open": 4,
}
BASE: dict[str, Any] = {
    "title": "Which pool?",
    "analysis": "pool-implementations",
    "database": {"tables": {"t": {"rows": 10}}, "settings": {"max_connections": 60}},
    "arms": {
        "a": {"client": "psycopg-async", "size": 50},
        "b": {"client": "asyncpg", "size": 50},
        "c": {"client": "psycopg-threads", "size": 50},
        "d": {"client": "sqlalchemy-threads", "size": 50},
    },
    "pairs": {"async": {"baseline": "a", "candidate": "b"}, "sync": {"baseline": "c", "candidate": "d"}},
    "workloads": {
        "fast": {"benchmark": {"family": "rapid-fire", "callers": 10, "pool": 50, "operations": 20}},
        "slow": {"benchmark": {"family": "steady-state", "mode": "threads", "callers": 10, "pool": 20}},
        "both": {"benchmark": {"family": "mixed-modes", "mode": "mixed", "callers": 10, "pool": 50}},
    },
}


def study(tmp_path: Path, **changes: Any) -> Study:
    """Load BASE with some top-level keys in another form; None removes a key."""
    path = tmp_path / "s.yaml"
    path.write_text(yaml.safe_dump({k: v for k, v in {**BASE, **changes}.items() if v is not None}), "utf-8")
    return load_study(path)


def said(tmp_path: Path, **changes: Any) -> str:
    """Return the message about a study that is refused."""
    with pytest.raises(ConfigError) as caught:
        study(tmp_path, **changes)
    return str(caught.value)


@pytest.mark.parametrize("name", ["pool-implementations", "aa-pools"])
def test_the_shipped_studies_hold_all_68_rows(name: str) -> None:
    """Every family with as many rows as its source has, with 15 iterations for contention and churn, 20 for stress."""
    made = load_study(STUDIES / f"{name}.yaml")
    rows = [own.benchmark.full for own in made.workloads.values() if own.benchmark]
    assert Counter(row["family"] for row in rows) == ROWS
    stress = {"rapid-fire", "random-hold", "mixed-modes", "many-commands", "exhaustion-recovery", "bursty-waves"}
    assert all(row["iterations"] == (20 if row["family"] in stress else 15) for row in rows)
    assert len(ordered_cells(made)) == 68 * 2 * 3


def test_the_reset_study_compares_asyncpg_with_itself() -> None:
    """asyncpg-reset differs in the reset alone, and takes all asynchronous rows."""
    made = load_study(STUDIES / "asyncpg-reset.yaml")
    arms = [settings(made, Condition("rapid-fire-10-50-async", arm, ""))["arm"] for arm in ("reset-on", "reset-off")]
    assert {k for k in {**arms[0], **arms[1]} if arms[0].get(k) != arms[1].get(k)} == {"reset"}
    assert all(own.benchmark and own.benchmark.mode == "async" for own in made.workloads.values())


def test_arms_of_a_row_follow_one_another_in_either_order(tmp_path: Path) -> None:
    """Within a repeat each row's two arms are neighbours, rows are shuffled, and neither arm is always first."""
    cells = ordered_cells(study(tmp_path, repeats=9))
    firsts: Counter[str] = Counter()
    for one, other in zip(cells[::2], cells[1::2], strict=True):
        assert (one.condition.workload, one.repeat) == (other.condition.workload, other.repeat)
        assert one.condition.arm != other.condition.arm
        firsts[one.condition.arm] += 1
    assert set(firsts) == {"a", "b", "c", "d"}
    orders = [[c.condition.workload for c in cells[i : i + 6 : 2]] for i in range(0, len(cells), 6)]
    assert len({tuple(order) for order in orders}) > 1
    assert all(sorted(order) == ["both", "fast", "slow"] for order in orders)


def test_a_row_decides_the_size_of_the_pool(tmp_path: Path) -> None:
    """The arm's own size is an upper bound only; a mixed row names the arm that runs beside it."""
    made = study(tmp_path)
    assert settings(made, Condition("slow", "d", ""))["arm"]["size"] == 20
    beside = {arm: settings(made, Condition("both", arm, ""))["partner"]["client"] for arm in ("a", "b")}
    assert beside == {"a": "psycopg-threads", "b": "sqlalchemy-threads"}


def test_pairs_and_confirmation_are_no_part_of_a_cells_identity(tmp_path: Path) -> None:
    """Another threshold measures nothing again."""
    one, other = study(tmp_path), study(tmp_path, confirm={"threshold": 0.2, "passes": 3})
    where = Condition("fast", "a", "")
    assert settings(one, where) == settings(other, where)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"pairs": None}, ("pairs: give either pairs, or baseline and candidate",)),
        ({"baseline": "a"}, ("pairs: give either pairs, or baseline and candidate",)),
        ({"pairs": None, "baseline": "a", "candidate": "a"}, ("candidate = a: is the baseline too",)),
        ({"pairs": {"async": {"baseline": "a", "candidate": "a"}}}, ("baseline and candidate are both a",)),
        ({"pairs": {"async": {"baseline": "a", "candidate": "x"}}}, ("pairs.async.candidate = x", "a, b, c, d")),
        ({"pairs": {"async": {"baseline": "a", "candidate": "c"}}}, ("its client is psycopg-threads", "asyncpg")),
        ({"pairs": {"async": BASE["pairs"]["async"]}}, ("workloads.slow.benchmark.mode = threads", "sync")),
        ({"repeats": 2, "confirm": {"passes": 3}}, ("repeats = 2", "confirm.passes is 3")),
        ({"repeats": 4, "confirm": {"passes": 4}}, ("passes = 4", "odd")),
        ({"analysis": "pool-size"}, ("analysis = pool-size", "pool-implementations")),
        ({"arms": {**BASE["arms"], "a": {"client": "psycopg-async", "size": 20}}}, ("pool = 50", "arms.a.size is 20")),
        (
            {"arms": {**BASE["arms"], "a": {"client": "psycopg-async", "size": 50, "processes": 2}}},
            ("arms.a.processes",),
        ),
        (
            {"arms": {**BASE["arms"], "a": {"client": "psycopg-async", "size": 50, "compute_in": "processes"}}},
            ("arms.a.compute_in",),
        ),
        (
            {"workloads": {"w": {"sql": "SELECT 1", "benchmark": {"family": "rapid-fire", "pool": 5}}}},
            ("workloads.w.sql: stands beside benchmark",),
        ),
        (
            {"arms": {**BASE["arms"], "a": {"client": "psycopg-async", "size": 50, "min_size": 5}}},
            ("arms.a.min_size: no row is of cold-start-ramp",),
        ),
        (
            {
                "arms": {**BASE["arms"], "a": {"client": "psycopg-async", "size": 50, "min_size": 5}},
                "workloads": {"w": {"benchmark": {"family": "cold-start-ramp", "callers": 2, "pool": 4}}},
            },
            ("workloads.w.benchmark.pool = 4: arms.a.min_size is 5; lower it to at most 4",),
        ),
        (
            {"arms": {**BASE["arms"], "d": {"client": "sqlalchemy-threads", "size": 50, "min_size": 5}}},
            ("arms.d.min_size: sqlalchemy-threads has no such setting",),
        ),
    ],
)
def test_faults_are_said_with_path_and_way_out(tmp_path: Path, changes: dict[str, Any], words: tuple[str, ...]) -> None:
    """What a benchmark needs and does not have is one clear sentence."""
    text = said(tmp_path, **changes)
    assert all(word in text for word in words), text


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"family": "rapid-fire", "mode": "mixed"}, "mode mixed is none of rapid-fire; allowed: async, sync"),
        ({"family": "cold-start-ramp", "callers": 60}, "60 callers hold a connection each, and pool is 50"),
        ({"family": "single-caller", "callers": 2}, "single-caller has 1 caller"),
        ({"family": "saturated-threads", "mode": "sync"}, "threads belongs to saturated-threads and must be given"),
        ({"family": "rapid-fire", "threads": 4}, "threads belongs to saturated-threads"),
        ({"family": "rapid-fire", "pipeline": True}, "pipeline belongs to single-open"),
    ],
)
def test_a_row_must_fit_its_family(tmp_path: Path, row: dict[str, Any], words: str) -> None:
    """A row that its family cannot do is refused before anything starts."""
    assert words in said(tmp_path, workloads={"w": {"benchmark": {"pool": 50, **row}}})


def test_resets_and_checks_are_settings_of_every_pool_that_has_them(tmp_path: Path) -> None:
    """A benchmark may ask psycopg's pools to reset and any pool to check; the row's identity holds what it asks."""
    arms = {label: {**arm, "check": True} for label, arm in BASE["arms"].items()}
    arms |= {label: {**arms[label], "reset": True} for label in ("a", "c")}
    made = study(tmp_path, arms=arms)
    assert [made.arm_map[label].check for label in "abcd"] == [True] * 4
    assert "arms.d.reset: sqlalchemy-threads has no such setting" in said(
        tmp_path, arms={**arms, "d": {**arms["d"], "reset": True}}
    )


def test_other_studies_use_nothing_of_benchmarks(tmp_path: Path) -> None:
    """A client that only benchmarks can drive is refused where requests are sent by a schedule."""
    text = said(
        tmp_path,
        arms={
            **BASE["arms"],
            "b": {"client": "asyncpg", "size": 50, "min_size": 1, "check": True},
            "c": {"client": "psycopg-threads", "size": 50, "reset": True},
        },
        workloads={"w": {"sql": "SELECT 1", "arrivals": {"uniform": {"every_ms": 5}}}},
    )
    assert "arms.b.min_size: belongs to benchmarks (cold-start-ramp)" in text
    assert "arms.b.check: asyncpg has no such setting outside benchmarks; remove it, or take one of: psycopg" in text
    assert "arms.c.reset: psycopg-threads has no such setting outside benchmarks; remove it, or take one of" in text
    assert "pairs: belongs to a study whose workloads are benchmarks" in text
    assert "arms.d.client = sqlalchemy-threads: serves benchmarks only" in text
    assert "analysis = pool-implementations: compares benchmarks" in text
