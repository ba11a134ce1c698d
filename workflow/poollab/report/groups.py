"""
Conditions as the report compares them.

A group is one workload under one set of limits, its arms are ordered by pool size, and each arm carries
its condition's numbers and all its runs. Times in ms, everything else in the unit of its key.
"""

from poollab.data.schemas import INTERVALS, STATUSES
from poollab.quantiles import beyond
from poollab.report.load import Results, Row
from poollab.report.studyview import StudyView
from poollab.report.words import to_ms
from poollab.stats.rows import PARTS

INTERVAL_NAMES = tuple(name for name, _, _ in INTERVALS)
#: Parts that only requests with steps before the wait or after the release have.
EXTRA_NAMES = tuple(name for name in PARTS if name not in INTERVAL_NAMES)
MEAN_NAMES = (*PARTS, "overall")
PERCENTILES = (50, 95, 99)
WAIT_RANKS = (50, 95, 99)
SIDES = ("database", "generator")
SIDE_KEYS = (
    "cap_cores",
    "cpu_cores",
    "cpu_of_cap",
    "periods",
    "throttled",
    "throttle_ratio",
    "throttled_s",
    "memory_start_bytes",
    "memory_mean_bytes",
    "memory_max_bytes",
    "anon_mean_bytes",
    "shmem_mean_bytes",
    "kernel_mean_bytes",
    "page_cache_mean_bytes",
)


def build(results: Results, study: StudyView) -> list[Row]:
    """List the groups in the order of the study file, arms from the smallest to the largest pool."""
    found: dict[tuple[str, str], list[Row]] = {}
    for condition in results.conditions:
        key = (condition["workload"], condition["limits"])
        runs = [r for r in results.runs if _key(r) == _key(condition)]
        found.setdefault(key, []).append(_arm(condition, runs, study))
    ranked = sorted(found, key=lambda k: (study.rank("workloads", k[0]), study.rank("limits", k[1]), k))
    return [_group(key, found[key], study) for key in ranked]


def intervals_of(group: Row) -> list[str]:
    """List the intervals that a group's requests have, in the order in which a request passes them."""
    return [
        name
        for name in PARTS
        if name in INTERVAL_NAMES or any(arm["means_ms"][name] is not None for arm in group["arms"])
    ]


def _key(row: Row) -> tuple[str, str, str]:
    return row["workload"], row["arm"], row["limits"]


def _group(key: tuple[str, str], arms: list[Row], study: StudyView) -> Row:
    workload, limits = key
    ordered = sorted(arms, key=lambda a: (a["pool_size"], study.arm_rank(a["arm"]), a["arm"]))
    view = study.workload(workload)
    if view["rate_per_s"] is None:
        view["rate_per_s"] = _offered(ordered)
    return {
        "id": "-".join(part for part in key if part),
        "workload": workload,
        "limits": limits,
        "label": f"{workload}, limits {limits}" if limits else workload,
        "arms": ordered,
        **view,
    }


def _offered(arms: list[Row]) -> float | None:
    """Return the rate that all arms were offered, where it is one; the study file does not fix it."""
    rates = [a["offered_per_s"] for a in arms if a["offered_per_s"] is not None]
    return rates[0] if rates and max(rates) - min(rates) <= 0.001 * rates[0] else None


def _arm(condition: Row, runs: list[Row], study: StudyView) -> Row:
    label = study.arm_label(condition["arm"], condition["pool_size"])
    shared = (
        "arm",
        "pool_size",
        "client",
        "runs_planned",
        "runs_measured",
        "runs_ok",
        "blocks",
        "connections_used_max",
    )
    ok_runs = [r for r in runs if r["status"] == "ok"]
    return {
        **{key: condition[key] for key in shared},
        "label": label,
        "connections": condition["pool_size"] * study.processes(condition["arm"]),
        **_numbers(condition),
        "means_run_ms": {n: _ends(condition, f"{n}_mean_run") for n in MEAN_NAMES},
        "percentiles": {f"p{q}": _percentile(condition, ok_runs, q) for q in PERCENTILES},
        "start_delay_p99": _start_delay(condition, ok_runs),
        "wait": _wait(condition, ok_runs),
        "runs": [run_entry(r) for r in runs],
    }


def run_entry(run: Row) -> Row:
    """Return one run with its keys, status and numbers."""
    keys = ("cell", "workload", "arm", "limits", "repeat", "position", "block", "pool_size", "status", "reasons")
    return {
        **{key: run[key] for key in keys},
        "ok": run["status"] == "ok",
        "first_lateness_p99_ms": to_ms(run["first_lateness_p99_ns"]),
        "connections_used": run["connections_used"],
        "p99": {"ms": to_ms(run["overall_p99_ns"]), "beyond": run["overall_beyond_p99"]},
        **_numbers(run),
    }


def _numbers(row: Row) -> Row:
    return {
        "requests": row["requests"],
        "requests_by_status": {s: row[f"requests_{s}"] for s in STATUSES},
        "requests_ok": row["requests_ok"],
        "observed_s": row["observed_s"],
        "offered_per_s": row["offered_per_s"],
        "achieved_per_s": row["achieved_per_s"],
        "means_ms": {n: to_ms(row.get(f"{n}_mean_ns")) for n in MEAN_NAMES},
        "scheduling_delay_max_ms": to_ms(row["scheduling_delay_max_ns"]),
        **{side: {key: row[f"{side}_{key}"] for key in SIDE_KEYS} for side in SIDES},
    }


def _ends(row: Row, stem: str) -> list[float | None]:
    return [to_ms(row.get(f"{stem}_min_ns")), to_ms(row.get(f"{stem}_max_ns"))]


def _wait(condition: Row, runs: list[Row]) -> Row:
    """Return how many requests waited for a connection, and the wait of those, in ms."""
    return {
        "share": condition.get("waited_share"),
        "requests": condition.get("requests_waited"),
        "all_p99_ms": to_ms(condition.get("acquisition_wait_p99_ns")),
        "all_beyond": condition["overall_beyond_p99"],
        **{
            f"p{q}": {
                "ms": to_ms(condition.get(f"waited_wait_p{q}_ns")),
                "beyond": condition.get(f"waited_beyond_p{q}"),
                **dict(zip(("run_min_ms", "run_max_ms"), _ends(condition, f"waited_wait_p{q}_run"), strict=True)),
                "run_beyond": min((r.get(f"waited_beyond_p{q}") or 0 for r in runs), default=0),
            }
            for q in WAIT_RANKS
        },
    }


def _percentile(condition: Row, runs: list[Row], q: int) -> Row:
    low, high = _ends(condition, f"overall_p{q}_run")
    return {
        "ms": to_ms(condition[f"overall_p{q}_ns"]),
        "beyond": condition[f"overall_beyond_p{q}"],
        "run_min_ms": low,
        "run_max_ms": high,
        "run_beyond": min((r[f"overall_beyond_p{q}"] or 0 for r in runs), default=0),
    }


def _start_delay(condition: Row, runs: list[Row]) -> Row:
    """Its support is counted by rank, since no column counts the requests beyond it."""
    low, high = _ends(condition, "scheduling_delay_p99_run")
    return {
        "ms": to_ms(condition["scheduling_delay_p99_ns"]),
        "beyond": beyond(condition["requests_ok"], 0.99),
        "run_min_ms": low,
        "run_max_ms": high,
        "run_beyond": min((beyond(r["requests_ok"], 0.99) for r in runs), default=0),
    }
