"""A whole study, and the checks that need more than one of its parts."""

import math
import re
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, ValidationInfo, model_validator

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
    one_line,
)

#: Slots that stay free for others: PostgreSQL's own reserve for superusers and our one session that seeds and proves.
SUPERUSER_SLOTS = 3
OWN_SESSIONS = 1
DEFAULT_CONNECTIONS = 100
LEAST_CONNECTIONS = SUPERUSER_SLOTS + OWN_SESSIONS + 1
MOST_CONNECTIONS = 262_143

#: More requests in one cell than this would not fit the promise of objects made before the clock starts.
MAX_REQUESTS = 2_000_000


class Study(Part):
    """One question, declared in one file."""

    title: Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(one_line)]
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
    allowed_errors: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.0
    """Share of requests that may fail before a run is marked errors."""
    order: Order = Order()
    """The random order of the cells."""

    @model_validator(mode="after")
    def _whole(self, info: ValidationInfo) -> Self:
        broken = (info.context or {}).get("broken", set())
        checks = (
            ({"pools", "arms"}, self._arm_faults),
            ({"workloads", "windows"}, self._workload_faults),
            ({"pools", "arms", "database"}, self._connection_faults),
        )
        faults = [fault for needs, check in checks if not needs & broken for fault in check()]
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
        return [fault for name in self.workloads for fault in self._faults_of(name, self.workloads[name])]

    def _faults_of(self, name: str, own: Workload) -> list[str]:
        at = f"workloads.{name}"
        if own.same is not None and (own.same not in self.workloads or self.workloads[own.same].same is not None):
            others = ", ".join(n for n, w in self.workloads.items() if n != name and w.same is None) or "none here"
            if own.same == name:
                return [
                    f"{at}.same = {name}: a workload cannot stand for itself; remove the key or name one of: {others}"
                ]
            return [f"{at}.same = {own.same}: must name a workload that has no `same` of its own; allowed: {others}"]
        full = self.workload(name)
        if full.sql is None:
            return [f"{at}.sql: is missing; give the statement, or same: <another workload>"]
        is_own = own.same is None or own.sql is not None or own.args is not None
        return [*(_argument_faults(at, full) if is_own else []), *_amount_faults(at, self.expected_requests(name))]

    def _connection_faults(self) -> list[str]:
        given = self.database.settings.get("max_connections", DEFAULT_CONNECTIONS)
        if not isinstance(given, int) or not LEAST_CONNECTIONS <= given <= MOST_CONNECTIONS:
            must = f"must be a whole number, {LEAST_CONNECTIONS} to {MOST_CONNECTIONS}, without quotes"
            return [f"database.settings.max_connections = {given!r}: {must}; change it and run the same command again"]
        taken, room = SUPERUSER_SLOTS + OWN_SESSIONS, given - SUPERUSER_SLOTS - OWN_SESSIONS
        return [
            f"{'pools' if self.pools else f'arms.{label}.size'} = {arm.size}: needs {arm.size} + {SUPERUSER_SLOTS} "
            f"reserved slots + {OWN_SESSIONS} session of ours = {arm.size + taken} connections, and "
            f"database.settings.max_connections is {given}; use at most {room} or raise max_connections"
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
        return {k: (_over(base[0], v.database), _over(base[1], v.load_generator)) for k, v in self.limits.items()}

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
        # Rounded to the schedule's grain of a nanosecond: a gap that divides the window leaves none on its end.
        instants = math.ceil((window_ms - 5e-7) / part.every_ms)
        return float(max(1, instants) * getattr(part, "size", 1))


def _argument_faults(at: str, workload: Workload) -> list[str]:
    used = {int(n) for n in re.findall(r"\$(\d+)", workload.sql or "")}
    given = len(workload.args or [])
    if used == set(range(1, given + 1)):
        return []
    want = ", ".join(f"${n}" for n in sorted(used)) or "no placeholder"
    return [f"{at}.args: {given} given, and the statement uses {want}; give one for each, numbered from $1"]


def _amount_faults(at: str, requests: float) -> list[str]:
    if requests <= MAX_REQUESTS:
        return []
    most = f"at most {MAX_REQUESTS}; lower the rate or windows.measure_s"
    return [f"{at}.arrivals: {requests:.0f} requests in one cell; {most}"]


def _over(base: Limits, level: Limits | None) -> Limits:
    """Return a cap with what a level names put over it; what it does not name stays."""
    return base if level is None else base.model_copy(update=level.model_dump(exclude_unset=True))
