"""Which CPUs the two sides use: disjoint halves, where there are two or more."""

import os
from collections.abc import Iterable


def halves(cpus: Iterable[int]) -> tuple[list[int], list[int]] | None:
    """Share CPUs out as (database, load generator), the larger part to the database; None for fewer than two."""
    known = sorted(cpus)
    if len(known) < 2:
        return None
    middle = (len(known) + 1) // 2
    return known[:middle], known[middle:]


def pin(pids: Iterable[int], cpus: list[int]) -> str:
    """
    Keep processes to some CPUs; children that are born later follow.

    Returns why not, in a few words, or nothing where all obeyed.
    """
    for pid in pids:
        try:
            os.sched_setaffinity(pid, cpus)
        except ProcessLookupError:
            # It has ended meanwhile.
            continue
        except OSError as error:
            return f"the server's processes cannot be kept to some CPUs ({error.strerror})"
    return ""
