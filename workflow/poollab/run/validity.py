"""
Whether a run is what it should be: statuses with reasons, from recorded data alone.

The rules are those of the word list: `generator-late`, `overloaded`, `errors`, `unclean` (and
`host-busy`, which the guard decides).
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from poollab.load import arrivals
from poollab.load.rows import ABSENT, OK, UNFINISHED
from poollab.quantiles import nearest_rank
from poollab.run import overload, plausible

Ints = npt.NDArray[np.int64]

#: The generator is late when the p99 lateness of an arrival instant's first request exceeds this share of the gap.
LATE_SHARE_OF_GAP = 0.20
#: Less is never late: at 5,000 requests a second a fifth of the gap is 0.04 ms, which no timer keeps, and 1 ms is the
#: delay within which `make bench` calls a rate kept.
KEPT_WITHIN_NS = 1_000_000
#: So many requests are named where some did not end.
FIRST = 5


@dataclass(frozen=True, slots=True)
class Verdict:
    """A run's status word(s) joined by +, its reasons joined by "; ", and the lateness that was judged."""

    status: str
    reasons: str
    first_lateness_p99_ns: int | None


@dataclass(frozen=True, slots=True)
class Ends:
    """What was seen at the ends of a run."""

    pool_size: int
    """Connections of the arm, in each process."""
    connections: int
    sessions_before: int | None
    sessions_after: int | None
    new_connections: int
    reachable: int
    warm_up_drained: bool
    finished: bool
    expected: int
    """Connections of all processes together; none for a workload without a database."""
    sessions_left: int | None = None
    """Server sessions that outlived the load generator."""
    ran_out: bool = False
    """A closed loop stopped because there was no more room for requests."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What kind of run this is, as far as it decides which rules apply."""

    closed: bool = False
    """Workers in a loop: no rate is offered, and nothing is late."""
    batch: bool = False
    """All at once: it takes the time that it takes."""
    own_work: bool = False
    """Requests work on the client's CPUs: that they hold up others is what is measured, and no lateness of ours."""
    steps: npt.NDArray[np.int16] | None = None
    """Number of the arrivals step of each request, where the schedule has steps."""
    parts: npt.NDArray[np.int16] | None = None
    """Stretches of a roughly constant rate: the steps, or tenths of a ramp; None: the whole window is one."""
    threads: int | None = None
    """Worker threads of each process (or of its executor), where a request needs one."""


