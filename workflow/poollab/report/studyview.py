"""
The study as it was measured, from environment.json.

It is read as plain values and not validated again: a report must still render when a later version of
the study model asks for more than the recorded one held.
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class StudyView:
    """Labels, orders and texts of one recorded study."""

    name: str
    file: str
    title: str
    model: dict[str, Any]

    @classmethod
    def of(cls, environment: dict[str, Any]) -> "StudyView":
        """Take the study out of environment.json."""
        study = environment["study"]
        return cls(study["name"], study["file"], study["title"], study["model"])

    @property
    def arms(self) -> dict[str, int]:
        """Pool size by arm label, in the order of the study file."""
        arms = self.model.get("arms")
        if arms:
            return {label: int(arm["size"]) for label, arm in arms.items()}
        return {f"pool-{size}": int(size) for size in self.model.get("pools") or []}

    def arm_rank(self, arm: str) -> int:
        """Place of an arm in the study file; behind all others where the study does not name it."""
        return list(self.arms).index(arm) if arm in self.arms else len(self.arms)

    def rank(self, key: str, label: str) -> int:
        """Place of a label in a mapping of the study file."""
        labels = list(self.model.get(key) or {})
        return labels.index(label) if label in labels else len(labels)

    def arm_label(self, arm: str, size: int) -> str:
        """Return how a pool is called: by its size alone, or by label and size where it has a label of its own."""
        return str(size) if arm == f"pool-{size}" else f"{arm} ({size})"

    def workload(self, name: str) -> dict[str, Any]:
        """Return {sql, arrivals, batch, rate_per_s} of a workload, with what it takes from another."""
        own = self.model["workloads"].get(name) or {}
        other = self.model["workloads"].get(own.get("same") or "") or {}
        kind, values = next(((k, v) for k, v in (own.get("arrivals") or {}).items() if v), ("", {}))
        return {"sql": own.get("sql") or other.get("sql") or "", **_arrivals(kind, values)}

    def levels(self, side: str) -> list[tuple[str, dict[str, Any]]]:
        """List the caps asked for on a side (`database`, `load_generator`) as (label of the limits, caps)."""
        base = self.model[side]["limits"]
        levels = self.model.get("limits")
        return [(k, (v or {}).get(side) or base) for k, v in levels.items()] if levels else [("", base)]

    @property
    def window_s(self) -> tuple[float, float]:
        """Return (warm-up, measurement) in seconds."""
        windows = self.model["windows"]
        return float(windows["warm_up_s"]), float(windows["measure_s"])


def _arrivals(kind: str, values: dict[str, Any]) -> dict[str, Any]:
    if kind == "uniform":
        every = float(values["every_ms"])
        return {"arrivals": f"1 every {every:g} ms", "batch": 1, "rate_per_s": 1000 / every}
    if kind == "bursts":
        every, size = float(values["every_ms"]), int(values["size"])
        return {"arrivals": f"{size} every {every:g} ms", "batch": size, "rate_per_s": 1000 * size / every}
    if kind == "poisson":
        rate = float(values["rate_per_s"])
        return {"arrivals": f"Poisson, mean {rate:g} per second", "batch": 1, "rate_per_s": rate}
    return {"arrivals": kind or "unknown", "batch": 1, "rate_per_s": None}
