"""Proof of a CPU cap: burn CPU inside it and see what the kernel lets through."""

import math
import os
from collections.abc import Sequence

from poollab.lab.base import Caps, Counters, Proof

#: A cap holds when the burn used at most this much of it; accounting has the grain of a period.
TOLERANCE = 1.05
#: Sides burn together as long as their caps leave the rest of the CPUs to everybody else.
TOGETHER = 0.75

Readings = tuple[Counters, Counters]


def usable() -> int:
    """Return how many CPUs this process, and what it starts, may run on."""
    return len(os.sched_getaffinity(0))


def burners(caps: Caps, cpus: int) -> int:
    """Return how many busy loops it takes to press against a cap (one more than it allows); none without a cap."""
    return 0 if caps.cores is None else min(math.ceil(caps.cores) + 1, cpus)


def can_throttle(caps: Caps, cpus: int) -> bool:
    """Tell whether there are CPUs enough to go beyond a cap at all, so that the kernel would have to act."""
    return caps.cores is not None and caps.cores < cpus


def rounds(wanted: Sequence[Caps], cpus: int) -> list[tuple[int, ...]]:
    """
    Return which sides (by number) burn together, round after round.

    Sides whose caps add up to all CPUs would take from each other what each needs to reach its own cap.
    """
    sides = tuple(i for i, caps in enumerate(wanted) if can_throttle(caps, cpus))
    total = sum(wanted[i].cores or 0 for i in sides)
    return [(i,) for i in sides] if total > cpus * TOGETHER else [sides] * bool(sides)


def judge(caps: Caps, wanted: Caps, burnt: Readings | None, cpus: int) -> Proof:
    """Compare what was burnt between two readings (None: nothing was) with the cap that was read back."""
    cores, throttled = _burnt(burnt)
    note = _misread(caps, wanted)
    enforced = not note
    if enforced and caps.cores is None:
        note = "no CPU cap asked for"
    elif enforced and not can_throttle(caps, cpus):
        note = f"the cap is not below the {cpus} CPUs here, so that nothing can go beyond it: read back, not burnt"
    elif enforced:
        enforced = cores is not None and cores <= (caps.cores or 0) * TOLERANCE and bool(throttled)
        note = "" if enforced else f"a burn got {cores} cores, throttled {throttled} times"
    return Proof(caps=caps, enforced=enforced, burn_cores=cores, burn_throttled=throttled, note=note)


def _burnt(burnt: Readings | None) -> tuple[float | None, int | None]:
    """Return the cores that were used and the periods that were throttled; None where unknown."""
    cores = throttled = None
    if burnt is not None:
        before, after = burnt
        if before.cpu_ns is not None and after.cpu_ns is not None:
            cores = (after.cpu_ns - before.cpu_ns) / (after.at_ns - before.at_ns)
        if before.throttled is not None and after.throttled is not None:
            throttled = after.throttled - before.throttled
    return cores, throttled


def _misread(caps: Caps, wanted: Caps) -> str:
    """Say where the kernel holds another cap than was asked for; nothing where it holds that one."""
    # The period of no quota is nobody's choice.
    periods = (caps.period_us, wanted.period_us) if wanted.cores else (None, None)
    if caps.quota_us != wanted.quota_us or periods[0] != periods[1]:
        return f"asked for {describe(wanted)}, the kernel holds {describe(caps)}"
    if caps.memory_bytes != wanted.memory_bytes:
        return f"asked for {wanted.memory_bytes} bytes of memory, the kernel holds {caps.memory_bytes}"
    return ""


def pressed(proof: Proof) -> bool:
    """Tell whether the burn got so far that the cap had to act; on a busy host it may get less CPU than the cap."""
    cores = proof.caps.cores
    return bool(proof.burn_throttled) or cores is None or proof.burn_cores is None or proof.burn_cores >= cores


def describe(caps: Caps) -> str:
    """Say a CPU cap in words."""
    return "no CPU cap" if caps.cores is None else f"{caps.cores:g} cores ({caps.quota_us} of {caps.period_us} us)"
