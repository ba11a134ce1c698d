"""The tables of what the caps saw: CPU and throttling of both sides, memory and connections of the database."""

from typing import Any

from poollab.report import cells
from poollab.report.cells import Table, column
from poollab.report.tables import pool_column
from poollab.report.words import MIB, scale

Group = dict[str, Any]

THROTTLE_NOTE = (
    "Throttle ratio = throttled periods / periods, from the counters' increase. Only periods in which the group was "
    "active are counted, and throttled time is summed over CPUs: neither is a share of time or of waiting."
)
MEMORY = (
    ("start", "memory_start_bytes"),
    ("mean", "memory_mean_bytes"),
    ("max", "memory_max_bytes"),
    ("anonymous", "anon_mean_bytes"),
    ("shared", "shmem_mean_bytes"),
    ("kernel", "kernel_mean_bytes"),
    ("page cache", "page_cache_mean_bytes"),
)


def cpu(groups: list[Group], side: str) -> Table:
    """Return CPU use in cores and per cent of the cap, with the throttle counters, of `database` or `generator`."""
    name = {"database": "database", "generator": "load generator"}[side]
    return cells.table(
        f"cpu-{side}",
        f"CPU use and throttling of the {name} by pool: increase over the observed time of runs with status ok, "
        "weighted by duration",
        [
            pool_column(),
            column("CPU used", "cores"),
            column("cap", "cores"),
            column("of cap", "%"),
            column("throttle ratio", "%"),
            column("throttled", "periods"),
            column("counted", "periods"),
            column("throttled time", "s, over CPUs"),
        ],
        [(g["label"], [_cpu_row(a, side) for a in g["arms"]]) for g in groups],
        [THROTTLE_NOTE] if side == "database" else [],
    )


def _cpu_row(arm: Group, side: str) -> dict[str, Any]:
    values = arm[side]
    uncapped = "uncapped" if values["cap_cores"] is None and arm["runs_ok"] else "not measured"
    return cells.row(
        arm["label"],
        [
            cells.number(values["cpu_cores"], 3),
            cells.number(values["cap_cores"], 2, missing=uncapped),
            cells.number(scale(values["cpu_of_cap"], 100), 1, missing=uncapped),
            cells.number(scale(values["throttle_ratio"], 100), 1, missing=uncapped),
            cells.number(values["throttled"], missing=uncapped),
            cells.number(values["periods"], missing=uncapped),
            cells.number(values["throttled_s"], 2, missing=uncapped),
        ],
    )


def memory(groups: list[Group]) -> Table:
    """Return the database's memory in MiB and how many of a pool's connections were used."""
    return cells.table(
        "memory",
        "Memory of the database's cgroup by pool, in MiB, and how many connections of the pool carried a request, "
        "over runs with status ok",
        [pool_column(), *(column(label, "MiB") for label, _ in MEMORY), column("used", "connections")],
        [(g["label"], [_memory_row(a) for a in g["arms"]]) for g in groups],
        [
            (
                "Start, mean and max are the raw usage, page cache included, sampled inside the window. The others "
                "are means: anonymous, shared (the server's shared buffers), kernel, and page cache (file less "
                "shared). Every connection of a pool is established before the run, so each costs memory whether or "
                "not a request used it."
            )
        ],
    )


def _memory_row(arm: Group) -> dict[str, Any]:
    values = [cells.number(scale(arm["database"][key], 1 / MIB), 1) for _, key in MEMORY]
    return cells.row(arm["label"], [*values, cells.number(arm["connections_used_max"])])
