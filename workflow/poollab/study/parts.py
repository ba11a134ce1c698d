"""The small parts of a study file, each a frozen model whose fields carry unit, range and effect."""

from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    model_validator,
)

from poollab.labels import LABEL, LABEL_RULE


class Part(BaseModel):
    """Frozen, strict about unknown keys: a misspelt key must never pass as a default."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True)


class OneOf(Part):
    """A part of which exactly one key is given."""

    @model_validator(mode="after")
    def _exactly_one(self) -> "OneOf":
        exactly_one(self, what(type(self)), sorted(type(self).model_fields))
        return self


def what(kind: type[Part]) -> str:
    """Return what a part of which one key is given is called in a message."""
    return str(kind.model_config.get("title") or "key")


def exactly_one(part: Part, word: str, names: list[str]) -> None:
    """
    Check that a part names one of several keys, and that it has a value.

    Raises:
        ValueError: none, several, or one without its keys.
    """
    named = sorted(part.model_fields_set & set(names))
    if len(named) != 1 or getattr(part, named[0]) is None:
        got = f"{named[0]} without its keys" if len(named) == 1 else ", ".join(named) or "none"
        raise ValueError(f"name exactly one {word} of {', '.join(names)}; got {got}")


def as_pair(value: Any) -> Any:
    """Take YAML's list as a pair."""
    return tuple(value) if isinstance(value, list) else value


def not_empty(pair: tuple[float, float]) -> None:
    """
    Check a range.

    Raises:
        ValueError: it holds no value.
    """
    if pair[0] > pair[1]:
        raise ValueError(f"the range is empty, as {pair[0]:g} is greater than {pair[1]:g}; write the smaller one first")


Label = Annotated[str, StringConstraints(pattern=LABEL), Field(description=LABEL_RULE)]
#: From a millisecond on: a window or step below a nanosecond would hold nothing at all, and say nothing about it.
Seconds = Annotated[float, Field(ge=0.001, le=3600, allow_inf_nan=False)]
Millis = Annotated[float, Field(gt=0, le=3_600_000, allow_inf_nan=False)]
#: Milliseconds that may be none at all, and a range of them to draw from.
AnyMillis = Annotated[float, Field(ge=0, le=3_600_000, allow_inf_nan=False)]
MillisRange = Annotated[tuple[AnyMillis, AnyMillis], BeforeValidator(as_pair)]
Rate = Annotated[float, Field(gt=0, le=100_000, allow_inf_nan=False)]
#: Above 1 on purpose: how a system behaves when more is asked than it can do is a question too.
Share = Annotated[float, Field(gt=0, le=5, allow_inf_nan=False)]


def printable(text: str) -> str:
    """Refuse what no statement holds, and one of blanks alone, which the server would answer with nothing."""
    if not text.strip():
        raise ValueError("holds nothing but blanks; write a statement")
    if not all(c.isprintable() or c in "\n\t" for c in text):
        raise ValueError("holds a control character; remove it")
    return text


def one_line(text: str) -> str:
    """Refuse a text that would break a table or a message; used by the whole study too."""
    if not text.isprintable():
        raise ValueError("must be one line without control characters; join the lines")
    if not text.strip():
        raise ValueError("holds nothing but blanks; write a sentence")
    return text


class Limits(Part):
    """A cap on one side, enforced by the kernel's CPU bandwidth and memory control."""

    cpus: Annotated[float, Field(gt=0, le=1024, allow_inf_nan=False)] | None = None
    """CPU cap in cores; absent means uncapped."""
    period_ms: Annotated[float, Field(ge=1, le=1000, allow_inf_nan=False)] = 10.0
    """Length of the quota period in milliseconds; the kernel takes 1 to 1000."""
    memory_mib: Annotated[int, Field(ge=16, le=1_048_576)] | None = None
    """Memory cap in MiB; absent means uncapped."""

    @model_validator(mode="after")
    def _quota_is_possible(self) -> "Limits":
        if self.fault:
            raise ValueError(self.fault)
        return self

    @property
    def fault(self) -> str:
        """Why the kernel would refuse the cap; empty where it would not."""
        if self.cpus is None or self.cpus * self.period_ms >= 1 - 1e-9:
            return ""
        return (
            f"cpus {self.cpus:g} of a {self.period_ms:g} ms period is a quota of "
            f"{self.cpus * self.period_ms * 1000:.0f} us, and the kernel refuses less than 1000 us; "
            f"the smallest cpus for this period is {1 / self.period_ms:g}"
        )

    @property
    def quota_us(self) -> int | None:
        """CPU time per period in microseconds, or None where uncapped."""
        return None if self.cpus is None else round(self.cpus * self.period_ms * 1000)

    @property
    def period_us(self) -> int:
        """Quota period in microseconds."""
        return round(self.period_ms * 1000)


class LoadGenerator(Part):
    """The process that sends the requests."""

    limits: Limits = Limits()
    """Cap on the load generator, apart from the database's."""


class Windows(Part):
    """How long each run warms up and measures."""

    warm_up_s: Seconds = 2.0
    """Warm-up before the measurement, in seconds; kept apart and never counted."""
    measure_s: Seconds = 12.0
    """Measurement window in seconds."""


class OwnWindows(Part):
    """Windows of one workload; what is not given stays as in windows."""

    warm_up_s: Seconds | None = None
    """Warm-up of this workload, in seconds."""
    measure_s: Seconds | None = None
    """Measurement window of this workload, in seconds."""


class Timeouts(Part):
    """Bounds on every wait of a request, so that none can hang a run."""

    acquire_s: Seconds = 10.0
    """Longest wait for a connection, in seconds."""
    query_s: Seconds = 30.0
    """Longest query round trip, in seconds."""
    drain_s: Seconds = 20.0
    """Longest wait for requests still under way after the window, in seconds."""


class Order(Part):
    """The random order of the cells."""

    seed: Annotated[int, Field(ge=0, lt=2**63)] = 20
    """Seed of the order; another seed re-measures nothing."""


class Calibration(Part):
    """How the capacity of this machine is found, once a study, where a rate is a share of it."""

    # Room is made for 50,000 requests in each second; 40 s of them are as many as any cell may hold.
    seconds: Annotated[float, Field(ge=0.1, le=40, allow_inf_nan=False)] = 3.0
    """Length of the closed loop whose achieved rate is the capacity, in seconds."""
    workers: Annotated[int, Field(ge=1, le=10_000)] | None = None
    """Workers in that loop; absent means twice the connections of its arm."""
    arm: Label | None = None
    """The arm that it uses; absent means the one with the most connections."""


class LimitSet(Part):
    """One level of the limits factor; what is not given stays as in database and load_generator."""

    database: Limits | None = None
    """Cap on the database at this level."""
    load_generator: Limits | None = None
    """Cap on the load generator at this level."""


#: A level of the limits factor: caps, or the word that takes every cap off on both sides.
Level = Annotated[
    Annotated[LimitSet, Tag("caps")] | Annotated[Literal["none"], Tag("word")],
    Discriminator(lambda value: "word" if isinstance(value, str) else "caps"),
]
