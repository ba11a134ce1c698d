"""Which CPUs the two sides use: disjoint halves, where there are two or more."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path


def core(cpu: int) -> str:
    """Name the core of a CPU by its threads, as the kernel lists them; by the CPU itself where that is not known."""
    try:
        return Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list").read_text("ascii").strip()
    except OSError:
        return str(cpu)


def halves(cpus: Iterable[int], core_of: Callable[[int], str] = str) -> tuple[list[int], list[int]] | None:
    """
    Share CPUs out as (database, load generator), the larger part to the database; None for fewer than two.

    Threads of one core, which `core_of` names, stay on one side: often CPU 0 and the first of the other half are such.
    A single core is shared out thread by thread.
    """
    known = sorted(cpus)
    if len(known) < 2:
        return None
    cores: dict[str, list[int]] = {}
    for cpu in known:
        cores.setdefault(core_of(cpu), []).append(cpu)
    parts = list(cores.values()) if len(cores) > 1 else [[cpu] for cpu in known]
    middle = (len(parts) + 1) // 2
    one, other = (sorted(cpu for part in side for cpu in part) for side in (parts[:middle], parts[middle:]))
    return one, other


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
