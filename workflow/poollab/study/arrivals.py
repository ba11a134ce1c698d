"""When requests arrive: exactly one schedule for each workload."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, model_validator

from poollab.study.parts import AnyMillis, Millis, OneOf, Part, Rate, Seconds, Share, exactly_one

#: More requests a second than any client sends on one connection or many; bounds the rows of a closed loop.
MOST_PER_S = 50_000.0


class Rated(Part):
    """A schedule with one constant rate."""

    @model_validator(mode="after")
    def _one_rate(self) -> "Rated":
        exactly_one(self, "rate", [name for name in type(self).model_fields if name != "size"])
        return self


class Uniform(Rated):
    """One arrival at a fixed gap."""

    every_ms: Millis | None = None
    """Gap between arrivals in milliseconds."""
    rate_per_s: Rate | None = None
    """Arrivals per second."""
    share_of_capacity: Share | None = None
    """Arrivals per second as a share of the capacity that calibration finds."""


class Bursts(Rated):
    """A number of arrivals at the same instant, at a fixed gap between instants."""

    size: Annotated[int, Field(ge=1, le=100_000)]
    """Arrivals per burst."""
    every_ms: Millis | None = None
    """Gap between bursts in milliseconds."""
    rate_per_s: Rate | None = None
    """Arrivals per second, all of a burst counted."""
    share_of_capacity: Share | None = None
    """Arrivals per second as a share of the capacity that calibration finds."""


class Poisson(Rated):
    """Independent arrivals with exponential gaps, drawn once from the study's seed."""

    rate_per_s: Rate | None = None
    """Mean arrivals per second."""
    share_of_capacity: Share | None = None
    """Mean arrivals per second as a share of the capacity that calibration finds."""


class Step(Part):
    """One stretch of a window with a schedule of its own."""

    for_s: Seconds
    """Length of the step, in seconds; all steps together are as long as the window."""
    uniform: Uniform | None = None
    """Evenly spaced arrivals."""
    bursts: Bursts | None = None
    """Arrivals in batches."""
    poisson: Poisson | None = None
    """Random arrivals."""

    @model_validator(mode="after")
    def _one_schedule(self) -> "Step":
        exactly_one(self, "schedule", ["bursts", "poisson", "uniform"])
        return self

    @property
    def schedule(self) -> Uniform | Bursts | Poisson:
        """The one schedule that is given."""
        return next(part for part in (self.uniform, self.bursts, self.poisson) if part is not None)


class Ramp(Part):
    """A rate that changes evenly from the beginning of the window to its end."""

    shape: Literal["uniform", "poisson", "bursts"]
    """How arrivals lie around the rate."""
    size: Annotated[int, Field(ge=1, le=100_000)] | None = None
    """Arrivals per burst; for bursts only."""
    from_per_s: Rate | None = None
    """Arrivals per second at the beginning, and in the warm-up."""
    to_per_s: Rate | None = None
    """Arrivals per second at the end."""
    from_share: Share | None = None
    """The rate at the beginning as a share of the capacity that calibration finds."""
    to_share: Share | None = None
    """The rate at the end as a share of the capacity that calibration finds."""

    @model_validator(mode="after")
    def _two_ends(self) -> "Ramp":
        given = [n for n in ("from_per_s", "to_per_s", "from_share", "to_share") if getattr(self, n) is not None]
        if given not in (["from_per_s", "to_per_s"], ["from_share", "to_share"]):
            got = ", ".join(given) or "none"
            raise ValueError(f"give from_per_s and to_per_s, or from_share and to_share; got {got}")
        if (self.shape == "bursts") != (self.size is not None):
            raise ValueError(f"size is of shape bursts alone; {'add' if self.size is None else 'remove'} it")
        return self


class Batch(Part):
    """All requests at once, one time; the window is the time that they may take."""

    size: Annotated[int, Field(ge=1, le=100_000)]
    """Requests; the warm-up sends a tenth of them."""


