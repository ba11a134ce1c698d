"""Which folder takes a study's results, what of its place is recorded, and what `make clean-results` may remove."""

import json
from pathlib import Path

import pytest
from support.studies import plans, study

from poollab.errors import ConfigError
from poollab.session import plan_file
from poollab.session.cell import _stop
from poollab.session.clean import clean_results
from poollab.session.open import configured_results, open_session
from poollab.session.paths import Paths


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project with a machine file, results of one study, and a folder that is nobody's results."""
    (tmp_path / "config" / "studies").mkdir(parents=True)
    (tmp_path / "config" / "config.yaml").write_text("study: smoke\n", "utf-8")
    (tmp_path / "results" / "smoke" / "state").mkdir(parents=True)
    return tmp_path


@pytest.mark.parametrize(
    "name", ["..", ".", "/", "results/../..", ".git", ".snakemake/x", "a\0b", "a\nb", "\ud800", "x" * 300, "ü" * 200]
)
def test_results_go_into_a_visible_folder_of_the_project(project: Path, name: str) -> None:
    """No name leads outside, into another program's folder, or to a traceback."""
    with pytest.raises(ConfigError, match="must be a folder inside the project"):
        configured_results(project, "smoke", name)


def test_a_key_that_stands_twice_in_the_machine_file_is_refused(project: Path) -> None:
    """The last of two equal keys would win silently, and a threshold be another than the one that is read first."""
    (project / "config" / "config.yaml").write_text("lab: docker\nlab: embedded\n", "utf-8")
    with pytest.raises(ConfigError, match=r"config\.yaml: line 2, column 1: the key 'lab' stands twice"):
        open_session(project, {"lab": "embedded"}, looking=True)


def test_only_results_are_removed(project: Path) -> None:
    """A folder that no study wrote is not offered for removal, whatever the two names lead to."""
    with pytest.raises(ConfigError, match="there are no results in"):
        clean_results(project, "studies", ask=lambda _: True, results="config")
    assert (project / "config" / "studies").is_dir()


@pytest.mark.parametrize("yes", [True, False])
def test_results_are_removed_where_the_answer_is_yes(project: Path, yes: bool) -> None:  # noqa: FBT001
    """Nothing goes without a yes."""
    said = clean_results(project, "smoke", ask=lambda _: yes)
    assert (project / "results" / "smoke").exists() is not yes
    assert said.startswith("Removed" if yes else "Nothing was removed")


@pytest.mark.parametrize(
    ("file", "recorded"),
    [("../../home/me/private/mine.yaml", "mine.yaml"), ("config/studies/smoke.yaml", "config/studies/smoke.yaml")],
)
def test_a_record_names_no_folder_of_this_machine(tmp_path: Path, file: str, recorded: str) -> None:
    """Of a study file outside the project the records, and with them the report, hold its name only."""
    plan_file.write(tmp_path / "session.json", study(), "mine", file, plans())
    text = (tmp_path / "session.json").read_text("utf-8")
    assert json.loads(text)["study"]["file"] == recorded
    assert "private" not in text


def test_why_a_block_ended_names_no_folder_of_this_machine(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason stands in the published report, so paths in it begin at the project."""
    monkeypatch.chdir(project)
    reason = f"{Paths(Path('results/smoke').absolute()).calibration} does not hold what it should"
    _stop(project, reason, 2, "w.a.r1")
    found = json.loads((project / "stopped.json").read_text("utf-8"))
    assert found["reason"] == "results/smoke/state/calibration.json does not hold what it should"


@pytest.mark.parametrize("name", ["a{b}", "re{sults", "results/{cell}", "-out", "./-x/y"])
def test_names_that_the_workflow_would_misread_are_refused(project: Path, name: str) -> None:
    """Braces are wildcards to Snakemake, and a hyphen at the start is an option to a script."""
    with pytest.raises(ConfigError, match=r"without braces .* and with no hyphen at its start"):
        configured_results(project, "smoke", name)


@pytest.mark.parametrize("name", ["results-2", "out/-x", "results (2)"])
def test_names_that_only_look_odd_are_taken(project: Path, name: str) -> None:
    """A hyphen further on and what tests and people put into names is fine."""
    assert configured_results(project, "smoke", name) == project / name / "smoke"


def test_a_file_is_no_results_folder(project: Path) -> None:
    """A plain file in the place of the folder, or of one above it, is said before anything starts."""
    (project / "README.md").write_text("", "utf-8")
    for name in ("README.md", "README.md/deeper"):
        with pytest.raises(ConfigError, match=r"README\.md is a file"):
            configured_results(project, "smoke", name)


def test_a_study_path_with_braces_is_refused(project: Path) -> None:
    """The file is an input of the rules, where braces would be a wildcard."""
    (project / "config" / "studies" / "a{b}").mkdir()
    (project / "config" / "studies" / "a{b}" / "mine.yaml").write_text("title: x\n", "utf-8")
    with pytest.raises(ConfigError, match="must be a path without braces"):
        open_session(project, {"study": str(project / "config" / "studies" / "a{b}" / "mine.yaml")}, looking=True)
