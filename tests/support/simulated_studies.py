"""Simulated runs of the studies beyond pool size: what a test of an analysis or of its report is made from."""

from dataclasses import replace
from typing import Any

import numpy as np
from support.simulated import MS, SimulatedRun, closed_loop, rows, settings

from poollab.stats import theory
from poollab.stats.rows import ABSENT, Rows

SLEEP_3 = [{"query": {"sql": "SELECT pg_sleep(0.003)", "args": []}}]
SLEEP_5 = [{"query": {"sql": "SELECT pg_sleep(0.005)", "args": []}}]
READ = [{"query": {"sql": "SELECT sum(x) FROM t WHERE id = $1", "args": [{"int": [1, 9]}]}}]
ONE = [{"query": {"sql": "SELECT 1", "args": []}}]
WAIT = [{"wait": {"ms": 200.0}}]
BLOCK = [*ONE, {"compute": {"ms": 191.0, "at": [60]}}]

#: Length of a closed loop's query.
TRIP = 4 * MS
#: Steps of the rising load: requests a second, seconds, and the hold time at low load.
RATES = (200, 1100, 2200, 2700)
LENGTH_S = 10
HOLD = 2 * MS
CLIENTS = ("psycopg-threads", "psycopg-executor", "psycopg-async", "asyncpg")


def closed(
    workers: int,
    size: int,
    repeat: int = 1,
    *,
    trip: int = TRIP,
    think_ms: float = 0.0,
    client: str = "asyncpg",
    **kw: Any,
) -> SimulatedRun:
    """Simulate workers in a loop for two seconds."""
    think = round(think_ms * MS)
    rows = closed_loop(workers, size, trip, 2000 * MS, spread=0.02, seed=repeat, think_ns=think)
    made = settings({"closed": {"workers": workers, "think_ms": think_ms}}, SLEEP_3, {"size": size}, client)
    name = f"c{workers}-think" if think else f"c{workers}"
    arm = f"pool-{size}" if client == "asyncpg" else f"{client}-{size}"
    return SimulatedRun(name, arm, rows, made, repeat, window_s=2.0, **kw)


def in_thread(run: SimulatedRun) -> SimulatedRun:
    """Let every request of a run start when it has its connection, as one does that waits for a thread of a pool."""
    run.rows = replace(run.rows, started_ns=run.rows.acquired_ns.copy())
    run.settings["client"] = "psycopg-executor"
    return run


def failing(run: SimulatedRun, count: int) -> SimulatedRun:
    """Let the last so many requests of a run end with an error."""
    run.rows.status[len(run.rows) - count :] = 1
    return run


def stepped(
    size: int, growth: float = 1.0, repeat: int = 1, *, processes: int = 2, rates: tuple[int, ...] = RATES, **kw: Any
) -> SimulatedRun:
    """Simulate a run whose hold grows up to `growth` times with the rate, each process with a pool of its own."""
    rng = np.random.default_rng(repeat)
    times = [np.sort(rng.integers(0, LENGTH_S * 1_000 * MS, rate * LENGTH_S)) for rate in rates]
    scheduled = np.concatenate([t + i * LENGTH_S * 1_000 * MS for i, t in enumerate(times)])
    step = np.repeat(np.arange(1, len(rates) + 1), [len(t) for t in times])
    process = np.arange(len(scheduled)) % processes
    slower = 1 + (growth - 1) * (step - 1) / (len(rates) - 1)
    hold = (HOLD * slower * rng.uniform(0.8, 1.2, len(scheduled))).astype(np.int64)
    wait = np.zeros(len(scheduled), dtype=np.int64)
    for number in range(processes):
        mine = process == number
        wait[mine] = theory.replay(scheduled[mine], hold[mine], size)
    made = settings(
        {"steps": [{"for_s": LENGTH_S, "poisson": {"rate_per_s": rate}} for rate in rates]},
        READ,
        {"size": size, "processes": processes},
    )
    found = rows(scheduled, wait=wait + 20_000, trip=hold, release=0, process=process, step=step)
    return SimulatedRun(
        "ramp", f"pool-{size}", found, {**made, "cap_cores": 1.0}, repeat, window_s=float(LENGTH_S * len(rates)), **kw
    )


