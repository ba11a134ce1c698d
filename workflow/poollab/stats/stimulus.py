"""The load tests itself: what was delivered, from the raw rows, against what the schedule asked for."""

import math
from typing import Any

import numpy as np
from scipy import stats

from poollab.quantiles import nearest_ranks
from poollab.stats import asked
from poollab.stats.rows import ABSENT, Ints, Rows

#: A Kolmogorov-Smirnov test looks at so many gaps at most (the first ones): more add cost and no insight.
MOST_GAPS = 100_000
#: Schedules whose number of requests follows from the study file exactly; of others it may differ by an edge or two.
EXACT = ("uniform", "bursts", "batch")
#: Below this probability a test says that what was seen is not what was asked for.
DOUBT = 0.001


def of_run(
    rows: Rows, arrivals: dict[str, Any], window_s: float, capacity_per_s: float | None = None
) -> dict[str, Any]:
    """
    Return one run's account of its load (times in ns); `capacity_per_s` is what shares of capacity are of.

    `kind` is the schedule's; `scheduled` and `delivered` count requests, `planned` is what the study file alone
    asks for (the mean, where drawn; None for a closed loop). Gaps are between distinct instants. `lateness_*` is
    started - scheduled. `completed_in_window_per_s` counts what ended ok within the window, unlike the achieved rate of
    the tables, which takes in what was drained after it. `faults` lists in words what does not fit, and is empty for a
    sound load.
    """
    kind = next((name for name, value in arrivals.items() if value), "unknown")
    begun = rows.started_ns != ABSENT
    late = (rows.started_ns - rows.scheduled_ns)[begun]
    found = {
        "kind": kind,
        "planned": asked.count(arrivals, window_s, capacity_per_s),
        "scheduled": len(rows),
        "delivered": int(begun.sum()),
        "early": int((late < 0).sum()),
        **dict(zip(("lateness_p50_ns", "lateness_p99_ns"), nearest_ranks(late, [0.5, 0.99]), strict=True)),
        **_quarters(rows.scheduled_ns[begun], late, window_s),
        **_gaps(rows.scheduled_ns, rows.started_ns[begun]),
        "offered_per_s": len(rows) / window_s,
        "completed_in_window_per_s": float(((rows.end_ns != ABSENT) & (rows.end_ns <= window_s * 1e9) & rows.ok).sum())
        / window_s,
    }
    found |= _poisson(rows.scheduled_ns, arrivals, window_s, capacity_per_s) if asked.random(arrivals) else {}
    found |= _plateau(rows, arrivals, window_s) if kind == "closed" else {}
    return {**found, "faults": _faults(found)}


def _quarters(scheduled: Ints, late: Ints, window_s: float) -> dict[str, float | None]:
    """Return the mean lateness in the first and the last quarter of the window: a generator that tires shows there."""
    first, last = scheduled < window_s * 0.25e9, scheduled >= window_s * 0.75e9
    return {
        f"lateness_{name}_quarter_mean_ns": float(late[part].mean()) if part.any() else None
        for name, part in (("first", first), ("last", last))
    }


def _gaps(scheduled: Ints, started: Ints) -> dict[str, float | None]:
    """Return mean and spread of the gaps between instants as scheduled, and the mean as delivered."""
    gaps = np.diff(np.unique(scheduled))
    between = float(started.max() - started.min()) / len(gaps) if len(gaps) and len(started) else None
    return {
        "gap_mean_ns": float(gaps.mean()) if len(gaps) else None,
        "gap_cv": float(gaps.std() / gaps.mean()) if len(gaps) else None,
        "delivered_gap_mean_ns": between,
    }


def _poisson(
    scheduled: Ints, arrivals: dict[str, Any], window_s: float, capacity_per_s: float | None
) -> dict[str, float | None]:
    """
    Test the gaps against an exponential distribution (Kolmogorov-Smirnov).

    They are measured in arrivals that were asked for in the meantime, so that a rate which changes is no fault.
    """
    due = asked.cumulative(arrivals, scheduled[: MOST_GAPS + 1] / 1e9, window_s, capacity_per_s)
    if due is None or len(due) < 3:
        return {"ks": None, "ks_p": None}
    found = stats.kstest(np.diff(due), "expon")
    return {"ks": float(found.statistic), "ks_p": float(found.pvalue)}


def _plateau(rows: Rows, arrivals: dict[str, Any], window_s: float) -> dict[str, Any]:
    """Return workers asked for and requests in flight between the first and the last tenth of the window."""
    start, end = window_s * 0.1e9, window_s * 0.9e9
    instants = np.linspace(start, end, 2001).astype(np.int64)
    begun = np.sort(rows.started_ns[rows.started_ns != ABSENT])
    gone = np.sort(rows.end_ns[rows.end_ns != ABSENT])
    inside = np.searchsorted(begun, instants, side="right") - np.searchsorted(gone, instants, side="right")
    closed = arrivals["closed"]
    return {
        "workers": int(closed["workers"]),
        "think_ns": round(float(closed.get("think_ms") or 0) * 1e6),
        "in_flight_mean": float(inside.mean()),
        "in_flight_min": int(inside.min()),
        "in_flight_max": int(inside.max()),
    }


def _faults(found: dict[str, Any]) -> list[str]:
    """Say what does not fit."""
    said = []
    if found["delivered"] != found["scheduled"]:
        said.append(f"{found['scheduled'] - found['delivered']} of {found['scheduled']} requests were never started")
    if found["early"]:
        said.append(f"{found['early']} requests were started before their time")
    planned, got = found["planned"], found["scheduled"]
    slack = 4 * math.sqrt(planned) + 1 if planned and "ks" in found else 0.5 if found["kind"] in EXACT else 10.0
    if planned is not None and abs(got - planned) > slack:
        said.append(f"{got} requests were scheduled, and the study file asks for {planned:.0f}")
    if (p := found.get("ks_p")) is not None and p < DOUBT:
        said.append(f"the gaps are not those of Poisson arrivals (Kolmogorov-Smirnov p {p:.1g})")
    if (most := found.get("in_flight_max")) is not None and most > found["workers"]:
        said.append(f"{most} requests were in flight at once, of {found['workers']} workers")
    if found.get("think_ns") == 0 and found["in_flight_mean"] < 0.9 * found["workers"]:
        said.append(f"{found['in_flight_mean']:.1f} of {found['workers']} workers were busy on average")
    return said
