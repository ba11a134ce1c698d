"""Everything random about a run, drawn outside the cap before the clock starts."""

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from poollab.load import arrivals

Column = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Stimulus:
    """
    One window's schedule and every drawn quantity, each a column of int64, and the steps that read them.

    A step is {"do": "query", "sql", "args": [column numbers], "times": column or None} or {"do": "hold", "compute" or
    "wait", "ns": column}; column 0 is the schedule (ns from the first arrival).
    """

    times: arrivals.Schedule
    args: list[Column]
    """Columns 1 and following."""
    steps: list[dict[str, Any]] = field(default_factory=list)

    @property
    def digest(self) -> str:
        """Hash over all columns."""
        return arrivals.digest(self.times, self.args)


def draw(
    study: str,
    workload: dict[str, Any],
    repeat: int,
    phase: str,
    window_s: float,
    calibration: dict[str, Any] | None = None,
) -> Stimulus:
    """
    Draw a window's stimulus from (study, workload, repeat) alone, so that it is the same for every arm.

    `phase` is warm-up or measure: the warm-up has draws of its own. `calibration` holds what was found on this
    machine: capacity_per_s, and for each calibrated argument its value by the step's number and the argument's.
    """
    found = calibration or {}
    text = f"poollab stimulus {study}\0{workload['name']}\0{repeat}\0{phase}"
    rng = np.random.Generator(np.random.PCG64(int.from_bytes(hashlib.sha256(text.encode()).digest()[:16])))
    declared = arrivals.warm_up(workload["arrivals"]) if phase == "warm-up" else workload["arrivals"]
    times = arrivals.schedule(declared, window_s, rng, found.get("capacity_per_s"))
    columns: list[Column] = []

    def keep(column: Column) -> int:
        columns.append(column)
        return len(columns)

    steps = []
    for number, step in enumerate(workload["request"]):
        ((do, part),) = step.items()
        if do == "query":
            places = [
                keep(_argument(arg, len(times), rng, found, f"{number}.{place}"))
                for place, arg in enumerate(part["args"])
            ]
            often = _times(part, len(times), rng)
            steps.append(
                {"do": do, "sql": part["sql"], "args": places, "times": None if often is None else keep(often)}
            )
        else:
            steps.append({"do": do, "ns": keep(_lasting(part, len(times), rng))})
    return Stimulus(times, columns, steps)


def _argument(arg: dict[str, Any], count: int, rng: np.random.Generator, found: dict[str, Any], key: str) -> Column:
    if "int" in arg:
        return rng.integers(arg["int"][0], arg["int"][1], count, dtype=np.int64, endpoint=True)
    if key not in found.get("arguments", {}):
        raise ValueError(f"argument {key} is to be found by calibration, and was not")
    return np.full(count, found["arguments"][key], dtype=np.int64)


def _times(part: dict[str, Any], count: int, rng: np.random.Generator) -> Column | None:
    """Draw how often each request executes the statement: None means once for every one, 0 that it skips it."""
    often, share = part.get("times", 1), part.get("share", 1.0)
    if often == 1 and share == 1.0:
        return None
    low, high = often if isinstance(often, list) else (often, often)
    drawn = rng.integers(low, high, count, dtype=np.int64, endpoint=True)
    return np.asarray(np.where(rng.random(count) < share, drawn, 0), dtype=np.int64)


def _lasting(part: dict[str, Any], count: int, rng: np.random.Generator) -> Column:
    """Draw how long a step lasts for each request, in ns; 0 for those that do not do it."""
    low, high = part["ms"] if isinstance(part["ms"], list) else (part["ms"], part["ms"])
    drawn = rng.integers(round(low * 1e6), round(high * 1e6), count, dtype=np.int64, endpoint=True)
    if "at" in part:
        done = np.isin(np.arange(1, count + 1), part["at"])
        drawn = np.asarray(np.where(done, drawn, 0), dtype=np.int64)
    return drawn
