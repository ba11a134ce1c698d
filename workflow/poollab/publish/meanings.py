"""What every column of every table means: by its own name, by the table it stands in, or by the parts of its name."""

import re
from collections.abc import Callable
from typing import Final

from poollab.data.schemas import RUN_STATUSES, STATUSES

#: Columns that mean another thing in another table.
IN_TABLE: Final[dict[str, dict[str, str]]] = {
    "requests": {
        "status": f"how the request ended: {', '.join(STATUSES[:-1])}, or {STATUSES[-1]} (still under way when the "
        "drain ended)",
    },
    "runs": {
        "status": f"ok, or what is wrong with the run, joined by +: {', '.join(RUN_STATUSES[1:])}",
        "offered_per_s": "scheduled requests per second of the window; null for a batch and for a closed loop",
        "achieved_per_s": "requests with status ok per second of the observed time (at least of the window, where a "
        "rate was offered)",
        "observed_s": "from zero to the later of window end and last release; to the last release for a batch; of a "
        "benchmark the time of its iterations",
    },
    "conditions": {
        "offered_per_s": "mean of the offered rates of the runs with status ok",
        "achieved_per_s": "requests with status ok per second of the observed time, over the runs with status ok",
        "observed_s": "observed time of the runs with status ok, added up",
    },
}

#: Columns that mean the same wherever they stand.
ANYWHERE: Final[dict[str, str]] = {
    "cell": "workload, arm, limits (where the study compares some) and repeat: one thing that was measured",
    "workload": "label of the workload: what one request does, and when requests are due",
    "arm": "label of the client with its pool settings, pool-20 for a plain pool of 20",
    "limits": "label of the caps' level where the study compares levels, else empty",
    "repeat": "number of the repeat, from 1; each is one shuffled pass over all conditions",
    "block": "number of the block, an unbroken stretch of runs against one database, from 1",
    "position": "place of the run in the order in which the runs were executed, from 1",
    "client": "driver and execution model of the load generator",
    "pool_size": "connections that the pool holds",
    "reasons": "why the status is not ok, sentences joined by a semicolon; empty for ok",
    "started_at": "wall time of zero, a label only: no interval is computed from it",
    "request": "number of the request in its run, in order of schedule, from 0",
    "scheduled_ns": "when the request was due; negative in the warm-up. In a closed loop the worker's previous release "
    "plus its think time",
    "started_ns": "when the request's task began; empty if never",
    "asked_ns": "when a connection was asked for; empty where nothing comes before that, so that it is started_ns",
    "acquired_ns": "when the request held a connection; empty if never",
    "result_ns": "when the result of its last statement was there, as the client sees it; empty if never",
    "released_ns": "when the connection was back in the pool; empty if never",
    "ended_ns": "when the whole request had ended, or had failed without a release (an acquire_timeout); empty where "
    "nothing follows the release",
    "error_class": "class and text of the error that ended the request; empty where none did",
    "connection": "number of the connection that served the request, in order of establishment, from 0; empty if none",
    "connection_use": "how often that connection had been used in this run, this request included, from 1",
    "process": "number of the load generator's process that did the request, from 0",
    "step": "number of the step of the arrival schedule, from 1; empty where the schedule has no steps, and in the "
    "warm-up; of a benchmark its iteration",
    "closed": "whether the request belongs to a closed loop; such rows are never compared with open-loop ones",
    "runs_planned": "runs of the condition that the study plans",
    "runs_measured": "runs of the condition that were measured",
    "runs_ok": "runs of the condition with status ok; the numbers of this row are over these",
    "blocks": "blocks in which the runs of the condition were measured",
    "requests": "scheduled requests",
    "requests_ok": "requests with status ok; means and percentiles of intervals are over these",
    "requests_error": "requests that ended in an error",
    "requests_acquire_timeout": "requests that got no connection in the time allowed",
    "requests_query_timeout": "requests whose statement took longer than allowed",
    "requests_unfinished": "requests still under way when the drain ended, or never begun",
    "connections_used": "connections of the pool that carried at least one request",
    "connections_used_max": "largest number of connections used among the runs with status ok",
    "sessions_before": "server sessions of the load generator before the window, from the server's processes",
    "sessions_after": "server sessions of the load generator after the window",
    "plan_settled": "which kind of plan the statement had settled on before the window",
    "first_lateness_p99_ns": "p99 of the lateness of each arrival instant's first request; over a fifth of the gap and "
    "over 1 ms the run is generator-late",
    "schedule_hash": "hash of schedule and arguments; the same for every arm of a workload's repeat",
    "settings_hash": "hash of all settings that decide the measurement",
    "at_ns": "when the sample was taken",
    "requests_waited": "requests that asked for a connection while all were taken",
    "waited_share": "requests that waited, as a share of those that asked for a connection and ended ok",
    "server_active_ns": "time that the server's sessions were executing, by its own clock; empty where it counts none, "
    "or where a connection is also held without a query",
    "client_active_ns": "sum of the query round trips as the client saw them, to compare with server_active_ns",
    "driver": "driver of the load generator with its version, as it was loaded while the run was made; empty where it "
    "used none, and in results of format 2",
    "pool_class": "class of the pool with the version of its package, as Python named it while the run was made",
    "database_sessions": "client sessions of the server, counted by the titles of its processes once a second; empty "
    "in between, and where the processes cannot be seen in a group of their own",
    "iteration": "number of the timed iteration, from 0, the warm-up's first",
    "warm_up": "whether the iteration belongs to the warm-up",
    "began_ns": "when the iteration began, since the first measured one; negative in the warm-up",
    "duration_ns": "how long the iteration took",
    "operations": "check-outs from the pool in the iteration",
    "failed": "check-outs that ended with another status than ok",
    "connects": "physical connections made inside the timed part",
    "generator_cpu_ns": "CPU time of the load generator's process, all threads",
    "rss_bytes": "memory of the load generator's process at the iteration's end",
    "host_busy_ns": "CPU time of the whole host that was not idle, since boot",
    "host_steal_ns": "CPU time that the hypervisor withheld, since boot",
    "host_runnable": "runnable processes on the host",
    "host_available_bytes": "memory of the host that is available",
}

