"""Why a load generator ended: killed for memory is said with the key that raises its cap."""

import os
from pathlib import Path
from typing import Any

import pytest

from poollab.errors import MeasurementError
from poollab.run.dialogue import Dialogue


class Dead:
    """A process that has ended."""

    def __init__(self, code: int, *, killed: bool, said: str = "") -> None:
        self._code, self._killed, self._said = code, killed, said

    def poll(self) -> int:
        """Give the exit code."""
        return self._code

    def errors(self) -> str:
        """Give what it wrote."""
        return self._said

    def killed_for_memory(self) -> bool:
        """Tell what the kernel counted."""
        return self._killed


@pytest.mark.parametrize(
    ("process", "said"),
    [
        (Dead(-9, killed=True), "for want of memory; raise load_generator.limits.memory_mib"),
        (Dead(137, killed=True), "for want of memory; raise load_generator.limits.memory_mib"),
        (Dead(-9, killed=False), "ended with -9 before connected: no message"),
        (Dead(1, killed=True, said="Traceback\nMemoryError: pool"), "ended with 1 before connected: MemoryError: pool"),
    ],
)
def test_a_death_has_its_cause(tmp_path: Path, process: Any, said: str) -> None:
    """Only a kill that the kernel counted as one for memory is called so; other ends keep their last line."""
    dialogue = Dialogue(tmp_path)
    dialogue.process = process
    writer = os.open(tmp_path / "events", os.O_WRONLY)
    try:
        with pytest.raises(MeasurementError) as caught:
            dialogue.expect("connected", 1.0)
    finally:
        os.close(writer)
        dialogue.close()
    assert said in str(caught.value)
