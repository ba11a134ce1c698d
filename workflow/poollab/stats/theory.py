"""What queueing theory says, to be set beside what was measured."""

import heapq
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


def closed_rate_per_s(workers: int, size: int, hold_s: float, think_s: float = 0.0) -> float:
    """
    Return the most that workers in a loop complete on `size` connections: min(P / S1, C / (S1 + Z)).

    Without think time Z that is min(C, P) / S1.
    """
    return min(size / hold_s, workers / (hold_s + think_s))


def connections_needed(workers: int, hold_s: float, think_s: float = 0.0) -> float:
    """Return the connections below which the pool bounds such a loop: C without think time, and fewer with it."""
    return workers / (1 + think_s / hold_s)


def md1_mean_wait_s(rate_per_s: float, hold_s: float) -> float:
    """
    Return the mean wait for one connection with random (Poisson) arrivals and a constant hold.

    Exact for M/D/1; infinite from the rate on at which the connection would be busy all the time.
    """
    load = rate_per_s * hold_s
    return load * hold_s / (2 * (1 - load)) if load < 1 else math.inf


def replay(arrivals_ns: Ints, holds_ns: Ints, size: int) -> Ints:
    """
    Return the wait (ns) of each request if these arrivals, in time order, held `size` connections so long.

    First come, first served. The holds are taken as they are: that a query takes longer beside others is in
    them only as far as it was when they were measured.
    """
    free_at = [-(2**63)] * size
    waits = np.zeros(len(arrivals_ns), dtype=np.int64)
    for i, (at, hold) in enumerate(zip(arrivals_ns.tolist(), holds_ns.tolist(), strict=True)):
        begun = max(at, free_at[0])
        waits[i] = begun - at
        heapq.heapreplace(free_at, begun + hold)
    return waits


def smallest_sizes(
    arrivals_ns: Ints, holds_ns: Ints, targets_ns: Sequence[int], share: float, most: int
) -> list[int | None]:
    """
    Return for each target the fewest connections with which `share` of the replayed requests wait no longer.

    None where even `most` are too few, or where there are no requests. More connections never lengthen a wait
    in a replay, so the range is halved.
    """
    waits: dict[int, Ints] = {}

    def meets(size: int, target_ns: int) -> bool:
        if size not in waits:
            waits[size] = replay(arrivals_ns, holds_ns, size)
        return bool((waits[size] <= target_ns).mean() >= share)

    found: list[int | None] = []
    for target_ns in targets_ns:
        low, high = 1, most
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if len(arrivals_ns) and meets(middle, target_ns) else (middle + 1, high)
        found.append(low if len(arrivals_ns) and meets(low, target_ns) else None)
    return found


def cpu_ceiling_per_s(
    cpus: float,
    client_cpu_s: float,
    server_cpu_s: float,
    processes: int,
    client_cap: float | None = None,
    server_cap: float | None = None,
) -> float:
    """
    Return the rate at which the CPU runs out, from the CPU seconds that one request costs on each side.

    Client and server share `cpus`, each side has no more than its cap (cores; None: uncapped), and each client process
    has one thread that runs Python at a time.
    """
    client = min(processes, cores(cpus, client_cap))
    return min(cpus / (client_cpu_s + server_cpu_s), client / client_cpu_s, cores(cpus, server_cap) / server_cpu_s)


def cores(cpus: float, cap: float | None) -> float:
    """Return the cores that a side can use: those of the host, or its cap where that is less."""
    return cpus if cap is None else min(cpus, cap)