def shape_of(settings: Mapping[str, Any], columns: Mapping[str, Ints]) -> Shape:
    """Derive a run's shape from its settings."""
    declared = settings["workload"]["arrivals"]
    steps = arrivals.step_numbers(declared, columns["scheduled"])
    parts = steps
    if "ramp" in declared and len(columns["scheduled"]):
        tenth = settings["windows"]["measure_s"] * 1e8
        parts = (np.minimum(columns["scheduled"] // tenth, 9) + 1).astype(np.int16)
    return Shape(
        closed="closed" in declared,
        batch="batch" in declared,
        own_work=any("compute" in step for step in settings["workload"]["request"]),
        steps=steps,
        parts=parts,
        threads=settings["arm"].get("threads") or settings["arm"].get("executor"),
    )


@dataclass(frozen=True, slots=True)
class HostUse:
    """What the rest of the host did in the window: mean CPU taken by others and stolen, as shares of all CPUs."""

    other_cpu: float | None = None
    steal: float | None = None
    resolution: float = 0.0
    """What the kernel's ticks leave open in a stretch of this length: a short one is not busy for a tick or two."""


#: Clock ticks by which a difference of the kernel's own counts may be off, over all of them.
TICKS_OFF = 6
#: A run whose mean use by others is above this share of the guard's threshold is marked, though not broken off.
BUSY_SHARE = 0.5


def host_use(samples: pa.Table) -> HostUse:
    """
    Derive from the samples what others took between the first and the last of them.

    None where a reading is missing: what our own sides used must not be called the use of others.
    """
    if samples.num_rows < 2:
        return HostUse()
    first, last = (samples.slice(at, 1).to_pylist()[0] for at in (0, samples.num_rows - 1))
    all_ns = (last["at_ns"] - first["at_ns"]) * (os.cpu_count() or 1)

    def taken(name: str) -> int | None:
        return None if first[name] is None or last[name] is None else int(last[name] - first[name])

    whole, steal = taken("host_busy_ns"), taken("host_steal_ns")
    database, generator = taken("database_cpu_ns"), taken("generator_cpu_ns")
    others = None
    if whole is not None and database is not None and generator is not None:
        others = max(0.0, (whole - database - generator) / all_ns)
    resolution = TICKS_OFF / os.sysconf("SC_CLK_TCK") * 1e9 / all_ns
    return HostUse(others, None if steal is None else steal / all_ns, resolution)


def judge(
    columns: Mapping[str, Ints],
    window_s: float,
    allowed_errors: float,
    ends: Ends,
    host: HostUse | None = None,
    limits: tuple[float, float] = (1.0, 1.0),
    shape: Shape | None = None,
) -> Verdict:
    """
    Apply every rule that fits the run's shape and collect what it says.

    `limits` are the guard's thresholds for CPU taken by others and for steal, as shares of all CPUs.
    """
    shape = shape or Shape()
    lateness = first_lateness_p99(columns, shape)
    found = [*_late(columns, lateness, shape), *overload.found(columns, window_s, shape)]
    found += [*busy(host or HostUse(), limits), *_errors(columns, allowed_errors), *_unclean(ends, columns["status"])]
    if (odd := plausible.fault(columns, ends.expected)) is not None:
        found.append(("unclean", odd))
    words = dict.fromkeys(word for word, _ in found)
    return Verdict("+".join(words) or "ok", "; ".join(text for _, text in found), lateness)


def first_lateness_p99(columns: Mapping[str, Ints], shape: Shape) -> int | None:
    """Return the p99 of started - scheduled over the requests that are judged by it, in ns; None without any."""
    return nearest_rank((columns["started"] - columns["scheduled"])[_judged(columns, shape)], 0.99)


def _judged(columns: Mapping[str, Ints], shape: Shape) -> npt.NDArray[np.bool_]:
    """
    Tell which requests show how late we were: the first of each instant, where a thread was free for it.

    Where requests need a thread and all of them are busy, the wait for one is the arm's own and no lateness of ours.
    """
    first = arrivals.first_of_instant(columns["scheduled"])
    judged = np.asarray(first & (columns["started"] != ABSENT), dtype=np.bool_)
    if shape.threads is None:
        return judged
    process = columns.get("process", np.zeros(len(judged), dtype=np.int64))
    for number in np.unique(process):
        mine = process == number
        names = [name for name in ("scheduled", "released", "ended") if name in columns]
        under_way = overload.in_flight_at_arrivals({name: columns[name][mine] for name in names})
        judged[mine] &= under_way < shape.threads
    return judged


def _late(columns: Mapping[str, Ints], lateness: int | None, shape: Shape) -> Iterator[tuple[str, str]]:
    if not (shape.closed or shape.own_work) and lateness is not None:
        share = late_share_of_allowed_p99(columns, shape)
        if share is not None and share > 1:
            few = f" ({shape.threads} worker threads for each process)" if shape.threads else ""
            yield "generator-late", f"p99 lateness {lateness / 1e6:.2f} ms is over {_allowed(columns, shape)}{few}"
    # With threads all busy to the end it is their number, and no fault of the schedule: the rows say `unfinished`.
    if shape.threads is None and (missing := int((columns["started"] == ABSENT).sum())):
        yield "generator-late", f"{missing} requests were never started"


def _allowed(columns: Mapping[str, Ints], shape: Shape) -> str:
    """Say what lateness is judged against."""
    least = f"{KEPT_WITHIN_NS / 1e6:g} ms"
    if shape.parts is not None:
        return f"20 % of the gap at hand and over {least}"
    gap = arrivals.gap_ns(columns["scheduled"])
    if LATE_SHARE_OF_GAP * gap < KEPT_WITHIN_NS:
        return f"{least} (20 % of the {gap / 1e6:g} ms gap is less)"
    return f"20 % of the {gap / 1e6:g} ms gap"


def late_share_of_allowed_p99(columns: Mapping[str, Ints], shape: Shape) -> float | None:
    """
    Return the p99 of lateness / allowed lateness over the first request of each arrival instant; None without any.

    Allowed is a fifth of the gap or `KEPT_WITHIN_NS`, whichever is more. The gap is that of the stretch at hand, since
    one lateness is much at a high rate and little at a low one; a single instant has no gap and cannot be late.
    """
    first = _judged(columns, shape)
    gaps = np.empty(len(first))
    parts = np.zeros(len(first), dtype=np.int16) if shape.parts is None else shape.parts
    for part in np.unique(parts):
        gaps[parts == part] = arrivals.gap_ns(columns["scheduled"][parts == part])
    allowed = np.maximum(LATE_SHARE_OF_GAP * gaps, KEPT_WITHIN_NS)
    shares = np.sort(((columns["started"] - columns["scheduled"]) / allowed)[first])
    # Nearest rank, as everywhere; in floating point because a share is no number of nanoseconds.
    return float(shares[int(np.ceil(len(shares) * 0.99)) - 1]) if len(shares) else None


def busy(host: HostUse, limits: tuple[float, float]) -> Iterator[tuple[str, str]]:
    """Say what others took of the host, where it is near the thresholds of the guard (CPU by others, steal)."""
    for value, limit, text in zip((host.other_cpu, host.steal), limits, ("taken by others", "stolen"), strict=True):
        if value is not None and value - host.resolution > BUSY_SHARE * limit:
            yield (
                "host-busy",
                f"{value:.0%} of the host's CPU time was {text} on average (above {BUSY_SHARE * limit:.0%})",
            )


def _errors(columns: Mapping[str, Ints], allowed: float) -> Iterator[tuple[str, str]]:
    failed = int((columns["status"] != OK).sum())
    if failed > allowed * len(columns["status"]):
        yield "errors", f"{failed} of {len(columns['status'])} requests did not end ok"


def _unclean(ends: Ends, status: Ints) -> Iterator[tuple[str, str]]:
    numbers = ", ".join(map(str, np.flatnonzero(status == UNFINISHED)[:FIRST]))
    first = f" (the first: {numbers})" if numbers else ""
    facts: list[tuple[bool, str]] = [
        (
            ends.connections != ends.expected,
            f"the pool holds {ends.connections} connections, expected {ends.expected}",
        ),
        (
            ends.sessions_before not in (None, ends.expected),
            f"{ends.sessions_before} server sessions before the run, expected {ends.expected}",
        ),
        (
            ends.sessions_after not in (None, ends.expected),
            f"{ends.sessions_after} server sessions after the run, expected {ends.expected}",
        ),
        (bool(ends.sessions_left), f"{ends.sessions_left} server sessions were left when the pool had been closed"),
        (ends.new_connections > 0, f"{ends.new_connections} connections were made inside the window"),
        (
            ends.reachable != ends.expected,
            f"{ends.reachable} connections could be taken at the end, expected {ends.expected}",
        ),
        (not ends.warm_up_drained, "the warm-up did not drain"),
        (not ends.finished, f"requests were still under way when the drain ended{first}"),
        (ends.ran_out, "the loop stopped early for want of room; raise closed.max_per_s"),
    ]
    yield from (("unclean", text) for wrong, text in facts if wrong)


def ends_of(
    spec: dict[str, Any], columns: Mapping[str, Ints], facts: dict[str, Any], sessions: tuple[int | None, int | None]
) -> Ends:
    """Collect what was seen at the ends of a run from the generator's facts and the session counts."""
    takes = any(step["do"] in ("query", "hold") for step in spec["steps"])
    used = set(columns["backend"][columns["backend"] != ABSENT].tolist())
    return Ends(
        pool_size=spec["pool"]["size"],
        connections=len(facts["backends"]),
        sessions_before=sessions[0],
        sessions_after=sessions[1],
        new_connections=len(used - set(facts["backends"])),
        reachable=facts["reachable"],
        warm_up_drained=facts["warm_up_drained"],
        finished=facts["finished"],
        expected=spec["pool"]["size"] * spec["processes"] if takes else 0,
        ran_out=facts["exhausted"],
    )
