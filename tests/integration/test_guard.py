"""The guard in a real run: a neighbour that takes the CPU ends it, in words that help."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import facts, labs, studies

from poollab.errors import SafetyStop
from poollab.lab.embedded import EmbeddedLab
from poollab.run.cell import measure

BURN = "import time\nend = time.monotonic() + 30\nwhile time.monotonic() < end: pass  # hunter2"


@pytest.fixture
def neighbour() -> Iterator[None]:
    """A process that keeps a CPU busy and has a secret among its arguments."""
    process = subprocess.Popen([sys.executable, "-ISc", BURN])
    yield
    process.kill()
    process.wait()


@pytest.mark.usefixtures("neighbour")
@pytest.mark.parametrize(("warm_up_s", "phase"), [(6.0, "the warm-up"), (0.2, "the measurement")])
def test_a_neighbour_ends_the_run(lab: EmbeddedLab, tmp_path: Path, warm_up_s: float, phase: str) -> None:
    """The run ends within its window, nothing of it is kept, and phase and busiest other process are named."""
    windows = {"warm_up_s": warm_up_s, "measure_s": 8}
    sql = "SELECT balance FROM pool_lab WHERE id = $1"
    plan = studies.one_cell(sql, {"uniform": {"every_ms": 20}}, {"windows": windows})
    guard = labs.guard(lab, other_cpu=0.1, window_s=0.8)
    with pytest.raises(SafetyStop) as stop:
        measure(lab, plan, tmp_path / "cell", 1, guard, enforced=labs.capped(lab))
    busiest = r"the busiest of them just now is process (\d+) \(\S.*\) with \d\.\d\d CPUs"
    found = re.search(rf"others use .* during {phase}; {busiest}", str(stop.value))
    assert found, str(stop.value)
    assert int(found[1]) not in facts.processes_in(lab.record.folder), "our own server is no neighbour"
    assert "hunter2" not in str(stop.value)
    assert bool(stop.value.samples) is (phase == "the measurement")
    assert not (tmp_path / "cell").exists()
    assert labs.sessions_of(lab) == 0
