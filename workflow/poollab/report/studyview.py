"""
The study as it was measured, from environment.json.

It is read as plain values and not validated again: a report must still render when a later version of
the study model asks for more than the recorded one held.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from poollab.report import requesttext, words


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
    def kind(self) -> str:
        """Kind of the study, which decides its analysis; one recorded before there were kinds is of the first."""
        return str(self.model.get("analysis") or "pool-size")

    @property
    def margin(self) -> float:
        """Equality margin as a share: differences within it count as the same."""
        return float(self.model.get("margin") or 0.05)

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

    def processes(self, arm: str) -> int:
        """Return how many load generator processes an arm has, each with a pool of its own."""
        return int(((self.model.get("arms") or {}).get(arm) or {}).get("processes") or 1)

    def clients(self) -> list[str]:
        """List the clients of the study: its own, and those that arms name for themselves."""
        arms = (self.model.get("arms") or {}).values()
        named = [arm.get("client") for arm in arms] or [None]
        return list(dict.fromkeys(str(name or self.model["client"]) for name in named))

    def workload(self, name: str) -> dict[str, Any]:
        """Return {sql, request, connections, arrivals, batch, rate_per_s, closed} with what it takes from another."""
        own = self.model["workloads"].get(name) or {}
        other = self.model["workloads"].get(own.get("same") or "") or {}
        schedules = own.get("arrivals") or other.get("arrivals") or {}
        kind, values = next(((k, v) for k, v in schedules.items() if v), ("", {}))
        return {**requesttext.request(own, other), **requesttext.arrivals(kind, values)}

    def levels(self, side: str) -> list[tuple[str, dict[str, Any]]]:
        """List the caps asked for on a side (`database`, `load_generator`) as (label of the limits, caps)."""
        base = self.model[side]["limits"]
        levels = self.model.get("limits")
        if not levels:
            return [("", base)]
        return [(label, _level(value, side, base)) for label, value in levels.items()]

    def windows_s(self, name: str) -> tuple[float, float]:
        """Return (warm-up, measurement) of a workload in seconds: its own where it has some, else the study's."""
        own = self.model["workloads"].get(name) or {}
        other = self.model["workloads"].get(own.get("same") or "") or {}
        given = own.get("windows") or other.get("windows") or {}
        windows = {**self.model["windows"], **{k: v for k, v in given.items() if v is not None}}
        return float(windows["warm_up_s"]), float(windows["measure_s"])

    def windows_text(self) -> str:
        """Say how long a run is: once where all workloads take the same, else workload by workload."""
        found: dict[str, list[str]] = {}
        for name in self.model["workloads"]:
            warm_up, measure = self.windows_s(name)
            found.setdefault(f"{warm_up:g} s of warm-up and {measure:g} s of measurement", []).append(name)
        if len(found) == 1:
            return next(iter(found))
        return "; ".join(f"{text} ({words.listed(names)})" for text, names in found.items())

    def least_s(self, cells: Iterable[str]) -> float:
        """Return how long the windows of these cells take together, in seconds; a cell is named workload.arm.repeat."""
        seconds = {name: sum(self.windows_s(name)) for name in self.model["workloads"]}
        return sum(next((s for name, s in seconds.items() if cell.startswith(f"{name}.")), 0.0) for cell in cells)


def _level(value: Any, side: str, base: dict[str, Any]) -> dict[str, Any]:
    if value == "none":
        return {**base, "cpus": None}
    return (value or {}).get(side) or base