class Closed(Part):
    """Workers in a loop: each sends its next request when its last one has ended."""

    workers: Annotated[int, Field(ge=1, le=10_000)]
    """Workers, which is also the most requests in flight."""
    think_ms: AnyMillis = 0.0
    """Pause of a worker between two requests, in milliseconds."""
    max_per_s: Rate = MOST_PER_S
    """Most requests per second to make room for; a run that would send more stops sending and says so."""

    def most(self, window_s: float) -> float:
        """Return the largest number of requests that a window may hold."""
        by_rate = self.max_per_s * window_s
        return min(by_rate, self.workers * (window_s * 1000 / self.think_ms + 1)) if self.think_ms else by_rate


class Arrivals(OneOf):
    """Exactly one arrival schedule."""

    model_config = ConfigDict(title="schedule")

    uniform: Uniform | None = None
    """Evenly spaced arrivals."""
    bursts: Bursts | None = None
    """Arrivals in batches."""
    poisson: Poisson | None = None
    """Random arrivals."""
    steps: Annotated[list[Step], Field(min_length=1, max_length=1000)] | None = None
    """Stretches of the window, one after another; the warm-up uses the first one's schedule."""
    ramp: Ramp | None = None
    """A rate that changes evenly over the window."""
    batch: Batch | None = None
    """All requests at once."""
    closed: Closed | None = None
    """Workers in a loop, with no schedule of their own."""

    @property
    def parts(self) -> list[tuple[float | None, Uniform | Bursts | Poisson]]:
        """Return the schedules of constant rate with their lengths in seconds (None: the whole window)."""
        if self.steps is not None:
            return [(step.for_s, step.schedule) for step in self.steps]
        return [(None, part) for part in (self.uniform, self.bursts, self.poisson) if part is not None]

    @property
    def needs_capacity(self) -> bool:
        """Whether a rate is given as a share of the machine's capacity."""
        ramp = self.ramp is not None and self.ramp.from_share is not None
        return ramp or any(part.share_of_capacity is not None for _, part in self.parts)

    @property
    def is_drawn(self) -> bool:
        """Whether the number of arrivals is random."""
        drawn_ramp = self.ramp is not None and self.ramp.shape == "poisson"
        return drawn_ramp or any(isinstance(part, Poisson) for _, part in self.parts)

    def most_in_warm_up(self, warm_up_s: float) -> float:
        """Return how many requests a warm-up is to hold: the first step's rate, a ramp's first, a tenth of a batch."""
        if self.batch is not None:
            return float(-(-self.batch.size // 10))
        if self.ramp is not None:
            return (self.ramp.from_per_s or 0.0) * warm_up_s
        if self.steps is not None:
            return _constant(self.steps[0].schedule, warm_up_s, MOST_PER_S)
        return self.most(warm_up_s)

    def most(self, window_s: float, capacity_per_s: float = MOST_PER_S) -> float:
        """Return how many requests a window is to hold (the mean where drawn, the bound of a closed loop)."""
        if self.batch is not None:
            return float(self.batch.size)
        if self.closed is not None:
            return self.closed.most(window_s)
        if self.ramp is not None:
            ends = self.ramp.from_per_s, self.ramp.to_per_s
            shares = self.ramp.from_share, self.ramp.to_share
            two = [e if e is not None else (s or 0.0) * capacity_per_s for e, s in zip(ends, shares, strict=True)]
            return max(1.0, sum(two) / 2 * window_s)
        return sum(_constant(part, for_s or window_s, capacity_per_s) for for_s, part in self.parts)


def _constant(part: Uniform | Bursts | Poisson, window_s: float, capacity_per_s: float) -> float:
    share = part.share_of_capacity
    rate = part.rate_per_s if share is None else share * capacity_per_s
    if isinstance(part, Poisson):
        return (rate or 0.0) * window_s
    size = part.size if isinstance(part, Bursts) else 1
    every_ms = part.every_ms if rate is None else size / rate * 1000
    # Rounded to the schedule's grain of a nanosecond: a gap that divides the window leaves none on its end.
    instants = -(-(window_s * 1000 - 5e-7) // (every_ms or 1.0))
    return max(1.0, instants) * size
