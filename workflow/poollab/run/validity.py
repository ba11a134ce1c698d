"""
Whether a run is what it should be: statuses with reasons, from recorded data alone.

The rules are those of the word list: `generator-late`, `overloaded`, `errors`, `unclean` (and
`host-busy`, which the guard decides).
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from poollab.load import arrivals
from poollab.load.rows import ABSENT, ERROR, OK
from poollab.quantiles import nearest_rank

Ints = npt.NDArray[np.int64]

#: The generator is late when the p99 lateness of an arrival instant's first request exceeds this share of the gap.
LATE_SHARE_OF_GAP = 0.20
#: A rate is kept when at least this share of the offered requests completed within the observed time.
KEPT_SHARE = 0.99


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
    connections: int
    sessions_before: int | None
    sessions_after: int | None
    new_connections: int
    reachable: int
    warm_up_drained: bool
    finished: bool


@dataclass(frozen=True, slots=True)
class HostUse:
    """What the rest of the host did in the window: mean CPU taken by others and stolen, as shares of all CPUs."""

    other_cpu: float | None = None
    steal: float | None = None


#: A run whose mean use by others is above this share of the guard's threshold is marked, though not broken off.
BUSY_SHARE = 0.5


def host_use(samples: pa.Table) -> HostUse:
    """Derive from the samples what others took between the first and the last of them."""
    first, last = samples.slice(0, 1).to_pylist(), samples.slice(samples.num_rows - 1, 1).to_pylist()
    if samples.num_rows < 2 or first[0]["host_busy_ns"] is None:
        return HostUse()
    all_ns = (last[0]["at_ns"] - first[0]["at_ns"]) * (os.cpu_count() or 1)
    taken = {key: (last[0][key] or 0) - (first[0][key] or 0) for key in first[0] if key != "at_ns"}
    others = taken["host_busy_ns"] - taken["database_cpu_ns"] - taken["generator_cpu_ns"]
    return HostUse(max(0.0, others / all_ns), taken["host_steal_ns"] / all_ns)


def judge(
    columns: Mapping[str, Ints],
    window_s: float,
    allowed_errors: float,
    ends: Ends,
    host: HostUse | None = None,
    limits: tuple[float, float] = (1.0, 1.0),
) -> Verdict:
    """
    Apply every rule and collect what it says.

    `limits` are the guard's thresholds for CPU taken by others and for steal, as shares of all CPUs.
    """
    lateness = first_lateness_p99(columns)
    found = [*_late(columns, lateness), *_overloaded(columns, window_s), *_busy(host or HostUse(), limits)]
    found += [*_errors(columns, allowed_errors), *_unclean(ends)]
    words = dict.fromkeys(word for word, _ in found)
    return Verdict("+".join(words) or "ok", "; ".join(text for _, text in found), lateness)


def first_lateness_p99(columns: Mapping[str, Ints]) -> int | None:
    """Return the p99 of started - scheduled over the first request of each arrival instant, in ns."""
    first = arrivals.first_of_instant(columns["scheduled"]) & (columns["started"] != ABSENT)
    return nearest_rank((columns["started"] - columns["scheduled"])[first], 0.99)


def _late(columns: Mapping[str, Ints], lateness: int | None) -> Iterator[tuple[str, str]]:
    gap = arrivals.gap_ns(columns["scheduled"])
    if lateness is not None and lateness > LATE_SHARE_OF_GAP * gap:
        yield "generator-late", f"p99 lateness {lateness / 1e6:.2f} ms is over 20 % of the {gap / 1e6:g} ms gap"
    if missing := int((columns["started"] == ABSENT).sum()):
        yield "generator-late", f"{missing} requests were never started"


def _overloaded(columns: Mapping[str, Ints], window_s: float) -> Iterator[tuple[str, str]]:
    # A query that the server answered with an error was answered: it counts as an error and not as overload.
    done = (columns["status"] == OK) | ((columns["status"] == ERROR) & (columns["released"] != ABSENT))
    overall = (columns["released"] - columns["scheduled"])[done]
    # Completed requests over the time they took: up to the last release, less what one request ordinarily takes, since
    # the last ones are under way when the window ends however well the rate is kept.
    ordinary = float(np.median(overall)) if done.any() else 0.0
    last_s = max(window_s, (float(columns["released"][done].max()) - ordinary) / 1e9) if done.any() else window_s
    kept = int(done.sum()) / last_s / (len(done) / window_s)
    if kept < KEPT_SHARE:
        yield (
            "overloaded",
            f"{kept:.1%} of the offered rate was achieved ({int(done.sum())} requests in {last_s:.2f} s)",
        )
    if backlog_grows(columns):
        yield "overloaded", "the backlog grew over the window"


def in_flight_at_arrivals(columns: Mapping[str, Ints]) -> Ints:
    """Count for each arrival the earlier requests that had not ended by then."""
    scheduled, released = columns["scheduled"], columns["released"]
    ended = np.sort(np.where(released == ABSENT, np.iinfo(np.int64).max, released))
    return np.asarray(np.arange(len(scheduled)) - np.searchsorted(ended, scheduled, side="right"), dtype=np.int64)


def backlog_grows(columns: Mapping[str, Ints]) -> bool:
    """
    Tell whether requests pile up: each quarter of the window holds more than the one before.

    Growth must end well above where it began (twice, and 10 requests more), so that bursts and noise
    of a queue that empties do not count.
    """
    waiting = in_flight_at_arrivals(columns)
    if len(waiting) < 40:
        return False
    means = [float(part.mean()) for part in np.array_split(waiting, 4)]
    rises = all(b > a for a, b in pairwise(means))
    return rises and means[-1] > 2 * means[0] and means[-1] > means[0] + 10


def _busy(host: HostUse, limits: tuple[float, float]) -> Iterator[tuple[str, str]]:
    for value, limit, text in zip((host.other_cpu, host.steal), limits, ("taken by others", "stolen"), strict=True):
        if value is not None and value > BUSY_SHARE * limit:
            yield (
                "host-busy",
                f"{value:.0%} of the host's CPU time was {text} on average (above {BUSY_SHARE * limit:.0%})",
            )


def _errors(columns: Mapping[str, Ints], allowed: float) -> Iterator[tuple[str, str]]:
    failed = int((columns["status"] != OK).sum())
    if failed > allowed * len(columns["status"]):
        yield "errors", f"{failed} of {len(columns['status'])} requests did not end ok"


def _unclean(ends: Ends) -> Iterator[tuple[str, str]]:
    facts: list[tuple[bool, str]] = [
        (
            ends.connections != ends.pool_size,
            f"the pool holds {ends.connections} connections, expected {ends.pool_size}",
        ),
        (
            ends.sessions_before not in (None, ends.pool_size),
            f"{ends.sessions_before} server sessions before the run, expected {ends.pool_size}",
        ),
        (
            ends.sessions_after not in (None, ends.pool_size),
            f"{ends.sessions_after} server sessions after the run, expected {ends.pool_size}",
        ),
        (ends.new_connections > 0, f"{ends.new_connections} connections were made inside the window"),
        (
            ends.reachable != ends.pool_size,
            f"{ends.reachable} connections could be taken at the end, expected {ends.pool_size}",
        ),
        (not ends.warm_up_drained, "the warm-up did not drain"),
        (not ends.finished, "requests were still under way when the drain ended"),
    ]
    yield from (("unclean", text) for wrong, text in facts if wrong)


def ends_of(
    spec: dict[str, Any], columns: Mapping[str, Ints], facts: dict[str, Any], sessions: tuple[int | None, int | None]
) -> Ends:
    """Collect what was seen at the ends of a run from the generator's facts and the session counts."""
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
    )
