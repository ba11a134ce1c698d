"""
A pool in front of a server, seeded: arrivals, a pool that waits first come first served, and a server with a CPU cap.

The server shares its CPU evenly among the requests that hold a connection (processor sharing), or serves them one
after another (fifo). A study of such runs has what real ones have: runs that differ, drift over their order, requests
that depend on the one before, and a block in which everything took longer.
"""

import heapq
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import signal

from poollab.stats.rows import ABSENT, Rows

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Load:
    """A workload: bursts of `size` every `every_ms`, each request `service_ms` of CPU on average."""

    name: str
    size: int
    every_ms: float
    service_ms: float
    window_s: float = 12.0


#: The main study's three workloads, with the CPU that its queries take.
MAIN = (Load("light-uniform", 1, 5, 0.2), Load("heavy-uniform", 1, 25, 2.0), Load("heavy-bursts", 10, 250, 2.0))


@dataclass(frozen=True, slots=True)
class World:
    """What a study meets besides what it looks for; shares are standard deviations or changes of the run's level."""

    spread: float = 0.02
    """Standard deviation of a run's level."""
    drift: float = 0.0
    """Change of the level from the first to the last run."""
    correlation: float = 0.0
    """Of the logarithm of a request's service time with that of the one before."""
    jitter: float = 0.15
    """Standard deviation of the logarithm of a service time."""
    bad_block: float = 0.0
    """By how much everything took longer in one stretch of runs, of a fifth of the study."""
    effect: float = 0.0
    """By how much the last arm is truly slower than the others."""
    cores: float = 0.5
    discipline: str = "sharing"


@dataclass(frozen=True, slots=True)
class Simulated:
    """A study's runs as rows of RUNS and its conditions as far as comparisons read them."""

    runs: list[dict[str, Any]] = field(default_factory=list)
    conditions: list[dict[str, Any]] = field(default_factory=list)


def serve(arrivals: Ints, services: Floats, size: int, cores: float, discipline: str = "sharing") -> tuple[Ints, Ints]:
    """
    Return when each request got its connection and when its query was done, in ns.

    `services` is CPU time in ns. With sharing, k requests at work progress at min(1, cores / k) each; with fifo one
    after another at min(1, cores).
    """
    if discipline == "fifo":
        return _fifo(arrivals, services / min(1.0, cores), size)
    return _sharing(arrivals.tolist(), services.tolist(), size, cores)


def _sharing(arrivals: list[int], services: list[float], size: int, cores: float) -> tuple[Ints, Ints]:
    acquired, done = np.zeros(len(arrivals), np.int64), np.zeros(len(arrivals), np.int64)
    at_work: list[tuple[float, int]] = []
    queue: list[int] = []
    now, progress, following, head = 0.0, 0.0, 0, 0
    while following < len(arrivals) or at_work:
        rate = min(1.0, cores / len(at_work)) if at_work else 1.0
        ends = now + (at_work[0][0] - progress) / rate if at_work else float("inf")
        comes = float(arrivals[following]) if following < len(arrivals) else float("inf")
        if ends <= comes:
            progress, now = at_work[0][0], ends
            done[heapq.heappop(at_work)[1]] = round(now)
            if head < len(queue):
                begun, head = queue[head], head + 1
                acquired[begun] = round(now)
                heapq.heappush(at_work, (progress + services[begun], begun))
            continue
        progress, now = progress + (comes - now) * rate, comes
        if len(at_work) < size:
            acquired[following] = round(now)
            heapq.heappush(at_work, (progress + services[following], following))
        else:
            queue.append(following)
        following += 1
    return acquired, done


def _fifo(arrivals: Ints, services: Floats, size: int) -> tuple[Ints, Ints]:
    acquired, done = np.zeros(len(arrivals), np.int64), np.zeros(len(arrivals), np.int64)
    free = [0.0] * size
    last = 0.0
    for i, (at, service) in enumerate(zip(arrivals.tolist(), services.tolist(), strict=True)):
        begun = max(float(at), heapq.heappop(free))
        last = max(last, begun) + service
        heapq.heappush(free, last)
        acquired[i], done[i] = round(begun), round(last)
    return acquired, done


def schedule(load: Load) -> Ints:
    """Return the scheduled arrivals in ns."""
    instants = np.arange(int(np.ceil(load.window_s * 1000 / load.every_ms - 1e-9)))
    return np.repeat((instants * load.every_ms * 1e6).astype(np.int64), load.size)


