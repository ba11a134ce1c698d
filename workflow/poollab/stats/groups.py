"""What is compared: the arms of one workload under one set of limits, the smallest pool first."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from poollab.stats.compare import Value

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ArmRuns:
    """An arm's runs of one workload under one set of limits."""

    label: str
    size: int
    planned: int
    ok: tuple[Row, ...]
    """Rows of RUNS with status ok, by repeat."""
    bad: tuple[Row, ...]
    """The others."""
    besides: str = ""
    """What the study sets for the arm besides its size; arms of `pools` have nothing else."""
    processes: int = 1
    """Generator processes; each has a pool of this size."""

    def values(self, column: str, support: str | None = None, least: int = 10) -> dict[int, Value]:
        """Return a column by repeat, without runs where it is missing or has too few requests beyond it."""
        return {
            int(run["repeat"]): Value(float(run[column]), int(run["block"]))
            for run in self.ok
            if run.get(column) is not None and (support is None or (run.get(support) or 0) >= least)
        }


@dataclass(frozen=True, slots=True)
class Group:
    """The arms that are compared with each other; the first is the baseline."""

    workload: str
    limits: str
    arms: tuple[ArmRuns, ...]

    @property
    def label(self) -> str:
        """How the group is called in sentences."""
        return f"{self.workload} ({self.limits})" if self.limits else self.workload

    @property
    def sized(self) -> bool:
        """Whether the arms differ in their number of connections alone, and are named by it."""
        return len({arm.size for arm in self.arms}) == len(self.arms) and len({arm.besides for arm in self.arms}) == 1

    @property
    def each(self) -> str:
        """What follows a number of connections in sentences, where it is that of one process of several."""
        count = self.arms[0].processes
        return f" in each of {count} processes" if count > 1 else ""

    def name(self, arm: ArmRuns) -> str:
        """Return an arm's name in this group: its size where that is what differs."""
        return str(arm.size) if self.sized else arm.label

    def pairs(self) -> Iterator[tuple[ArmRuns, ArmRuns, str]]:
        """Give the comparisons of a study: the baseline with each other arm, and each arm with the next larger."""
        for arm in self.arms[1:]:
            yield self.arms[0], arm, "baseline"
        for at in range(1, len(self.arms) - 1):
            yield self.arms[at], self.arms[at + 1], "adjacent"


def by_limits(runs: Sequence[Row], conditions: Sequence[Mapping[str, Any]]) -> list[Group]:
    """
    Group the levels of limits of one workload and arm, the first level of the table first.

    A level stands where an arm does, and the arm's label in `limits`; without a second level there is no group.
    """
    turned = [{**c, "arm": c["limits"], "limits": c["arm"]} for c in conditions]
    found = groups([{**r, "arm": r["limits"], "limits": r["arm"]} for r in runs], turned)
    return [group for group in found if len(group.arms) > 1]


def groups(
    runs: Sequence[Row], conditions: Sequence[Mapping[str, Any]], arms: Mapping[str, Mapping[str, Any]] | None = None
) -> list[Group]:
    """
    Group the measured runs in the order of the conditions' table; arms by size, equal ones in its order.

    `arms` are the study's settings of its labelled arms: what differs in more than its size is not named by it.
    """
    found: dict[tuple[str, str], list[ArmRuns]] = {}
    for condition in conditions:
        key = condition["workload"], condition["arm"], condition["limits"]
        mine = sorted((r for r in runs if (r["workload"], r["arm"], r["limits"]) == key), key=lambda r: r["repeat"])
        arm = ArmRuns(
            label=condition["arm"],
            size=int(condition["pool_size"]),
            planned=int(condition["runs_planned"]),
            ok=tuple(r for r in mine if r["status"] == "ok"),
            bad=tuple(r for r in mine if r["status"] != "ok"),
            besides=_besides((arms or {}).get(condition["arm"]) or {}, condition.get("client")),
            processes=int(((arms or {}).get(condition["arm"]) or {}).get("processes") or 1),
        )
        found.setdefault((condition["workload"], condition["limits"]), []).append(arm)
    return [Group(w, limits, tuple(sorted(arms, key=lambda a: a.size))) for (w, limits), arms in found.items()]


def _besides(arm: Mapping[str, Any], client: str | None) -> str:
    """Return what of an arm is not its size, to be compared."""
    return repr(sorted((key, value) for key, value in {**arm, "client": client}.items() if key != "size"))
