"""Interval means and percentiles of a set of requests: of a run, or of a condition's runs pooled."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from poollab.data.schemas import STATUSES
from poollab.quantiles import beyond, nearest_ranks
from poollab.stats import waits
from poollab.stats.rows import ABSENT, PARTS, Ints, Rows, overall, parts

#: Shares of the overall time's percentiles, by the name in a column.
TAIL = {"50": 0.5, "95": 0.95, "99": 0.99, "999": 0.999}
#: Those of every other interval.
USUAL = {name: TAIL[name] for name in ("50", "95", "99")}


@dataclass(frozen=True, slots=True)
class Sample:
    """What of some requests goes into the tables; smaller than their rows, and two can be joined."""

    statuses: Ints
    """Count of each status."""
    sums: dict[str, int | None]
    """Sum of each interval in ns over the requests that ended ok; None where it does not exist."""
    overall: Ints
    wait: Ints | None
    trip: Ints | None
    waited: Ints | None
    """Acquisition waits of those requests that waited, in ns; None where no connection was taken."""
    late: Ints
    """Scheduling delay of every request that was started, in ns, since lateness of a failed one counts too."""

    @classmethod
    def of(cls, rows: Rows, size: int) -> "Sample":
        """Take a run's requests; `size` is the number of connections in each process's pool."""
        good = rows.ok
        done = rows.where(good)
        found = parts(done)
        wait = found["acquisition_wait"]
        begun = rows.started_ns != ABSENT
        return cls(
            statuses=np.bincount(rows.status, minlength=len(STATUSES)).astype(np.int64),
            sums={name: None if values is None else _sum(values) for name, values in found.items()},
            overall=overall(done),
            wait=wait,
            trip=found["query_round_trip"],
            waited=None if wait is None else wait[waits.waited(rows, size)[good]],
            late=(rows.started_ns - rows.scheduled_ns)[begun],
        )

    @classmethod
    def join(cls, samples: Sequence["Sample"]) -> "Sample":
        """Pool the requests of several runs (at least one)."""
        return cls(
            statuses=np.sum([s.statuses for s in samples], axis=0),
            sums={name: _total([s.sums[name] for s in samples]) for name in PARTS},
            overall=np.concatenate([s.overall for s in samples]),
            wait=_joined([s.wait for s in samples]),
            trip=_joined([s.trip for s in samples]),
            waited=_joined([s.waited for s in samples]),
            late=np.concatenate([s.late for s in samples]),
        )


def numbers(sample: Sample) -> dict[str, Any]:
    """
    Return counts, interval means and percentiles (columns as in data/schemas.py); None for what does not exist.

    Means and percentiles of intervals are over requests with status ok: the same for each interval, so the
    interval means add up to the overall mean.
    """
    count = len(sample.overall)
    values: dict[str, Any] = {"requests": int(sample.statuses.sum()), "requests_ok": int(sample.statuses[0])}
    values |= {f"requests_{word}": int(n) for word, n in zip(STATUSES[1:], sample.statuses[1:], strict=True)}
    values |= {f"{name}_mean_ns": _mean(total, count) for name, total in sample.sums.items()}
    values["overall_mean_ns"] = _mean(_sum(sample.overall), count)
    values |= _ranks("overall", sample.overall, TAIL)
    values |= {f"overall_beyond_p{name}": beyond(count, share) for name, share in TAIL.items()}
    values["overall_max_ns"] = _most(sample.overall)
    values |= _ranks("acquisition_wait", sample.wait, USUAL) | _ranks("query_round_trip", sample.trip, USUAL)
    values |= _waiting(sample)
    values |= {"scheduling_delay_p99_ns": nearest_ranks(sample.late, [0.99])[0]}
    return values | {"scheduling_delay_max_ns": _most(sample.late)}


def _waiting(sample: Sample) -> dict[str, Any]:
    """Return how many requests waited for a connection, and the wait of those."""
    some, asked = sample.waited, 0 if sample.wait is None else len(sample.wait)
    values: dict[str, Any] = {
        "requests_waited": None if some is None or not asked else len(some),
        "waited_share": None if some is None or not asked else len(some) / asked,
    }
    values |= {f"waited_beyond_p{n}": None if some is None else beyond(len(some), s) for n, s in USUAL.items()}
    return values | _ranks("waited_wait", some, USUAL)


def _ranks(name: str, values: Ints | None, shares: dict[str, float]) -> dict[str, int | None]:
    found = [None] * len(shares) if values is None else nearest_ranks(values, list(shares.values()))
    return {f"{name}_p{share}_ns": value for share, value in zip(shares, found, strict=True)}


def _most(values: Ints) -> int | None:
    return int(values.max()) if len(values) else None


def _sum(values: Ints) -> int:
    return int(values.sum())


def _mean(total: int | None, count: int) -> float | None:
    return None if total is None or not count else total / count


def _total(sums: Sequence[int | None]) -> int | None:
    """Add up; what does not exist in any run does not exist, and a run without it among others adds nothing."""
    known = [s for s in sums if s is not None]
    return sum(known) if known else None


def _joined(columns: Sequence[Ints | None]) -> Ints | None:
    known = [c for c in columns if c is not None]
    return np.concatenate(known) if known else None
