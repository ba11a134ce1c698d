"""Rows of a pool benchmark, the pairs of arms that they compare, and when a difference is measured again."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from poollab.study.parts import Label, Part

Mode = Literal["async", "sync", "threads", "mixed"]
FamilyName = Literal[
    "cold-start-ramp",
    "rapid-fire",
    "single-caller",
    "steady-state",
    "saturated-threads",
    "random-hold",
    "mixed-modes",
    "many-commands",
    "exhaustion-recovery",
    "bursty-waves",
    "concurrent-opens",
    "single-open",
]

#: Contention and churn take 15 measured iterations, stress takes 20.
CHURN, STRESS = 15, 20


@dataclass(frozen=True, slots=True)
class Family:
    """What a family allows: modes, and how often it is measured."""

    modes: tuple[str, ...]
    iterations: int


_BOTH = ("async", "sync")
FAMILIES: dict[str, Family] = {
    "cold-start-ramp": Family(_BOTH, CHURN),
    "rapid-fire": Family(_BOTH, STRESS),
    "single-caller": Family(_BOTH, CHURN),
    "steady-state": Family(("async", "sync", "threads"), CHURN),
    "saturated-threads": Family(("sync",), CHURN),
    "random-hold": Family(_BOTH, STRESS),
    "mixed-modes": Family(("mixed",), STRESS),
    "many-commands": Family(_BOTH, STRESS),
    "exhaustion-recovery": Family(_BOTH, STRESS),
    "bursty-waves": Family(_BOTH, STRESS),
    "concurrent-opens": Family(_BOTH, CHURN),
    "single-open": Family(_BOTH, CHURN),
}


class Benchmark(Part):
    """One row: a closed loop of callers over a pool, whose iterations are timed as a whole."""

    family: FamilyName
    """What the callers do; workflow/poollab/load/families/work.py holds each family's check-out."""
    mode: Mode = "async"
    """async: tasks; sync: threads of an executor; threads: threads started inside the clock; mixed: half and half."""
    callers: Annotated[int, Field(ge=1, le=1000)] = 1
    """Callers at the same time; exhaustion-recovery takes at least twice the pool."""
    pool: Annotated[int, Field(ge=1, le=10_000)]
    """Largest number of connections; all are made before the clock starts, but in cold-start-ramp."""
    operations: Annotated[int, Field(ge=1, le=100_000)] = 1
    """Check-outs of each caller in each iteration (bursty-waves and concurrent-opens: in each wave)."""
    threads: Annotated[int, Field(ge=1, le=1000)] | None = None
    """saturated-threads: threads of the executor, all started before the clock; callers beyond them wait for one."""
    pipeline: bool = False
    """single-open: psycopg's pipeline mode is entered and left in each check-out."""
    iterations: Annotated[int, Field(ge=1, le=1000)] | None = None
    """Measured iterations; absent means 15 for contention and churn and 20 for stress."""
    warm_up_iterations: Annotated[int, Field(ge=0, le=100)] = 1
    """Iterations before the measured ones."""

    @model_validator(mode="after")
    def _fits_its_family(self) -> "Benchmark":
        faults = _row_faults(self)
        if faults:
            raise ValueError("; ".join(faults))
        return self

    @property
    def full(self) -> dict[str, Any]:
        """The row as plain values with every default filled in."""
        return {**self.model_dump(mode="json"), "iterations": self.iterations or FAMILIES[self.family].iterations}

    @property
    def kind(self) -> str:
        """Which pair of arms meets the row: async (also for mixed rows, with the sync pair beside it) or sync."""
        return "sync" if self.mode in {"sync", "threads"} else "async"


def _row_faults(row: Benchmark) -> list[str]:
    family, name = FAMILIES[row.family], row.family
    cold, alone = name == "cold-start-ramp", name in {"single-caller", "single-open"}
    wrong = {
        f"mode {row.mode} is none of {name}; allowed: {', '.join(family.modes)}": row.mode not in family.modes,
        f"{row.callers} callers hold a connection each, and pool is {row.pool}; raise pool or lower callers": cold
        and row.callers > row.pool,
        "operations must be 1, as each caller opens once": cold and row.operations != 1,
        f"{name} has 1 caller; remove callers": alone and row.callers != 1,
        "threads belongs to saturated-threads and must be given there, such as threads: 16": (
            name == "saturated-threads"
        )
        != (row.threads is not None),
        "pipeline belongs to single-open; remove it": row.pipeline and name != "single-open",
        "a mixed row needs 2 callers and a pool of 2": row.mode == "mixed" and min(row.callers, row.pool) < 2,
    }
    return [text for text, is_wrong in wrong.items() if is_wrong]


class Pair(Part):
    """Two arms that are compared."""

    baseline: Label
    """Arm whose time is divided."""
    candidate: Label
    """Arm whose time it is divided by: above 1 means that this one is faster."""

    @model_validator(mode="after")
    def _two(self) -> "Pair":
        if self.baseline == self.candidate:
            raise ValueError(f"baseline and candidate are both {self.baseline}; name equal pools as two arms")
        return self


class Pairs(Part):
    """The pairs that a benchmark compares; a row meets the pair of its mode, a mixed row both at once."""

    async_: Annotated[Pair | None, Field(alias="async")] = None
    """Arms whose client is asyncpg or psycopg-async."""
    sync: Pair | None = None
    """Arms whose client is psycopg-threads or sqlalchemy-threads."""

    @model_validator(mode="after")
    def _some(self) -> "Pairs":
        if self.async_ is None and self.sync is None:
            raise ValueError("give a pair of arms for async, for sync, or for both")
        return self

    def of(self, kind: str) -> Pair | None:
        """Return the pair of a kind of row."""
        return self.sync if kind == "sync" else self.async_


class Confirm(Part):
    """When a difference of the first pass is measured again, and what counts as confirmed."""

    threshold: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)] = 0.10
    """A ratio of means beyond 1 + threshold, or below its inverse, is a difference."""
    passes: Annotated[int, Field(ge=1, le=99)] = 3
    """Passes in all, an odd number; those after the first are measured only for pairs that differed in it."""

    @model_validator(mode="after")
    def _odd(self) -> "Confirm":
        if self.passes % 2 == 0:
            raise ValueError(f"passes = {self.passes}: an even number has ties; use an odd one")
        return self
