"""CPU burnt inside containers whose caps are to be proven."""

import time

from docker.models.containers import Container

from poollab.lab import docker_spec
from poollab.lab.burn import Readings
from poollab.lab.docker_counters import counters_of
from poollab.lab.docker_errors import plain

#: Between the start of the loops and the first reading, and between the last reading and their end, in seconds.
MARGIN_S = 0.4


def burn(loops: list[tuple[Container, int]], seconds: float) -> list[Readings]:
    """Run so many busy loops in each container, all at once; return two readings of each, `seconds` apart."""
    readers = [counters_of(side) for side, _ in loops]
    with plain("the caps cannot be proven"):
        for side, count in loops:
            side.exec_run(docker_spec.burn(count, seconds + 2 * MARGIN_S), detach=True)
    time.sleep(MARGIN_S)
    before = [reader.read() for reader in readers]
    time.sleep(seconds)
    after = [reader.read() for reader in readers]
    # The loops end by themselves a moment later.
    time.sleep(2 * MARGIN_S)
    return list(zip(before, after, strict=True))
