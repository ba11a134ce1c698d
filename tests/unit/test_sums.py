"""Tables and pages that were damaged after they were made are found before they are published."""

from pathlib import Path

import pytest

from poollab.data import sums
from poollab.session import check
from poollab.session.paths import Paths
from poollab.stats import collect

NAMES = ("conditions.csv", "runs.parquet")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A study's results with two tables and a page, all noted."""
    (tmp_path / "state").mkdir()
    (tmp_path / "report").mkdir()
    for name in (*NAMES, "report/index.html"):
        (tmp_path / name).write_bytes(name.encode() * 100)
    sums.note(tmp_path, "tables", NAMES)
    sums.note(tmp_path, "html", ["report/index.html"])
    return tmp_path


def test_what_is_as_it_was_made_stays(results: Path) -> None:
    """Whole files are no damage, and one that is missing is made again without our help."""
    assert check.drop_damaged(Paths(results)) == []
    (results / "runs.parquet").unlink()
    assert sums.differing(results) == []


@pytest.mark.parametrize("name", [*NAMES, "report/index.html"])
@pytest.mark.parametrize("damage", [lambda b: b[:-8], lambda b: b[:-200], lambda b: b"x" + b[1:], lambda _: b""])
def test_a_damaged_file_goes_and_is_named(results: Path, name: str, damage: object) -> None:
    """Bytes that are missing or others than were written: that file is removed, and no other one."""
    path = results / name
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    (line,) = check.drop_damaged(Paths(results))
    assert str(path) in line
    assert "made again" in line
    assert not path.exists()
    assert sum((results / other).exists() for other in (*NAMES, "report/index.html")) == 2
    assert check.drop_damaged(Paths(results)) == []


def test_a_damaged_note_stops_nothing(results: Path) -> None:
    """A note that a crash left empty tells nothing of its files; the other notes still do."""
    (results / "state" / "sums" / "tables.json").write_bytes(b"")
    (results / "report" / "index.html").write_text("other", "utf-8")
    assert sums.differing(results) == [results / "report" / "index.html"]


def test_a_package_gets_no_note(tmp_path: Path) -> None:
    """A folder that is no study's results, as a package that a report is made from, stays as it is."""
    (tmp_path / "runs.csv").write_text("a", "utf-8")
    sums.note(tmp_path, "tables", ["runs.csv"])
    assert [path.name for path in tmp_path.iterdir()] == ["runs.csv"]


def test_the_rule_makes_what_is_noted() -> None:
    """What is removed when it is damaged is an output of the rule that makes it, so Snakemake makes it again."""
    rule = (Path(__file__).resolve().parents[2] / "workflow" / "rules" / "analyse.smk").read_text("utf-8")
    assert [name for name in collect.MADE if f'"{name}"' not in rule and f"/{name}" not in rule] == []


def test_the_package_is_made_anew_with_the_table(results: Path) -> None:
    """The workflow's target goes along: it is there already, and nothing before it would be missed."""
    target = Paths(results).package
    target.parent.mkdir()
    target.write_text("", "utf-8")
    check.drop_damaged(Paths(results))
    assert target.exists()
    (results / "runs.parquet").write_bytes(b"")
    check.drop_damaged(Paths(results))
    assert not target.exists()
