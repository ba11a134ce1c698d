"""Results of simulated queues, as an analysis reads them: rows, records and samples without a server."""

import heapq
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from poollab.stats import requests, summary
from poollab.stats.analyses import Context
from poollab.stats.rows import ABSENT, Ints, Rows

Row = dict[str, Any]
MS = 1_000_000


def rows(
    scheduled: Ints,
    *,
    late: Any = 0,
    wait: Any = 0,
    trip: Any = MS,
    release: Any = 1000,
    process: Any = 0,
    step: Any = -1,
    connection: Any = -1,
    closed: bool = False,
) -> Rows:
    """Return requests that all ended ok; each interval in ns is a number or one value for each request."""

    def column(value: Any, kind: Any) -> Any:
        return np.broadcast_to(value, scheduled.shape).astype(kind)

    started = scheduled + column(late, np.int64)
    acquired = started + column(wait, np.int64)
    result = acquired + column(trip, np.int64)
    absent = column(ABSENT, np.int64)
    return Rows(
        scheduled_ns=scheduled.astype(np.int64),
        started_ns=started,
        asked_ns=absent,
        acquired_ns=acquired,
        result_ns=result,
        released_ns=result + column(release, np.int64),
        ended_ns=absent,
        status=column(0, np.int8),
        connection=column(connection, np.int32),
        process=column(process, np.int16),
        step=column(step, np.int16),
        closed=column(closed, np.bool_),
    )


def closed_loop(
    workers: int, size: int, trip_ns: int, window_ns: int, *, spread: float = 0.0, seed: int = 1, think_ns: int = 0
) -> Rows:
    """Simulate workers in a loop on a pool, first come first served; trips vary by `spread`."""
    rng = np.random.default_rng(seed)
    asking, free = [(0, i) for i in range(workers)], [0] * size
    found: list[tuple[int, int, int]] = []
    while asking:
        asked, worker = heapq.heappop(asking)
        if asked >= window_ns:
            continue
        begun = max(asked, heapq.heappop(free))
        trip = max(1, round(trip_ns * (1 + spread * rng.standard_normal())))
        heapq.heappush(free, begun + trip)
        heapq.heappush(asking, (begun + trip + think_ns, worker))
        found.append((asked, begun - asked, trip))
    asked, wait, trip = (np.array(column, dtype=np.int64) for column in zip(*found, strict=True))
    return rows(asked, wait=wait, trip=trip, release=0, closed=True)


@dataclass
class SimulatedRun:
    """One run: where it belongs, its settings and its requests."""

    workload: str
    arm: str
    rows: Rows
    settings: Row
    repeat: int = 1
    limits: str = ""
    window_s: float = 4.0
    status: str = "ok"
    cpu: dict[str, float] = field(default_factory=lambda: {"database": 0.5, "generator": 0.25})
    """Constant CPU use of each side in cores."""
    generator: Row = field(default_factory=dict)

    @property
    def cell(self) -> str:
        """Name of the cell."""
        return f"{self.workload}.{self.arm}.r{self.repeat}"


class Simulated(Context):
    """A context whose requests and samples lie in memory."""

    held: dict[str, SimulatedRun]

    def requests(self, cell: str) -> Rows:
        """Return a run's requests."""
        return self.held[cell].rows

    def samples(self, cell: str) -> Any:
        """Return ten samples a second of the run's constant CPU use."""
        run = self.held[cell]
        at = np.arange(0, run.window_s * 1e9 + 1, 1e8).astype(np.int64)
        used = {f"{side}_cpu_ns": (at * cores).astype(np.int64) for side, cores in run.cpu.items()}
        return pa.table({"at_ns": at, **used})


def context(folder: Path, runs: list[SimulatedRun], model: Row | None = None, **machine: Any) -> Context:
    """Return the context of simulated runs; `machine` may give cpus and max_connections as a block recorded them."""
    block = {
        "cpus": machine.get("cpus", 2),
        "server_settings": {"max_connections": machine.get("max_connections", 100)},
    }
    (folder / "state" / "blocks" / "1").mkdir(parents=True)
    (folder / "state" / "blocks" / "1" / "block.json").write_text(json.dumps({"environment": block}), "utf-8")
    order = {(r.workload, r.arm, r.limits): None for r in runs}
    made = Simulated(
        model={"margin": 0.05, "repeats": max(r.repeat for r in runs), **(model or {})},
        runs=[_row(run) for run in runs],
        conditions=[
            {
                **dict(zip(("workload", "arm", "limits"), key, strict=True)),
                "runs_planned": sum((r.workload, r.arm, r.limits) == key for r in runs),
            }
            for key in order
        ],
        records={run.cell: _record(run) for run in runs},
        folder=folder,
    )
    object.__setattr__(made, "held", {run.cell: run for run in runs})
    return made


def _row(run: SimulatedRun) -> Row:
    observed = max(run.window_s, float(run.rows.end_ns[run.rows.ok].max(initial=0)) / 1e9)
    values = requests.numbers(requests.Sample.of(run.rows, int(run.settings["arm"]["size"])))
    return {
        **{key: getattr(run, key) for key in ("cell", "workload", "arm", "limits", "repeat", "status")},
        **values,
        "client": run.settings["client"],
        "pool_size": run.settings["arm"]["size"],
        "block": 1,
        "observed_s": observed,
        "offered_per_s": values["requests"] / run.window_s if summary.offers_rate({"settings": run.settings}) else None,
        "achieved_per_s": values["requests_ok"] / observed,
        **{f"{side}_cpu_cores": cores for side, cores in run.cpu.items()},
        "database_cap_cores": run.settings.get("cap_cores"),
        "generator_cap_cores": run.settings.get("generator_cap_cores"),
    }


def _record(run: SimulatedRun) -> Row:
    return {
        **{key: getattr(run, key) for key in ("cell", "workload", "arm", "limits", "repeat", "status", "window_s")},
        "block": 1,
        "settings": run.settings,
        "generator": run.generator,
    }


def settings(arrivals: Row, request: list[Row], arm: Row, client: str = "asyncpg", name: str = "w") -> Row:
    """Return a cell's settings as the plan writes them."""
    return {
        "workload": {"name": name, "request": request, "arrivals": arrivals, "trace_memory": False},
        "client": client,
        "arm": {"processes": 1, "compute_in": "caller", **arm},
    }
