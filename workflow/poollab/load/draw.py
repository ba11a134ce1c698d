"""Everything random about a run, drawn outside the cap before the clock starts."""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from poollab.load import arrivals


@dataclass(frozen=True, slots=True)
class Stimulus:
    """One window's schedule (ns from its first arrival) and one column of int64 for each placeholder."""

    times: arrivals.Schedule
    args: list[npt.NDArray[np.int64]]

    @property
    def digest(self) -> str:
        """Hash over schedule and arguments."""
        return arrivals.digest(self.times, self.args)


def draw(study: str, workload: dict[str, Any], repeat: int, phase: str, window_s: float) -> Stimulus:
    """
    Draw a window's stimulus from (study, workload, repeat) alone, so that it is the same for every arm.

    `phase` is warm-up or measure: the warm-up has draws of its own.
    """
    text = f"poollab stimulus {study}\0{workload['name']}\0{repeat}\0{phase}"
    rng = np.random.Generator(np.random.PCG64(int.from_bytes(hashlib.sha256(text.encode()).digest()[:16])))
    times = arrivals.schedule(workload["arrivals"], window_s, rng)
    columns = [
        rng.integers(a["int"][0], a["int"][1], len(times), dtype=np.int64, endpoint=True)
        for a in workload["args"] or []
    ]
    return Stimulus(times, columns)
