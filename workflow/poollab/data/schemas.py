"""
The shape of every file of results.

Format history (each file carries its number as `poollab_format` in the Arrow metadata):
    1  first format
    2  requests: asked, ended, process, step, closed; acquired to released are null without a connection
       runs and conditions: percentiles of wait and round trip, which requests waited, p99.9, the server's active time
    3  samples: inactive_file_bytes of both sides, database_sessions; runs: driver, pool_class
"""

from typing import Final

import pyarrow as pa

FORMAT_VERSION: Final = 3

#: Formats that can be read, each with the columns that came after it; they are read as null.
READABLE: Final[dict[str, frozenset[str]]] = {
    "2": frozenset(
        {
            "database_inactive_file_bytes",
            "generator_inactive_file_bytes",
            "database_sessions",
            "driver",
            "pool_class",
        }
    ),
    "3": frozenset(),
}

#: The five stamps, in the order in which a request passes them; nanoseconds since the first
#: scheduled arrival of the measurement (negative in the warm-up), null where never reached.
STAMPS: Final = ("scheduled_ns", "started_ns", "acquired_ns", "result_ns", "released_ns")

#: Intervals that add up to the overall time, as (name, from stamp, to stamp).
INTERVALS: Final = (
    ("scheduling_delay", "scheduled_ns", "started_ns"),
    ("acquisition_wait", "started_ns", "acquired_ns"),
    ("query_round_trip", "acquired_ns", "result_ns"),
    ("release", "result_ns", "released_ns"),
)
OVERALL: Final = ("overall", "scheduled_ns", "released_ns")

#: How a request can end; each ends in exactly one way.
STATUSES: Final = ("ok", "error", "acquire_timeout", "query_timeout", "unfinished")

#: How a run can end; `ok` stands alone, the others may stand together.
RUN_STATUSES: Final = ("ok", "generator-late", "overloaded", "host-busy", "errors", "unclean")

_WORD = pa.dictionary(pa.int8(), pa.string())

#: cells/<cell>/requests.parquet and warmup.parquet: one row for each scheduled request.
REQUESTS: Final = pa.schema(
    [
        pa.field("request", pa.int32(), nullable=False),
        *[pa.field(name, pa.int64(), nullable=name != "scheduled_ns") for name in STAMPS],
        pa.field("status", _WORD, nullable=False),
        pa.field("error_class", pa.string()),
        pa.field("connection", pa.int32()),  # number of the connection, in order of establishment from 0
        pa.field("connection_use", pa.int32()),  # how often this connection was used so far in this file, from 1
        pa.field("asked_ns", pa.int64()),  # a connection was asked for; null: at started_ns, or never
        pa.field("ended_ns", pa.int64()),  # the request ended, or failed; null: at released_ns, or never
        pa.field("process", pa.int16(), nullable=False),  # generator process, from 0
        pa.field("step", pa.int16()),  # number of the arrivals step, from 1; null without steps, and in the warm-up
        pa.field("closed", pa.bool_(), nullable=False),  # sent by a worker in a loop: never compared with a schedule
    ]
)

_KEYS = [
    pa.field("cell", pa.string(), nullable=False),
    pa.field("workload", pa.string(), nullable=False),
    pa.field("arm", pa.string(), nullable=False),
    pa.field("limits", pa.string(), nullable=False),
    pa.field("repeat", pa.int32(), nullable=False),
]

#: requests.parquet: the rows of all cells, each with its cell, block and place in the executed order.
ALL_REQUESTS: Final = pa.schema(
    [*_KEYS, pa.field("block", pa.int32(), nullable=False), pa.field("position", pa.int32(), nullable=False), *REQUESTS]
)

