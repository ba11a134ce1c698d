"""A whole study: one question, declared in one file."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, ValidationInfo, model_validator

from poollab.study import pairing, sums
from poollab.study.arms import THREADS, Arm, Client
from poollab.study.arrivals import MOST_PER_S
from poollab.study.benchmarks import Confirm, Pairs
from poollab.study.parts import (
    Calibration,
    Label,
    Level,
    Limits,
    LoadGenerator,
    Order,
    Part,
    Timeouts,
    Windows,
    one_line,
)
from poollab.study.requests import Workload
from poollab.study.server import Database

Analysis = Literal["pool-size", "tail-latency", "littles-law", "execution-models", "pool-implementations"]


class Study(Part):
    """One question, declared in one file."""

    title: Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(one_line)]
    """The question in one sentence; the report's title."""
    analysis: Analysis = "pool-size"
    """Which question the report answers from the measurements; another one re-measures nothing."""
    margin: Annotated[float, Field(gt=0, le=0.5, allow_inf_nan=False)] = 0.05
    """Differences within this share of the other value count as the same; another one re-measures nothing."""
    database: Database
    """The server that is measured."""
    load_generator: LoadGenerator = LoadGenerator()
    """The process that sends the requests."""
    workloads: Annotated[dict[Label, Workload], Field(min_length=1)]
    """What is sent, by label."""
    client: Client = "asyncpg"
    """Driver, execution model and pool class of every arm that names none."""
    pools: Annotated[list[Annotated[int, Field(ge=1, le=10_000)]], Field(min_length=1)] | None = None
    """Pool sizes to compare; short for arms that differ only in size."""
    arms: Annotated[dict[Label, Arm], Field(min_length=1)] | None = None
    """Pools to compare, by label; give this or pools."""
    baseline: Label | None = None
    """Benchmarks: the arm whose time is divided; short for one pair."""
    candidate: Label | None = None
    """Benchmarks: the arm whose time it is divided by."""
    pairs: Pairs | None = None
    """Benchmarks: the pairs of arms that rows compare, by their kind; give this, or baseline and candidate."""
    confirm: Confirm | None = None
    """Benchmarks: when a difference is measured again; absent means that every pass is measured."""
    limits: Annotated[dict[Label, Level], Field(min_length=1)] | None = None
    """Cap levels to compare, by label (`none`: uncapped); absent means the one level of database and load_generator."""
    calibration: Calibration = Calibration()
    """How this machine's capacity is found, where a rate is a share of it."""
    repeats: Annotated[int, Field(ge=1, le=1000)] = 3
    """Runs of each condition; each repeat is one shuffled pass over all conditions."""
    spare_repeats: Annotated[int, Field(ge=0, le=100)] = 0
    """The last so many repeats are measured only where a run's p99 is twice that of its siblings, or more."""
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
            ({"pools", "arms", "client"}, sums.arm_faults),
            ({"workloads", "windows"}, sums.workload_faults),
            ({"workloads", "pools", "arms", "calibration"}, sums.arms_met),
            ({"pools", "arms", "database"}, sums.connection_faults),
            ({"repeats", "spare_repeats"}, sums.spare_faults),
            ({"database", "load_generator", "limits"}, sums.limit_faults),
            ({"limits", "analysis"}, sums.level_faults),
            ({"workloads", "pools", "arms", "client", "analysis", *pairing.KEYS}, pairing.faults),
        )
        faults = [fault for needs, check in checks if not needs & broken for fault in check(self)]
        if faults:
            raise ValueError("\x1e".join(faults))
        return self

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
        return {
            label: (Limits(), Limits())
            if level == "none"
            else (_over(base[0], level.database), _over(base[1], level.load_generator))
            for label, level in self.limits.items()
        }

    def workload(self, name: str) -> Workload:
        """Return a workload with everything it takes from another filled in, where that other one exists."""
        own = self.workloads[name]
        other = self.workloads.get(own.same or "")
        return own if other is None else own.over(other)

    def windows_of(self, name: str) -> Windows:
        """Return the windows of a workload; for a benchmark, which has none, an estimate of its length."""
        if self.workload(name).benchmark is not None:
            return Windows(warm_up_s=0.2, measure_s=0.6)
        own = self.workload(name).windows
        return self.windows if own is None else self.windows.model_copy(update=own.model_dump(exclude_none=True))

    def met_by(self, name: str) -> list[str]:
        """Return the labels of the arms that a workload meets, in the order of the file."""
        row = self.workload(name).benchmark
        if row is not None:
            return pairing.arms_of(self, row)
        only = self.workload(name).only
        return [label for label in self.arm_map if only is None or label in only]

    def client_of(self, arm: str) -> str:
        """Return the client of an arm."""
        return self.arm_map[arm].client or self.client

    def threads_of(self, name: str, arm: str) -> int | None:
        """Return the worker threads of each process of an arm for a workload; None where its client has none."""
        own, arrivals = self.arm_map[arm], self.workload(name).arrivals
        if self.client_of(arm) == "psycopg-executor":
            return own.executor or own.size
        if self.client_of(arm) != "psycopg-threads":
            return None
        if own.threads is not None or arrivals is None:
            return own.threads
        if arrivals.closed is None and arrivals.batch is None:
            # Fewer threads than connections would be a smaller pool under the name of a larger one.
            return max(-(-THREADS // own.processes), own.size)
        under_way = arrivals.closed.workers if arrivals.closed else arrivals.batch.size if arrivals.batch else 0
        return -(-under_way // own.processes)

    def expected_requests(self, name: str) -> float:
        """Return the number of arrivals that one measurement window holds (the mean where drawn, else the most)."""
        arrivals = self.workload(name).arrivals
        return 0.0 if arrivals is None else arrivals.most(self.windows_of(name).measure_s, MOST_PER_S)


def _over(base: Limits, level: Limits | None) -> Limits:
    """Return a cap with what a level names put over it; what it does not name stays."""
    return base if level is None else base.model_copy(update=level.model_dump(exclude_unset=True))