def held(hold_ms: int, repeat: int) -> SimulatedRun:
    """Simulate 40 requests a second that hold one of three connections for a stated time."""
    due = np.sort(np.random.default_rng(repeat).integers(0, 10_000 * MS, 400))
    hold = np.full(400, hold_ms * MS)
    found = rows(due, wait=theory.replay(due, hold, 3), trip=hold, release=0)
    made = settings({"poisson": {"rate_per_s": 40.0}}, [*READ, {"hold": {"ms": hold_ms}}], {"size": 3})
    return SimulatedRun(f"hold-{hold_ms}ms", "pool-3", found, made, repeat, window_s=10.0)


def batch(client: str, size: int, repeat: int, factor: float = 1.0, *, arm: str = "", **settings_: Any) -> SimulatedRun:
    """Simulate 600 queries of 6 ms at once on a pool; other settings of the arm may be named."""
    due = np.zeros(600, dtype=np.int64)
    trip = round(6 * MS * factor)
    wait = theory.replay(due, np.full(600, trip), size)
    made = settings({"batch": {"size": 600}}, SLEEP_5, {"size": size, **settings_}, client)
    found = rows(due, wait=wait, trip=trip, release=0)
    return SimulatedRun("pool-ceiling", arm or f"{client}-{size}", found, made, repeat, window_s=6.0)


def loop(client: str, trip: int, repeat: int, *, late: int = 0, arm: str = "") -> SimulatedRun:
    """Simulate one operation after another."""
    due = np.arange(0, 1000 * MS, 2 * trip, dtype=np.int64)
    made = settings({"closed": {"workers": 1}}, ONE, {"size": 1}, client)
    found = rows(due, late=late, trip=trip + 100 * repeat, release=trip // 10, closed=True)
    return SimulatedRun("select-1", arm or f"{client}-1", found, made, repeat, window_s=1.0)


def wait(
    client: str, extra_ms: float, memory: Any, repeat: int, *, traced: bool = False, size: int = 8, name: str = ""
) -> SimulatedRun:
    """Simulate 4,000 waits of 200 ms without a connection."""
    found = without_connection(np.zeros(4000, dtype=np.int64), round((200 + extra_ms) * MS))
    made = settings({"batch": {"size": 4000}}, WAIT, {"size": size}, client)
    made["workload"]["trace_memory"] = traced
    return SimulatedRun(
        name or ("waits-traced" if traced else "waits"),
        f"{client}-{size}",
        found,
        made,
        repeat,
        window_s=6.0,
        generator={"memory": memory, "prepare_ns": 100 * MS if client == "psycopg-threads" else 10 * MS},
    )


def without_connection(due: np.ndarray, took: Any) -> Rows:
    """Return requests that took no connection."""
    found = rows(due, trip=took, release=0)
    found.ended_ns[:] = found.released_ns
    for column in (found.acquired_ns, found.result_ns, found.released_ns):
        column[:] = ABSENT
    return found


def beside(
    client: str, repeat: int, *, late: Any, trip: Any, compute_in: str = "caller", size: int = 8
) -> SimulatedRun:
    """Return 240 requests, one every 2 ms, each late and slow as said."""
    found = rows(np.arange(240, dtype=np.int64) * 2 * MS, late=late, trip=trip + 1000 * repeat, release=0)
    made = settings({"uniform": {"every_ms": 2.0}}, BLOCK, {"size": size, "compute_in": compute_in}, client)
    arm = f"{client}-{size}{'-processes' if compute_in == 'processes' else ''}"
    return SimulatedRun("one-block", arm, found, made, repeat, window_s=0.48, status="overloaded")