#: cells/<cell>/iterations.parquet of a benchmark: one row for each timed iteration, the warm-up's first.
ITERATIONS: Final = pa.schema(
    [
        pa.field("iteration", pa.int16(), nullable=False),  # from 0; in requests.parquet it stands in `step`
        pa.field("warm_up", pa.bool_(), nullable=False),
        pa.field("began_ns", pa.int64(), nullable=False),  # since the first measured iteration; negative in the warm-up
        pa.field("duration_ns", pa.int64(), nullable=False),
        pa.field("operations", pa.int32(), nullable=False),  # check-outs
        pa.field("failed", pa.int32(), nullable=False),  # check-outs with another status than ok
        pa.field("connects", pa.int32(), nullable=False),  # physical connections made inside the timed part
        pa.field("generator_cpu_ns", pa.int64(), nullable=False),  # of the generator's process, all threads
        pa.field("rss_bytes", pa.int64(), nullable=False),  # of the generator's process, at the iteration's end
    ]
)

_SIDE = [
    ("cpu_ns", pa.int64()),
    ("periods", pa.int64()),
    ("throttled", pa.int64()),
    ("throttled_ns", pa.int64()),
    ("memory_bytes", pa.int64()),
    ("anon_bytes", pa.int64()),
    ("file_bytes", pa.int64()),
    ("shmem_bytes", pa.int64()),
    ("kernel_bytes", pa.int64()),
    ("inactive_file_bytes", pa.int64()),
]

#: cells/<cell>/samples.parquet: readings during the run; counters are the kernel's totals.
SAMPLES: Final = pa.schema(
    [
        pa.field("at_ns", pa.int64(), nullable=False),  # since the first scheduled arrival
        *[pa.field(f"{side}_{name}", kind) for side in ("database", "generator") for name, kind in _SIDE],
        pa.field("database_sessions", pa.int32()),  # once a second, by the titles of the server's processes
        pa.field("host_busy_ns", pa.int64()),  # CPU time of the whole host that was not idle
        pa.field("host_steal_ns", pa.int64()),
        pa.field("host_runnable", pa.int32()),
        pa.field("host_available_bytes", pa.int64()),
    ]
)


def _interval_columns(suffix: str, kind: pa.DataType) -> list[pa.Field]:
    return [pa.field(f"{name}_{suffix}", kind) for name in [i[0] for i in INTERVALS] + ["overall"]]


#: Percentiles whose smallest and largest run stands in conditions.
RANKED: Final = (
    "overall_p50",
    "overall_p95",
    "overall_p99",
    "scheduling_delay_p99",
    *(f"{name}_p{q}" for name in ("acquisition_wait", "query_round_trip", "waited_wait") for q in (50, 95, 99)),
)

#: Columns that runs and conditions share. Means are over requests with status ok and add up;
#: percentiles are nearest rank. `_of_cap` is a share from 0 to 1 of the CPU cap.
_NUMBERS = [
    pa.field("requests", pa.int64(), nullable=False),  # scheduled
    pa.field("requests_ok", pa.int64(), nullable=False),
    *[pa.field(f"requests_{s}", pa.int64(), nullable=False) for s in STATUSES[1:]],
    pa.field("observed_s", pa.float64()),  # from zero to the later of window end and last release; see meanings.py
    pa.field("offered_per_s", pa.float64()),
    pa.field("achieved_per_s", pa.float64()),
    *_interval_columns("mean_ns", pa.float64()),
    # Time before a connection was asked for and after its release; null where a workload has no such steps.
    pa.field("before_mean_ns", pa.float64()),
    pa.field("after_mean_ns", pa.float64()),
    *[pa.field(f"overall_p{q}_ns", pa.int64()) for q in (50, 95, 99, 999)],  # 999: 99.9 %
    *[
        pa.field(f"overall_beyond_p{q}", pa.int64()) for q in (50, 95, 99, 999)
    ],  # requests slower than that percentile's value
    pa.field("overall_max_ns", pa.int64()),
    *[
        pa.field(f"{name}_p{q}_ns", pa.int64())
        for name in ("acquisition_wait", "query_round_trip")
        for q in (50, 95, 99)
    ],
    # Requests that asked for a connection while all were taken, their share, and the acquisition wait of those alone.
    pa.field("requests_waited", pa.int64()),
    pa.field("waited_share", pa.float64()),
    *[pa.field(f"waited_wait_p{q}_ns", pa.int64()) for q in (50, 95, 99)],
    *[pa.field(f"waited_beyond_p{q}", pa.int64()) for q in (50, 95, 99)],
    pa.field("scheduling_delay_p99_ns", pa.int64()),
    pa.field("scheduling_delay_max_ns", pa.int64()),
    *[
        pa.field(f"{side}_{name}", kind)
        for side in ("database", "generator")
        for name, kind in (
            ("cap_cores", pa.float64()),  # null: uncapped
            ("cpu_cores", pa.float64()),
            ("cpu_of_cap", pa.float64()),
            ("periods", pa.int64()),
            ("throttled", pa.int64()),
            ("throttle_ratio", pa.float64()),
            ("throttled_s", pa.float64()),
            ("memory_start_bytes", pa.int64()),
            ("memory_mean_bytes", pa.float64()),
            ("memory_max_bytes", pa.int64()),
            ("anon_mean_bytes", pa.float64()),
            ("shmem_mean_bytes", pa.float64()),
            ("kernel_mean_bytes", pa.float64()),
            ("page_cache_mean_bytes", pa.float64()),
        )
    ],
]

