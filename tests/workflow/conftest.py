"""One finished study, made once; each test works on a copy of it."""

import sys
from pathlib import Path

import pytest

# importlib mode adds no test folder, and the builders lie in tests/support.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.project import TINY, Done, Project

#: A space, parentheses, a letter beyond ASCII and an apostrophe, which each broke some tool before.
NAME = "my study (ü) don't"


@pytest.fixture(scope="session")
def first_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Done]:
    """A copy in a folder with all that a name may hold, and how `snakemake --cores 1` ended there."""
    project = Project.copy(tmp_path_factory.mktemp("whole") / NAME, TINY)
    return project, project.run()


@pytest.fixture
def finished(first_run: tuple[Project, Done], tmp_path: Path) -> Project:
    """A copy of the finished study that a test may change."""
    project, done = first_run
    assert done.code == 0, done
    return project.fork(tmp_path / NAME)


@pytest.fixture
def fresh(tmp_path: Path) -> Project:
    """A copy in which nothing was measured."""
    return Project.copy(tmp_path / "fresh", TINY)


@pytest.fixture
def three(tmp_path: Path) -> Project:
    """A copy in which three cells are to be measured: one before a stop, one in it, one after it."""
    return Project.copy(tmp_path / "three", {**TINY, "pools": [1, 2, 3], "repeats": 1})
