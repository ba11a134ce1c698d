"""The embedded lab that most tests share, and the rule for tests that need a cgroup."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
# importlib mode adds no test folder, and the builders lie in tests/support.
sys.path.insert(0, str(TESTS))

from support import labs  # noqa: E402

from poollab.lab.embedded import EmbeddedLab  # noqa: E402


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let a server outlive the object that started it: it is meant to, and is ended by its record."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning"))


@pytest.fixture(scope="session")
def lab() -> Iterator[EmbeddedLab]:
    """A running server with 2,000 rows, capped at half a core where this user may."""
    with labs.running() as made:
        yield made


@pytest.fixture
def capped_lab(lab: EmbeddedLab) -> EmbeddedLab:
    """The same where caps can be enforced; skipped elsewhere, unless POOLLAB_REQUIRE_CAPS=1 forbids that."""
    if not labs.capped(lab):
        reason = f"no caps here: {lab.record.detail['caps_note']}"
        if os.environ.get("POOLLAB_REQUIRE_CAPS") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return lab


@pytest.fixture
def meddle() -> Iterator[Callable[..., "subprocess.Popen[bytes]"]]:
    """Start a process that does something bad to a server while a cell is measured."""
    started = []

    def start(what: str, lab: EmbeddedLab, count: int, after_s: float, for_s: float = 0.0) -> "subprocess.Popen[bytes]":
        words = [what, lab.record.folder, str(count), str(after_s), str(for_s)]
        started.append(subprocess.Popen([sys.executable, str(TESTS / "support" / "meddle.py"), *words]))
        return started[-1]

    yield start
    for process in started:
        assert process.wait(30) == 0