#: runs.parquet and runs.csv: one row for each cell that was measured.
RUNS: Final = pa.schema(
    [
        *_KEYS,
        pa.field("position", pa.int32(), nullable=False),  # place in the executed order, from 1
        pa.field("block", pa.int32(), nullable=False),
        pa.field("client", pa.string(), nullable=False),
        pa.field("pool_size", pa.int32(), nullable=False),
        pa.field("status", pa.string(), nullable=False),  # ok, or the statuses joined by "+"
        pa.field("reasons", pa.string(), nullable=False),  # sentences joined by "; ", empty for ok
        pa.field("started_at", pa.timestamp("ms", tz="UTC"), nullable=False),
        pa.field("connections_used", pa.int32()),
        pa.field("sessions_before", pa.int32()),
        pa.field("sessions_after", pa.int32()),
        pa.field("plan_settled", pa.string()),
        pa.field("first_lateness_p99_ns", pa.int64()),  # of the first request of each arrival instant
        pa.field("schedule_hash", pa.string(), nullable=False),
        pa.field("settings_hash", pa.string(), nullable=False),
        # Time that the server's sessions were executing, by its own clock, and the sum of the client's query round
        # trips; null where the server counts none, or where a connection is also held without a query.
        pa.field("server_active_ns", pa.int64()),
        pa.field("client_active_ns", pa.int64()),
        pa.field("driver", pa.string()),  # with its version, as it was loaded in the load generator
        pa.field("pool_class", pa.string()),  # with its package's version, as it ran
        *_NUMBERS,
    ]
)

#: conditions.parquet and conditions.csv: one row for each condition, over its runs with status ok.
#: Percentiles pool the requests of those runs; `_run_min` and `_run_max` are the smallest and largest
#: per-run value and no confidence interval.
CONDITIONS: Final = pa.schema(
    [
        *_KEYS[1:4],
        pa.field("client", pa.string(), nullable=False),
        pa.field("pool_size", pa.int32(), nullable=False),
        pa.field("runs_planned", pa.int32(), nullable=False),
        pa.field("runs_measured", pa.int32(), nullable=False),
        pa.field("runs_ok", pa.int32(), nullable=False),
        pa.field("blocks", pa.int32(), nullable=False),
        pa.field("connections_used_max", pa.int32()),
        *_NUMBERS,
        *[pa.field(f"{name}_run_{end}_ns", pa.int64()) for name in RANKED for end in ("min", "max")],
        *[
            pa.field(f"{name}_mean_run_{end}_ns", pa.float64())
            for name in [i[0] for i in INTERVALS] + ["overall"]
            for end in ("min", "max")
        ],
    ]
)
