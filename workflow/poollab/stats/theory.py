"""What queueing theory says, to be set beside what was measured."""

import heapq
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


def closed_rate_per_s(workers: int, size: int, hold_s: float) -> float:
    """Return the most that `workers` in a loop without think time complete on `size` connections: min(C, P) / S1."""
    return min(workers, size) / hold_s


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


def cpu_ceiling_per_s(cpus: float, client_cpu_s: float, server_cpu_s: float, processes: int) -> float:
    """
    Return the rate at which the CPU runs out, from the CPU seconds that one request costs on each side.

    Client and server share `cpus`, and each client process has one thread that runs Python at a time.
    """
    return min(cpus / (client_cpu_s + server_cpu_s), processes / client_cpu_s)