_SIDES: Final = {"database": "database", "generator": "load generator"}
_SIDE: Final[dict[str, str]] = {
    "cap_cores": "CPU cap of the {side}; empty: uncapped",
    "cpu_cores": "mean CPU use of the {side}: increase of its counter over the observed time; empty for a benchmark",
    "cpu_of_cap": "CPU use of the {side} as a share of its cap; empty where uncapped, and for a benchmark",
    "cpu_ns": "CPU time of the {side}, the kernel's total",
    "periods": "periods of the quota in which the {side} was active",
    "throttled": "periods in which the {side} was throttled",
    "throttle_ratio": "throttled periods over periods of the {side}: a share neither of time nor of waiting",
    "throttled_s": "throttled time of the {side}, summed over CPUs",
    "throttled_ns": "throttled time of the {side}, summed over CPUs, the kernel's total",
    "memory_bytes": "memory of the {side}, page cache included",
    "anon_bytes": "anonymous memory of the {side}",
    "file_bytes": "page cache and shared memory of the {side}",
    "shmem_bytes": "shared memory of the {side}; a server's shared buffers are part of it",
    "kernel_bytes": "kernel memory of the {side}",
    "inactive_file_bytes": "page cache of the {side} that the kernel would take back first: working set = memory_bytes "
    "- inactive_file_bytes",
    "memory_start_bytes": "memory of the {side} at zero, page cache included",
    "memory_mean_bytes": "mean of the samples of the memory of the {side}, page cache included",
    "memory_max_bytes": "largest sample of the memory of the {side}, page cache included",
    "anon_mean_bytes": "mean of the samples of the anonymous memory of the {side}",
    "shmem_mean_bytes": "mean of the samples of the shared memory of the {side}",
    "kernel_mean_bytes": "mean of the samples of the kernel memory of the {side}",
    "page_cache_mean_bytes": "mean of the samples of the page cache of the {side} (file less shared memory)",
}

#: Intervals as prose; every name that a column can begin with.
INTERVALS: Final = {
    "scheduling_delay": "scheduling delay (scheduled to started)",
    "acquisition_wait": "acquisition wait (asked for to acquired)",
    "query_round_trip": "query round trip (acquired to result)",
    "release": "release (result to released)",
    "overall": "overall time (scheduled to the end of the request)",
    "before": "time that a request spends before it asks for a connection",
    "after": "time that a request spends after it gave its connection back",
    "waited_wait": "acquisition wait of those requests alone that waited",
    "waited": "acquisition wait of those requests alone that waited",
}
_INTERVAL = f"(?P<interval>{'|'.join(INTERVALS)})"


def _percentile(part: re.Match[str]) -> str:
    over = "requests that were started" if part["interval"] == "scheduling_delay" else "requests with status ok"
    return f"{_q(part)} of the {INTERVALS[part['interval']]} over {over}: the ceil(n x q)-th of the sorted values"


def _q(part: re.Match[str]) -> str:
    """Write p999 as p99.9."""
    digits = part["q"]
    return f"p{digits if len(digits) <= 2 else f'{digits[:2]}.{digits[2:]}'}"


def _extreme(part: re.Match[str]) -> str:
    inner = by_name(f"{part['base']}_ns") or ""
    most = {"min": "smallest", "max": "largest"}[part["end"]]
    return f"{most} value of a run among the runs with status ok, no confidence interval; the value: {inner}"


#: Names made of parts, tried in this order.
PARTS: Final[tuple[tuple[str, Callable[[re.Match[str]], str]], ...]] = (
    (r"(?P<base>.+)_run_(?P<end>min|max)_ns", _extreme),
    (rf"{_INTERVAL}_mean_ns", lambda m: f"mean {INTERVALS[m['interval']]} of the requests with status ok"),
    (rf"{_INTERVAL}_p(?P<q>\d+)_ns", _percentile),
    (
        rf"{_INTERVAL}_beyond_p(?P<q>\d+)",
        lambda m: f"requests beyond the {_q(m)} of the {INTERVALS[m['interval']]}; with fewer than 10 it is weak",
    ),
    (rf"{_INTERVAL}_max_ns", lambda m: f"largest {INTERVALS[m['interval']]}"),
    (
        rf"(?P<side>{'|'.join(_SIDES)})_(?P<what>{'|'.join(_SIDE)})",
        lambda m: _SIDE[m["what"]].format(side=_SIDES[m["side"]]),
    ),
)


def meaning(table: str, column: str) -> str | None:
    """Return what a column of a table means in one sentence; None where nobody has said so."""
    return IN_TABLE.get(table, {}).get(column) or by_name(column)


def by_name(column: str) -> str | None:
    """Return what a column of this name means in any table, if that is known."""
    if column in ANYWHERE:
        return ANYWHERE[column]
    found = ((re.fullmatch(pattern, column), say) for pattern, say in PARTS)
    return next((say(match) for match, say in found if match), None)
