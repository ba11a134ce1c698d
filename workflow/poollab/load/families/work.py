"""
What each family does with a pool, as data, and the draws of a row (pure: no clock, no pool).

An operation is one check-out: acquire, some queries, a hold, release. A caller is a list of operations, a wave some
callers that begin together, an iteration one or more waves; the time of an iteration is what is compared.
"""

import hashlib
import heapq
import random
from dataclasses import dataclass
from typing import Any

#: (queries while the connection is held, hold in nanoseconds after them)
Operation = tuple[int, int]
Caller = tuple[Operation, ...]
Wave = list[Caller]
Iteration = list[Wave]


@dataclass(frozen=True, slots=True)
class Shape:
    """What one check-out of a family does, and how callers begin."""

    queries: tuple[int, int] = (0, 0)
    """Fewest and most queries for each check-out, drawn."""
    query_share: float = 1.0
    """Share of the check-outs that query at all, drawn."""
    hold_ms: tuple[int, int] = (0, 0)
    """Shortest and longest hold after the queries, drawn in whole milliseconds."""
    waves: int = 1
    pause_ms: int = 0
    """Pause between two waves; part of the iteration's time."""
    together: bool = False
    """Every caller holds its connection until the last caller has one."""
    fresh: bool = False
    """Each iteration begins with an empty pool of its own, made outside the clock."""
    own_threads: bool = False
    """Synchronous callers are threads that are started inside the clock."""
    oversubscribed: bool = False
    """At least twice as many callers as the pool has connections."""


SHAPES = {
    "cold-start-ramp": Shape(together=True, fresh=True, own_threads=True),
    "rapid-fire": Shape(),
    "single-caller": Shape(),
    "steady-state": Shape(queries=(1, 1)),
    "saturated-threads": Shape(queries=(1, 1)),
    "random-hold": Shape(queries=(1, 1), query_share=0.5, hold_ms=(0, 50)),
    "mixed-modes": Shape(queries=(1, 1)),
    "many-commands": Shape(queries=(5, 15)),
    "exhaustion-recovery": Shape(queries=(1, 1), hold_ms=(10, 100), oversubscribed=True),
    "bursty-waves": Shape(queries=(1, 5), waves=5, pause_ms=10),
    # One wave of ten takes less than 0.1 ms, where a single hiccup of the machine would be the result.
    "concurrent-opens": Shape(waves=20),
    "single-open": Shape(),
}


@dataclass(frozen=True, slots=True)
class Work:
    """All iterations of a row, the warm-up first, and the hash of what was drawn."""

    shape: Shape
    iterations: list[Iteration]
    digest: str

    @property
    def operations(self) -> int:
        """Check-outs in all iterations together."""
        return sum(len(caller) for it in self.iterations for wave in it for caller in wave)

    def unhurried_ns(self, number: int, pool: int) -> int:
        """Return what an iteration would take if its holds and pauses were all that takes time."""
        waves = self.iterations[number]
        return sum(_holds_ns(wave, pool) for wave in waves) + (len(waves) - 1) * self.shape.pause_ms * 1_000_000


def callers(row: dict[str, Any]) -> int:
    """Return the number of callers of a wave: what the row says, or twice the pool where it is to be exhausted."""
    if SHAPES[row["family"]].oversubscribed:
        return max(2 * int(row["pool"]), 2 * int(row["callers"]))
    return int(row["callers"])


def draw(row: dict[str, Any], text: str) -> Work:
    """
    Draw a row's work from `text` alone, so that it is the same for every arm.

    Args:
        row: the benchmark as the study declares it, with every default filled in.
        text: study, workload and repeat.
    """
    shape, rng = SHAPES[row["family"]], random.Random(f"poollab benchmark {text}")  # noqa: S311 - draws, no secret
    count, operations = callers(row), int(row["operations"])
    iterations = [
        [[tuple(_operation(shape, rng) for _ in range(operations)) for _ in range(count)] for _ in range(shape.waves)]
        for _ in range(int(row["warm_up_iterations"]) + int(row["iterations"]))
    ]
    seen = repr((sorted(row.items()), iterations)).encode()
    return Work(shape, iterations, hashlib.sha256(seen).hexdigest()[:16])


def _operation(shape: Shape, rng: random.Random) -> Operation:
    queries = rng.randint(*shape.queries) if shape.query_share == 1.0 or rng.random() < shape.query_share else 0
    return queries, rng.randint(*shape.hold_ms) * 1_000_000


def _holds_ns(wave: Wave, pool: int) -> int:
    """Return how long the holds of a wave take where whoever asked first gets the connection that is free first."""
    asking, free, last = [(0, number, 0) for number in range(len(wave))], [0] * pool, 0
    if not any(hold for caller in wave for _, hold in caller):
        return 0
    while asking:
        at, number, turn = heapq.heappop(asking)
        ended = max(at, heapq.heappop(free)) + wave[number][turn][1]
        heapq.heappush(free, ended)
        last = max(last, ended)
        if turn + 1 < len(wave[number]):
            heapq.heappush(asking, (ended, number, turn + 1))
    return last
