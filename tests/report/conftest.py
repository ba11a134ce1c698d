"""Folders and fixtures of the report's tests."""

import sys
from pathlib import Path

import pytest

# importlib mode puts no test folder on the path, and the builder of fake results lies beside the tests.
sys.path.insert(0, str(Path(__file__).resolve().parent))

from fake_results import write
from fake_study import Fake

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def templates() -> Path:
    """Folder of the real templates."""
    return ROOT / "reports" / "templates"


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Plain results: 3 workloads, 3 pools, 3 repeats, all runs ok, one block."""
    return write(tmp_path_factory.mktemp("plain") / "pool-size", Fake())