def run(load: Load, size: int, level: float, world: World, rng: np.random.Generator) -> Rows:
    """Simulate one run; everything takes `level` times as long."""
    scheduled = schedule(load)
    count = len(scheduled)
    noise = rng.normal(0, world.jitter, count)
    if world.correlation:
        keep = world.correlation
        fresh = noise * np.concatenate([[1.0], np.full(count - 1, np.sqrt(1 - keep**2))])
        noise = signal.lfilter([1.0], [1.0, -keep], fresh)
    started = scheduled + (rng.gamma(4, 20_000, count) * level).astype(np.int64)
    started = np.maximum.accumulate(started)
    services = load.service_ms * 1e6 * level * np.exp(noise)
    acquired, result = serve(started, services, size, world.cores, world.discipline)
    acquired += 8_000
    result += 50_000
    released = result + (rng.gamma(9, 8_000, count) * level).astype(np.int64)
    return rows(scheduled, started, acquired, result, released)


def rows(scheduled: Ints, started: Ints, acquired: Ints, result: Ints, released: Ints) -> Rows:
    """Return requests that all ended ok."""
    count = len(scheduled)
    absent = np.full(count, ABSENT)
    return Rows(
        scheduled,
        started,
        absent,
        acquired,
        result,
        released,
        absent,
        np.zeros(count, np.int8),
        np.zeros(count, np.int32),
        np.zeros(count, np.int16),
        np.full(count, -1, np.int16),
        np.zeros(count, dtype=bool),
    )


def study(
    world: World, seed: int, repeats: int = 3, loads: tuple[Load, ...] = MAIN, sizes: tuple[int, ...] = (20, 21, 22)
) -> Simulated:
    """
    Simulate a study: each repeat a shuffled pass over all conditions, as `plan.ordered_cells` makes it.

    The sizes are all large enough for every request, so the arms differ by `world.effect` alone.
    """
    from poollab.stats import requests  # noqa: PLC0415 - the simulator itself needs none of it

    rng = np.random.default_rng(seed)
    keys = [(load, size) for load in loads for size in sizes]
    cells = [(keys[i], repeat) for repeat in range(1, repeats + 1) for i in rng.permutation(len(keys))]
    bad_from = int(rng.integers(0, len(cells))) if world.bad_block else len(cells)
    bad_to = bad_from + len(cells) // 5
    runs = []
    for position, ((load, size), repeat) in enumerate(cells, start=1):
        level = float(np.exp(rng.normal(0, world.spread))) * (1 + world.drift * position / len(cells))
        bad = bad_from < position <= bad_to
        level *= (1 + world.bad_block) if bad else 1.0
        level *= (1 + world.effect) if size == sizes[-1] else 1.0
        found = requests.numbers(requests.Sample.of(run(load, size, level, world, rng), size))
        block = 1 if position <= bad_from else 2 if bad else 3
        runs.append(_row(load, size, repeat, position, block, found))
    return Simulated(runs, [_condition(load, size, repeats) for load, size in keys])


def _row(load: Load, size: int, repeat: int, position: int, block: int, found: dict[str, Any]) -> dict[str, Any]:
    keys = {"workload": load.name, "arm": f"pool-{size}", "limits": "", "repeat": repeat}
    rate = found["requests"] / load.window_s
    return {
        **keys,
        "cell": f"{load.name}.pool-{size}.r{repeat}",
        "position": position,
        "block": block,
        "pool_size": size,
        "status": "ok",
        "offered_per_s": rate,
        "achieved_per_s": rate * 0.9999,
        **found,
    }


def _condition(load: Load, size: int, repeats: int) -> dict[str, Any]:
    return {"workload": load.name, "arm": f"pool-{size}", "limits": "", "pool_size": size, "runs_planned": repeats}


def harmful(world: World, seed: int) -> World:
    """Return a world with what `seed` draws of drift, correlation and a bad block put over it."""
    rng = np.random.default_rng([seed, 7])
    return replace(
        world,
        drift=float(rng.choice([0.0, -0.1, 0.05, 0.1])),
        correlation=float(rng.choice([0.0, 0.9, 0.99])),
        bad_block=float(rng.choice([0.0, 0.0, 0.1, 0.25])),
    )
