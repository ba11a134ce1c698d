"""CPU, throttling and memory of a side, from the counters at both ends of a run and the samples between."""

from typing import Any

import pandas as pd

SIDES = ("database", "generator")


def of_run(record: dict[str, Any], samples: pd.DataFrame) -> dict[str, Any]:
    """
    Return a run's usage columns; None where the kernel offers no value.

    CPU use is the increase over the observed duration. The throttle ratio is throttled periods over
    active periods: neither a share of time nor of waiting. Page cache = file - shmem.
    """
    values: dict[str, Any] = {}
    for side in SIDES:
        start, end = record["counters"][side]
        seconds = (end["at_ns"] - start["at_ns"]) / 1e9
        quota = record["caps"]["database" if side == "database" else "load_generator"]
        cap = None if quota["quota_us"] is None else quota["quota_us"] / quota["period_us"]
        cpu = _increase(start, end, "cpu_ns")
        values |= {f"{side}_{k}": v for k, v in _cpu(cpu, cap, seconds).items()}
        values |= {
            f"{side}_{k}": v
            for k, v in throttling(
                *(_increase(start, end, n) for n in ("periods", "throttled", "throttled_ns"))
            ).items()
        }
        values |= {f"{side}_{k}": v for k, v in _memory(start, samples, side).items()}
    return values


def _increase(start: dict[str, Any], end: dict[str, Any], name: str) -> int | None:
    return None if start[name] is None or end[name] is None else end[name] - start[name]


def _cpu(cpu_ns: int | None, cap: float | None, seconds: float) -> dict[str, Any]:
    cores = None if cpu_ns is None else cpu_ns / 1e9 / seconds
    return {"cap_cores": cap, "cpu_cores": cores, "cpu_of_cap": None if cores is None or not cap else cores / cap}


def throttling(periods: int | None, throttled: int | None, throttled_ns: int | None) -> dict[str, Any]:
    """Return the throttle columns of an increase; the ratio is None where no period was active."""
    ratio = None if not periods or throttled is None else throttled / periods
    return {
        "periods": periods,
        "throttled": throttled,
        "throttle_ratio": ratio,
        "throttled_s": None if throttled_ns is None else throttled_ns / 1e9,
    }


def _memory(start: dict[str, Any], samples: pd.DataFrame, side: str) -> dict[str, Any]:
    def mean(column: "pd.Series[Any]") -> float | None:
        return float(column.astype("float64").mean()) if column.notna().any() else None

    usage = samples[f"{side}_memory_bytes"]
    return {
        "memory_start_bytes": start["memory_bytes"],
        "memory_mean_bytes": mean(usage),
        "memory_max_bytes": int(usage.max()) if usage.notna().any() else None,
        "anon_mean_bytes": mean(samples[f"{side}_anon_bytes"]),
        "shmem_mean_bytes": mean(samples[f"{side}_shmem_bytes"]),
        "kernel_mean_bytes": mean(samples[f"{side}_kernel_bytes"]),
        "page_cache_mean_bytes": mean(samples[f"{side}_file_bytes"] - samples[f"{side}_shmem_bytes"]),
    }


def pooled(runs: pd.DataFrame) -> dict[str, Any]:
    """
    Pool the usage columns of runs: CPU weighted by observed duration, throttle counts added up.

    Memory at the start and mean are means over runs, the maximum is the largest.
    """
    values: dict[str, Any] = {}
    weight = runs["observed_s"].astype("float64")
    for side in SIDES:
        caps = runs[f"{side}_cap_cores"].dropna().unique()
        cap = float(caps[0]) if len(caps) == 1 else None
        cores = runs[f"{side}_cpu_cores"].astype("float64")
        known = cores.notna()
        use = float((cores[known] * weight[known]).sum() / weight[known].sum()) if known.any() else None
        values |= {
            f"{side}_cap_cores": cap,
            f"{side}_cpu_cores": use,
            f"{side}_cpu_of_cap": use / cap if use is not None and cap else None,
        }
        sums = {n: _sum(runs[f"{side}_{n}"]) for n in ("periods", "throttled", "throttled_s")}
        seconds = sums["throttled_s"]
        values |= {
            f"{side}_{k}": v
            for k, v in throttling(
                _whole(sums["periods"]), _whole(sums["throttled"]), None if seconds is None else round(seconds * 1e9)
            ).items()
        }
        for name in (
            "memory_start_bytes",
            "memory_mean_bytes",
            "anon_mean_bytes",
            "shmem_mean_bytes",
            "kernel_mean_bytes",
            "page_cache_mean_bytes",
        ):
            column = runs[f"{side}_{name}"].astype("float64")
            values[f"{side}_{name}"] = float(column.mean()) if column.notna().any() else None
        start = values[f"{side}_memory_start_bytes"]
        values[f"{side}_memory_start_bytes"] = None if start is None else round(start)
        most = runs[f"{side}_memory_max_bytes"]
        values[f"{side}_memory_max_bytes"] = int(most.max()) if most.notna().any() else None
    return values


def _sum(column: "pd.Series[Any]") -> float | None:
    return float(column.sum()) if column.notna().all() and len(column) else None


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
