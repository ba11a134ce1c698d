"""
Conditions, cells and their random order, from a study alone (pure: no clock, no file, no machine).

Settings are identity: everything that decides a measurement is in a cell's `settings`, and their
hash stands in each run's record.
"""

import hashlib
import json
import random
from dataclasses import dataclass
from typing import Any

from poollab import METHOD_VERSION
from poollab.study import pairing
from poollab.study.model import Study
from poollab.study.parts import Part


@dataclass(frozen=True, slots=True)
class Condition:
    """A workload under an arm and a set of limits; `limits` is empty where the study names no levels."""

    workload: str
    arm: str
    limits: str

    @property
    def name(self) -> str:
        """The labels, joined by a dot (which no label holds)."""
        return ".".join(part for part in (self.workload, self.arm, self.limits) if part)


@dataclass(frozen=True, slots=True)
class Cell:
    """One thing to measure: a condition in one repeat (counted from 1)."""

    condition: Condition
    repeat: int

    @property
    def name(self) -> str:
        """Folder name of the cell's results."""
        return f"{self.condition.name}.r{self.repeat}"


def conditions(study: Study) -> list[Condition]:
    """List all conditions in the order of the study file; a workload with `only` meets the arms that it names."""
    return [
        Condition(workload, arm, limits)
        for workload in study.workloads
        for limits in study.limit_map
        for arm in study.met_by(workload)
    ]


def ordered_cells(study: Study) -> list[Cell]:
    """
    List all cells in the order of execution.

    Each repeat is one shuffled pass over all conditions, so that drift of the host falls on all arms
    alike. In a benchmark the rows are shuffled and the two arms of a row follow one another, in either
    order. A repeat's shuffle depends on the seed and its number only: a further repeat changes no
    earlier one.
    """
    cells: list[Cell] = []
    for repeat in range(1, study.repeats + 1):
        batch = sorted(conditions(study), key=lambda c: c.name)
        rng = random.Random(f"poollab order {study.order.seed} {repeat}")  # noqa: S311 - an order, no secret
        rng.shuffle(batch)
        if pairing.rows(study):
            # The first arm of a row brings the other one along: a stable sort by where each row begins.
            begins = {(c.workload, c.limits): place for place, c in reversed(list(enumerate(batch)))}
            batch.sort(key=lambda c: begins[c.workload, c.limits])
        cells += [Cell(condition, repeat) for condition in batch]
    return cells


def settings(study: Study, condition: Condition) -> dict[str, Any]:
    """
    Return everything that decides a measurement of this condition, as plain JSON values.

    Labels of arms and limits are left out on purpose: renaming is no new measurement, but the name of
    the workload seeds its arguments and therefore counts. What only the report needs (analysis, margin,
    title) is left out too. Both ways of writing a request, and what is left to a default, come out the same.
    """
    workload = study.workload(condition.workload)
    capacity = workload.arrivals is not None and workload.arrivals.needs_capacity
    return {
        "method": METHOD_VERSION,
        "workload": {
            "name": condition.workload,
            "request": [plain(step) for step in workload.steps],
            "arrivals": plain(workload.arrivals) if workload.arrivals else {},
            "trace_memory": bool(workload.trace_memory),
            **({"benchmark": workload.benchmark.full} if workload.benchmark else {}),
        },
        **_partner(study, condition),
        **(_calibration(study) if capacity else {}),
        "client": study.client_of(condition.arm),
        "arm": _arm(study, condition),
        "limits": _limits(study, condition.limits),
        "windows": study.windows_of(condition.workload).model_dump(mode="json"),
        "timeouts": study.timeouts.model_dump(mode="json"),
        "allowed_errors": study.allowed_errors,
        "database": {
            "major": study.database.major,
            "tables": {k: v.model_dump(mode="json") for k, v in sorted(study.database.tables.items())},
            "settings": dict(sorted(study.database.settings.items())),
        },
    }


def _calibration(study: Study) -> dict[str, Any]:
    """Return the rules for finding the capacity; it is found under the first level of limits, for all of them."""
    return {"calibration": {**plain(study.calibration), "limits": _limits(study, next(iter(study.limit_map)))}}


def _limits(study: Study, level: str) -> dict[str, Any]:
    database, generator = study.limit_map[level]
    return {"database": database.model_dump(mode="json"), "load_generator": generator.model_dump(mode="json")}


def _arm(study: Study, condition: Condition) -> dict[str, Any]:
    """Return an arm's settings with the threads that it has for this workload, or with the size of a row's pool."""
    own = {k: v for k, v in plain(study.arm_map[condition.arm]).items() if k != "client"}
    row = study.workload(condition.workload).benchmark
    if row is not None:
        return {**own, "size": row.pool}
    threads = study.threads_of(condition.workload, condition.arm)
    key = "executor" if study.client_of(condition.arm) == "psycopg-executor" else "threads"
    return own if threads is None else {**own, key: threads}


def _partner(study: Study, condition: Condition) -> dict[str, Any]:
    """Return the synchronous arm that a mixed row runs beside this one; nothing for any other workload."""
    row = study.workload(condition.workload).benchmark
    other = None if row is None else pairing.partner(study, row, condition.arm)
    if row is None or other is None:
        return {}
    own = {k: v for k, v in plain(study.arm_map[other]).items() if k != "client"}
    return {"partner": {"client": study.client_of(other), "pool": {**own, "size": row.pool}}}


def plain(part: Part) -> dict[str, Any]:
    """Return a part as plain JSON values by the names of the file, without what is absent."""
    return part.model_dump(mode="json", by_alias=True, exclude_none=True)


def settings_hash(values: dict[str, Any]) -> str:
    """Return 16 hex digits that are equal exactly when the settings are."""
    text = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def differing_keys(ours: Any, theirs: Any, at: str = "") -> list[str]:
    """Name each key at which two settings differ, with both values."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        keys = sorted(set(ours) | set(theirs))
        absent = "(absent)"
        return [
            line
            for key in keys
            for line in differing_keys(ours.get(key, absent), theirs.get(key, absent), f"{at}.{key}" if at else key)
        ]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        pairs = enumerate(zip(ours, theirs, strict=True))
        return [line for i, (one, two) in pairs for line in differing_keys(one, two, f"{at}[{i}]")]
    return [] if ours == theirs else [f"{at}: {theirs!r} in the results, {ours!r} now"]
