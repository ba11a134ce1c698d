"""One row for each run, and one for each condition over its runs with status ok."""

from typing import Any

import numpy as np
import pandas as pd

from poollab.data.schemas import CONDITIONS, INTERVALS, RANKED, STATUSES
from poollab.stats import requests, usage
from poollab.stats.requests import Sample
from poollab.stats.rows import ABSENT, Rows

KEYS = ("workload", "arm", "limits")
_COUNTS = ("requests", "requests_ok", *(f"requests_{word}" for word in STATUSES[1:]))
_MEANS = [name for name, _, _ in INTERVALS] + ["overall"]


def run_row(record: dict[str, Any], rows: Rows, samples: pd.DataFrame, position: int) -> dict[str, Any]:
    """
    Return a run's row (columns of RUNS) from its record, its requests and its samples.

    Offered is scheduled requests per second of the window; achieved is completed requests per second of
    the observed time, which ends with the last release; of a benchmark the observed time is that of its measured
    iterations alone. Neither a batch nor a closed loop is offered at a rate, and a batch is over when its last request
    is, long before its window may be.
    """
    observed = _observed_s(record)
    values = requests.numbers(Sample.of(rows, own_pool(record)))
    return {
        **{
            key: record[key]
            for key in ("cell", *KEYS, "repeat", "block", "status", "reasons", "schedule_hash", "settings_hash")
        },
        "position": position,
        "client": client(record),
        "pool_size": record["pool_size"],
        "started_at": pd.Timestamp(record["started_at"]),
        "connections_used": _connections_used(rows),
        "sessions_before": record["sessions_before"],
        "sessions_after": record["sessions_after"],
        "plan_settled": record["generator"]["plan"],
        "first_lateness_p99_ns": record["first_lateness_p99_ns"],
        "observed_s": observed,
        **active(record, rows),
        **ran(record),
        **_rates(record, values, observed),
        **values,
        **_usage(record, samples),
    }


def _observed_s(record: dict[str, Any]) -> float:
    """Return the seconds that a run's rates are over: of a benchmark those of its measured iterations."""
    if "benchmark" in record:
        return float(record["benchmark"]["mean_ns"] or 0) * int(record["benchmark"]["iterations"]) / 1e9
    start, end = record["counters"]["database"]
    return float(end["at_ns"] - start["at_ns"]) / 1e9


def _usage(record: dict[str, Any], samples: pd.DataFrame) -> dict[str, Any]:
    """Return a run's usage; of a benchmark no CPU use, since the counters also hold what lies between iterations."""
    found = usage.of_run(record, samples)
    if "benchmark" not in record:
        return found
    return found | {f"{side}_{name}": None for side in usage.SIDES for name in ("cpu_cores", "cpu_of_cap")}


def _rates(record: dict[str, Any], values: dict[str, Any], observed: float) -> dict[str, float | None]:
    """Return offered and achieved rate; None for what was not offered by the clock."""
    if offers_rate(record):
        return {
            "offered_per_s": values["requests"] / record["window_s"],
            # The first reading comes a moment after zero: what was observed may seem shorter than the window.
            "achieved_per_s": values["requests_ok"] / max(observed, record["window_s"]),
        }
    return {"offered_per_s": None, "achieved_per_s": values["requests_ok"] / observed if observed > 0 else None}


def offers_rate(record: dict[str, Any]) -> bool:
    """Tell whether a run's requests were due by the clock, and not all at once or one after another."""
    arrivals = record["settings"]["workload"].get("arrivals") or {}
    return bool(arrivals) and not (arrivals.get("closed") or arrivals.get("batch"))


def own_pool(record: dict[str, Any]) -> int:
    """Return the number of connections in the pool of each of a run's processes; a benchmark's row has its own."""
    if "benchmark" in record:
        return int(record["pool_size"])
    return int(record["settings"]["arm"]["size"])


def client(record: dict[str, Any]) -> str:
    """Return the client of a run: its arm's, where that names one, else the study's."""
    return str(record["settings"]["arm"].get("client") or record["settings"]["client"])


def ran(record: dict[str, Any]) -> dict[str, str | None]:
    """Return driver and pool with their versions as the load generator found them loaded; None where it used none."""
    proofs = (record.get("benchmark") or {}).get("implementations")
    if proofs:
        # A mixed row runs two pools; each proof names its own driver.
        drivers = [proof["driver"] for proof in proofs.values()]
        pools = [f"{p['module']}.{p['class_name']} {p['version']}" for p in proofs.values()]
        return {"driver": _each(drivers), "pool_class": _each(pools)}
    facts = record["generator"]
    driver, pool = facts.get("driver"), facts.get("pool")
    return {
        "driver": driver and _name(driver["module"], driver["version"], driver.get("implementation")),
        "pool_class": pool and _name(f"{pool['module']}.{pool['class']}", pool["version"]),
    }


def _name(what: str, version: str, made_of: str | None = None) -> str:
    return f"{what} {version}" + (f" ({made_of})" if made_of else "")


def _each(names: list[str]) -> str:
    return "; ".join(dict.fromkeys(names))


def _connections_used(rows: Rows) -> int:
    """Count the connections that carried a request; each process numbers its own."""
    taken = rows.connection >= 0
    return sum(
        len(np.unique(rows.connection[taken & (rows.process == process)])) for process in np.unique(rows.process)
    )


def active(record: dict[str, Any], rows: Rows) -> dict[str, int | None]:
    """
    Return how long the server's sessions were executing in a run, and the sum of the client's query round trips.

    None for the client where a request also holds its connection without a query: then the two are not the same.
    """
    server = record.get("server_active_ns") or [None, None]
    increase = None if None in server else int(server[1] - server[0])
    answered = (rows.acquired_ns != ABSENT) & (rows.result_ns != ABSENT)
    trips = int((rows.result_ns - rows.acquired_ns)[answered].sum())
    held = any(step.get("hold") or step.get("compute") for step in record["settings"]["workload"].get("request") or [])
    return {"server_active_ns": increase, "client_active_ns": None if held else trips}


def condition_row(planned: int, runs: pd.DataFrame, pooled: Sample | None) -> dict[str, Any]:
    """
    Return a condition's row (columns of CONDITIONS) from its runs and the requests of those with status ok, pooled.

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
    if good.empty or pooled is None:
        return values | dict.fromkeys(_COUNTS, 0)
    values |= requests.numbers(pooled)
    observed = float(good["observed_s"].sum())
    values |= {
        "observed_s": observed,
        "offered_per_s": None if good["offered_per_s"].isna().any() else float(good["offered_per_s"].mean()),
        "achieved_per_s": float((good["achieved_per_s"] * good["observed_s"]).sum() / observed),
        "connections_used_max": int(good["connections_used"].max()),
        **usage.pooled(good),
    }
    for name in RANKED:
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
