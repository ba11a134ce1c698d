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
from poollab.study.model import Study


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
    """List all conditions in the order of the study file."""
    return [
        Condition(workload, arm, limits)
        for workload in study.workloads
        for limits in study.limit_map
        for arm in study.arm_map
    ]


def ordered_cells(study: Study) -> list[Cell]:
    """
    List all cells in the order of execution.

    Each repeat is one shuffled pass over all conditions, so that drift of the host falls on all arms
    alike. A repeat's shuffle depends on the seed and its number only: a further repeat changes no
    earlier one.
    """
    cells: list[Cell] = []
    for repeat in range(1, study.repeats + 1):
        batch = sorted(conditions(study), key=lambda c: c.name)
        random.Random(f"poollab order {study.order.seed} {repeat}").shuffle(batch)  # noqa: S311 - an order, no secret
        cells += [Cell(condition, repeat) for condition in batch]
    return cells


def settings(study: Study, condition: Condition) -> dict[str, Any]:
    """
    Return everything that decides a measurement of this condition, as plain JSON values.

    Labels of arms and limits are left out on purpose: renaming is no new measurement, but the name of
    the workload seeds its arguments and therefore counts.
    """
    database, generator = study.limit_map[condition.limits]
    return {
        "method": METHOD_VERSION,
        "workload": {
            "name": condition.workload,
            **study.workload(condition.workload).model_dump(mode="json", exclude={"same"}),
        },
        "client": study.client,
        "arm": study.arm_map[condition.arm].model_dump(mode="json"),
        "limits": {"database": database.model_dump(mode="json"), "load_generator": generator.model_dump(mode="json")},
        "windows": study.windows.model_dump(mode="json"),
        "timeouts": study.timeouts.model_dump(mode="json"),
        "allowed_errors": study.allowed_errors,
        "database": {
            "major": study.database.major,
            "tables": {k: v.model_dump(mode="json") for k, v in sorted(study.database.tables.items())},
            "settings": dict(sorted(study.database.settings.items())),
        },
    }


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
    return [] if ours == theirs else [f"{at}: {theirs!r} in the results, {ours!r} now"]
