"""One row for each run, and one for each condition over its runs with status ok."""

from typing import Any

import pandas as pd

from poollab.data.schemas import CONDITIONS, INTERVALS
from poollab.stats import requests, usage

KEYS = ("workload", "arm", "limits")
_MEANS = [name for name, _, _ in INTERVALS] + ["overall"]
_RANKS = ("overall_p50", "overall_p95", "overall_p99", "scheduling_delay_p99")


def run_row(record: dict[str, Any], rows: pd.DataFrame, samples: pd.DataFrame, position: int) -> dict[str, Any]:
    """
    Return a run's row (columns of RUNS) from its record, its requests and its samples.

    Offered is scheduled requests per second of the window; achieved is completed requests per second of
    the observed time, which ends with the last release.
    """
    start, end = record["counters"]["database"]
    observed = (end["at_ns"] - start["at_ns"]) / 1e9
    values = requests.numbers(rows)
    used = rows["connection"].dropna()
    return {
        **{
            key: record[key]
            for key in ("cell", *KEYS, "repeat", "block", "status", "reasons", "schedule_hash", "settings_hash")
        },
        "position": position,
        "client": record["settings"]["client"],
        "pool_size": record["pool_size"],
        "started_at": pd.Timestamp(record["started_at"]),
        "connections_used": int(used.nunique()),
        "sessions_before": record["sessions_before"],
        "sessions_after": record["sessions_after"],
        "plan_settled": record["generator"]["plan"],
        "first_lateness_p99_ns": record["first_lateness_p99_ns"],
        "observed_s": observed,
        "offered_per_s": values["requests"] / record["window_s"],
        "achieved_per_s": values["requests_ok"] / max(observed, record["window_s"]),
        **values,
        **usage.of_run(record, samples),
    }


def condition_row(planned: int, runs: pd.DataFrame, rows: pd.DataFrame) -> dict[str, Any]:
    """
    Return a condition's row (columns of CONDITIONS): its runs with status ok, their requests pooled.

    `runs` holds all measured runs of the condition and at least one; where none is ok the numbers are None.
    """
    good = runs[runs["status"] == "ok"]
    first = runs.iloc[0]
    values: dict[str, Any] = {
        **{key: first[key] for key in (*KEYS, "client", "pool_size")},
        "runs_planned": planned,
        "runs_measured": len(runs),
        "runs_ok": len(good),
        "blocks": int(runs["block"].nunique()),
    }
    pooled = requests.numbers(rows[rows["cell"].isin(good["cell"])])
    values |= pooled
    if good.empty:
        return values
    observed = float(good["observed_s"].sum())
    values |= {
        "observed_s": observed,
        "offered_per_s": float(good["offered_per_s"].mean()),
        "achieved_per_s": float((good["achieved_per_s"] * good["observed_s"]).sum() / observed),
        "connections_used_max": int(good["connections_used"].max()),
        **usage.pooled(good),
    }
    for name in _RANKS:
        values |= {f"{name}_run_{end}_ns": _int(getattr(good[f"{name}_ns"], end)()) for end in ("min", "max")}
    for name in _MEANS:
        values |= {
            f"{name}_mean_run_{end}_ns": float(getattr(good[f"{name}_mean_ns"], end)()) for end in ("min", "max")
        }
    return values


def _int(value: Any) -> int | None:
    return None if pd.isna(value) else int(value)


def complete(row: dict[str, Any]) -> dict[str, Any]:
    """Fill the columns of CONDITIONS that a condition without a single good run lacks."""
    return {name: row.get(name) for name in CONDITIONS.names}
