"""What one request does: steps with and without a connection, and the values that are drawn for them."""

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from poollab.study.arrivals import Arrivals
from poollab.study.benchmarks import Benchmark
from poollab.study.parts import (
    AnyMillis,
    Label,
    Millis,
    MillisRange,
    OneOf,
    OwnWindows,
    Part,
    as_pair,
    not_empty,
    printable,
)

Statement = Annotated[str, StringConstraints(min_length=1, max_length=20_000), AfterValidator(printable)]
Times = Annotated[int, Field(ge=1, le=10_000)]
TimesRange = Annotated[tuple[Times, Times], BeforeValidator(as_pair)]
#: Named here, since inside Arg the word int is the key.
IntRange = tuple[Annotated[int, Field(ge=-(2**31))], Annotated[int, Field(lt=2**31)]]


class Calibrated(Part):
    """The integer that makes one execution of the statement cost a stated CPU time of the database."""

    cpu_ms: Millis
    """Database CPU of one execution, in milliseconds, measured on the machine before the first run."""
    from_: Annotated[int, Field(alias="from", ge=0, lt=2**31)]
    """Smallest value to try."""
    to: Annotated[int, Field(ge=0, lt=2**31)]
    """Largest value to try; the study is refused where even this one costs less."""

    @model_validator(mode="after")
    def _ordered(self) -> "Calibrated":
        not_empty((self.from_, self.to))
        return self


class Arg(OneOf):
    """One placeholder's value."""

    model_config = ConfigDict(title="kind of value")

    int: IntRange | None = None
    """Smallest and largest value, both included; one is drawn for each request."""
    calibrated: Calibrated | None = None
    """One value for all requests, found on this machine so that the statement costs a stated CPU time."""

    @model_validator(mode="before")
    @classmethod
    def _pair(cls, data: Any) -> Any:
        return {**data, "int": as_pair(data["int"])} if isinstance(data, dict) and "int" in data else data

    @model_validator(mode="after")
    def _ordered(self) -> "Arg":
        if self.int is not None:
            not_empty(self.int)
        return self


class Query(Part):
    """A statement that is sent on the request's connection."""

    sql: Statement
    """The statement, with $1, $2 ... for arguments."""
    args: Annotated[list[Arg], Field(default_factory=list)]
    """One entry for each placeholder."""
    times: Times | TimesRange = 1
    """Executions in a row; a pair is a range to draw from for each request."""
    share: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 1.0
    """Part of the requests that send it, drawn for each request."""

    @model_validator(mode="after")
    def _ordered(self) -> "Query":
        if isinstance(self.times, tuple):
            not_empty(self.times)
        return self


class Lasting(Part):
    """A step that takes a stated time."""

    ms: AnyMillis | MillisRange
    """How long, in milliseconds; a pair is a range to draw from for each request."""

    @model_validator(mode="after")
    def _ordered(self) -> "Lasting":
        if isinstance(self.ms, tuple):
            not_empty(self.ms)
        return self


class Hold(Lasting):
    """Time with the connection held and nothing done."""


class Compute(Lasting):
    """Work for the client's CPU in pure Python, as a template or a parser does."""

    at: Annotated[list[Annotated[int, Field(ge=1, le=2_000_000)]], Field(min_length=1)] | None = None
    """Numbers of the requests that do it, counted from 1; absent means all."""


class Wait(Lasting):
    """Time without a database."""


class RequestStep(OneOf):
    """One step of a request."""

    model_config = ConfigDict(title="step")

    query: Query | None = None
    """Send a statement and take its answer."""
    hold: Hold | None = None
    """Keep the connection for a while."""
    compute: Compute | None = None
    """Work in the client; before the first and after the last step that needs a connection, none is held."""
    wait: Wait | None = None
    """Wait; before the first and after the last step that needs a connection, none is held."""

    @property
    def needs_connection(self) -> bool:
        """Whether the step needs a connection by itself."""
        return self.query is not None or self.hold is not None


class Workload(Part):
    """What one request does, when requests arrive, and which arms meet it."""

    same: Label | None = None
    """Take what is not given here from this other workload."""
    sql: Statement | None = None
    """The statement, with $1, $2 ... for arguments; short for a request of one query."""
    args: list[Arg] | None = None
    """One entry for each placeholder of sql."""
    request: Annotated[list[RequestStep], Field(min_length=1, max_length=100)] | None = None
    """What a request does, step by step; give this or sql."""
    arrivals: Arrivals | None = None
    """The arrival schedule."""
    benchmark: Benchmark | None = None
    """A row of a pool benchmark, which stands for all of sql, request and arrivals."""
    only: Annotated[list[Label], Field(min_length=1)] | None = None
    """Arms that this workload meets; absent means all."""
    windows: OwnWindows | None = None
    """Windows of this workload, where they differ from the study's."""
    trace_memory: bool | None = None
    """Whether Python's own count of memory (tracemalloc) is taken in the load generator; it slows it down."""

    @property
    def steps(self) -> list[RequestStep]:
        """What a request does, in the long form; empty where the workload takes it from another one."""
        if self.request is not None:
            return self.request
        return [RequestStep(query=Query(sql=self.sql, args=self.args or []))] if self.sql is not None else []

    @property
    def needs_connection(self) -> bool:
        """Whether a request takes a connection at all."""
        return self.benchmark is not None or any(step.needs_connection for step in self.steps)

    def over(self, other: "Workload") -> "Workload":
        """Return this workload with everything that it does not give taken from another one."""
        given = {name for name in type(self).model_fields if getattr(self, name) is not None} | {"same"}
        # The two ways of saying what a request does stand for one another.
        if "request" in given:
            given |= {"sql", "args"}
        elif "sql" in given:
            given |= {"request"}
        taken = {name: getattr(other, name) for name in type(self).model_fields if name not in given}
        return self.model_copy(update={**taken, "same": None})
