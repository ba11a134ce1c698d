"""Where packages are looked for by a study's name, and where a report made from one goes."""

import json
from pathlib import Path
from typing import Any

import pytest

from poollab.errors import ConfigError, DataError
from poollab.publish import package
from poollab.session.packages import of_study, place_for


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a machine file and nothing measured, as the present folder."""
    (tmp_path / "config" / "studies").mkdir(parents=True)
    (tmp_path / "config" / "config.yaml").write_text("results: out\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _package(folder: Path, environment: Any = None) -> Path:
    folder.mkdir(parents=True)
    (folder / "environment.json").write_text(json.dumps(environment), "utf-8")
    return folder


def test_a_studys_packages_are_found_by_its_name(root: Path) -> None:
    """Both the package in the results and the published copy are checked, as far as they exist."""
    _package(root / "out" / "mine" / "published")
    assert of_study(root, "mine") == [Path("out/mine/published")]
    _package(root / "reports" / "published" / "mine")
    assert of_study(root, "mine") == [Path("out/mine/published"), Path("reports/published/mine")]


def test_no_package_is_said_with_both_places(root: Path) -> None:
    """Who asks for a study that was not run is told where was looked and what to do."""
    with pytest.raises(ConfigError, match=r"no package in out/mine/published or reports/published/mine; run"):
        of_study(root, "mine")


@pytest.mark.parametrize("name", ["../up", "A", "", "a/b"])
def test_no_name_leaves_the_results(root: Path, name: str) -> None:
    """A name that is no label is refused before any folder is looked at."""
    with pytest.raises(ConfigError, match="FROM="):
        of_study(root, name)


def test_a_report_goes_beside_the_studies(root: Path) -> None:
    """The folder is named after the package's study, wherever the package lies, and is never the study's own."""
    package = _package(root / "elsewhere", {"study": {"name": "mine"}})
    assert place_for(root, package) == Path("out/from-mine")


@pytest.mark.parametrize("environment", [None, {}, {"study": {"name": "../../up"}}, {"study": "x"}])
def test_a_package_that_does_not_say_whose_it_is(root: Path, environment: Any) -> None:
    """Foreign words in a package decide about no folder here."""
    with pytest.raises(DataError, match="which study it is of"):
        place_for(root, _package(root / "elsewhere", environment))


def test_what_is_no_package_has_no_place(root: Path) -> None:
    """A folder without environment.json is no package, and is named."""
    with pytest.raises(DataError, match="is no package"):
        place_for(root, root)


def test_a_kill_while_packages_are_exchanged_leaves_no_mixture(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the moment, the place of a package holds the old one, the new one, or nothing; then the new one."""
    old, new = _package(root / "published", "old"), _package(root / ".published.part", "new")
    (old / "only-in-the-old-one").touch()

    def killed(*_: object, **__: object) -> None:
        found = {path.name for path in old.iterdir()} if old.exists() else set()
        seen.append(found)

    seen: list[set[str]] = []
    monkeypatch.setattr(package.shutil, "rmtree", killed)
    package._swap(new, old)
    assert seen == [{"environment.json", "only-in-the-old-one"}, {"environment.json"}]
    assert json.loads((old / "environment.json").read_text("utf-8")) == "new"
