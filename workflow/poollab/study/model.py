"""A whole study, and the checks that need more than one of its parts."""

import re
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from poollab.study.parts import (
    Arm,
    Database,
    Label,
    Limits,
    LimitSet,
    LoadGenerator,
    Order,
    Part,
    Timeouts,
    Windows,
    Workload,
)

#: Slots that stay free for others: PostgreSQL's own reserve for superusers and our one session that seeds and proves.
SUPERUSER_SLOTS = 3
OWN_SESSIONS = 1

#: More requests in one cell than this would not fit the promise of objects made before the clock starts.
MAX_REQUESTS = 2_000_000


class Study(Part):
    """One question, declared in one file."""

    title: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    """The question in one sentence; the report's title."""
    database: Database
    """The server that is measured."""
    load_generator: LoadGenerator = LoadGenerator()
    """The process that sends the requests."""
    workloads: Annotated[dict[Label, Workload], Field(min_length=1)]
    """What is sent, by label."""
    client: Literal["asyncpg"] = "asyncpg"
    """Driver, execution model and pool class."""
    pools: Annotated[list[Annotated[int, Field(ge=1, le=10_000)]], Field(min_length=1)] | None = None
    """Pool sizes to compare; short for arms that differ only in size."""
    arms: Annotated[dict[Label, Arm], Field(min_length=1)] | None = None
    """Pools to compare, by label; give this or pools."""
    limits: Annotated[dict[Label, LimitSet], Field(min_length=1)] | None = None
    """Cap levels to compare, by label; absent means the one level of database and load_generator."""
    repeats: Annotated[int, Field(ge=1, le=1000)] = 3
    """Runs of each condition; each repeat is one shuffled pass over all conditions."""
    windows: Windows = Windows()
    """Lengths of warm-up and measurement."""
    timeouts: Timeouts = Timeouts()
    """Bounds on waits."""
    allowed_errors: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Share of requests that may fail before a run is marked errors."""
    order: Order = Order()
    """The random order of the cells."""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        faults = [*self._arm_faults(), *self._workload_faults(), *self._connection_faults()]
        if faults:
            raise ValueError("\x1e".join(faults))
        return self

    def _arm_faults(self) -> list[str]:
        if (self.pools is None) == (self.arms is None):
            return [
                "pools: give either pools (sizes) or arms (labelled pools); "
                + ("got neither" if self.pools is None else "got both")
            ]
        if self.pools is not None and len(set(self.pools)) != len(self.pools):
            return [f"pools = {self.pools}: a size stands twice; name two equal pools as arms with labels of their own"]
        return []

    def _workload_faults(self) -> list[str]:
        faults = []
        for name, workload in self.workloads.items():
            at = f"workloads.{name}"
            if workload.same is not None and (
                workload.same not in self.workloads or self.workloads[workload.same].same
            ):
                others = ", ".join(n for n, w in self.workloads.items() if n != name and not w.same) or "none"
                faults.append(
                    f"{at}.same = {workload.same}: must name another workload that stands for itself; allowed: {others}"
                )
                continue
            full = self.workload(name)
            if full.sql is None:
                faults.append(f"{at}.sql: is missing; give the statement, or same: <another workload>")
                continue
            used = {int(n) for n in re.findall(r"\$(\d+)", full.sql)}
            if used != set(range(1, len(full.args or []) + 1)):
                want = ", ".join(f"${n}" for n in sorted(used)) or "no placeholder"
                given = f"{len(full.args or [])} given, and the statement uses {want}"
                faults.append(f"{at}.args: {given}; give one for each, numbered from $1")
            requests = self.expected_requests(name)
            if requests > MAX_REQUESTS:
                most = f"at most {MAX_REQUESTS}; lower the rate or the window"
                faults.append(f"{at}.arrivals: {requests:.0f} requests in one cell; {most}")
        return faults

    def _connection_faults(self) -> list[str]:
        room = self.database.max_connections - SUPERUSER_SLOTS - OWN_SESSIONS
        return [
            f"{'pools' if self.pools else f'arms.{label}.size'} = {arm.size}: "
            f"needs {arm.size} + {SUPERUSER_SLOTS} reserved slots "
            f"+ {OWN_SESSIONS} session of ours = {arm.size + SUPERUSER_SLOTS + OWN_SESSIONS} connections, and "
            f"database.settings.max_connections is {self.database.max_connections}; "
            f"use at most {room} or raise max_connections"
            for label, arm in self.arm_map.items()
            if arm.size > room
        ]

    @property
    def arm_map(self) -> dict[str, Arm]:
        """Arms by label, in the order of the file."""
        return self.arms if self.arms is not None else {f"pool-{size}": Arm(size=size) for size in self.pools or []}

    @property
    def limit_map(self) -> dict[str, tuple[Limits, Limits]]:
        """(database, load generator) caps by label; the one unnamed level has the empty label."""
        base = (self.database.limits, self.load_generator.limits)
        if self.limits is None:
            return {"": base}
        return {k: (v.database or base[0], v.load_generator or base[1]) for k, v in self.limits.items()}

    def workload(self, name: str) -> Workload:
        """Return a workload with everything it takes from another filled in."""
        own = self.workloads[name]
        if own.same is None:
            return own
        other = self.workloads[own.same]
        return own.model_copy(
            update={"same": None, "sql": own.sql or other.sql, "args": own.args if own.args is not None else other.args}
        )

    def expected_requests(self, name: str) -> float:
        """Return the number of arrivals that one measurement window holds (the mean, where drawn)."""
        arrivals, window_ms = self.workloads[name].arrivals, self.windows.measure_s * 1000
        if arrivals.poisson is not None:
            return arrivals.poisson.rate_per_s * window_ms / 1000
        part: Any = arrivals.uniform or arrivals.bursts
        return float(-(-window_ms // part.every_ms) * getattr(part, "size", 1))
