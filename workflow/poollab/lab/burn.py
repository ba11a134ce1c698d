"""Proof of a CPU cap: burn CPU inside it and see what the kernel lets through."""

import math
import os

from poollab.lab.base import Caps, Counters, Proof

#: A cap holds when the burn used at most this much of it; accounting has the grain of a period.
TOLERANCE = 1.05


def burners(caps: Caps) -> int:
    """Return how many busy loops it takes to press against a cap (one more than it allows)."""
    return min(math.ceil(caps.cores or 0) + 1, os.cpu_count() or 1)


def judge(caps: Caps, wanted: Caps, before: Counters, after: Counters) -> Proof:
    """Compare what was burnt between two readings with the cap that was read back."""
    cores = throttled = None
    if before.cpu_ns is not None and after.cpu_ns is not None:
        cores = (after.cpu_ns - before.cpu_ns) / (after.at_ns - before.at_ns)
    if before.throttled is not None and after.throttled is not None:
        throttled = after.throttled - before.throttled
    if (caps.quota_us, caps.period_us if wanted.cores else None) != (
        wanted.quota_us,
        wanted.period_us if wanted.cores else None,
    ):
        return Proof(
            caps=caps,
            enforced=False,
            burn_cores=cores,
            burn_throttled=throttled,
            note=f"asked for {describe(wanted)}, the kernel holds {describe(caps)}",
        )
    if caps.memory_bytes != wanted.memory_bytes:
        note = f"asked for {wanted.memory_bytes} bytes of memory, the kernel holds {caps.memory_bytes}"
        return Proof(caps=caps, enforced=False, burn_cores=cores, burn_throttled=throttled, note=note)
    if caps.cores is None:
        return Proof(caps=caps, enforced=True, burn_cores=cores, burn_throttled=throttled, note="no CPU cap asked for")
    if caps.cores >= (os.cpu_count() or 1):
        note = "the cap is not below this machine's CPUs, so a burn cannot prove it"
        return Proof(caps=caps, enforced=True, burn_cores=cores, burn_throttled=throttled, note=note)
    held = cores is not None and cores <= caps.cores * TOLERANCE and bool(throttled)
    return Proof(
        caps=caps,
        enforced=held,
        burn_cores=cores,
        burn_throttled=throttled,
        note="" if held else f"a burn got {cores} cores, throttled {throttled} times",
    )


def pressed(proof: Proof) -> bool:
    """Tell whether the burn got so far that the cap had to act; on a busy host it may get less CPU than the cap."""
    cores = proof.caps.cores
    return bool(proof.burn_throttled) or cores is None or proof.burn_cores is None or proof.burn_cores >= cores


def describe(caps: Caps) -> str:
    """Say a CPU cap in words."""
    return "no CPU cap" if caps.cores is None else f"{caps.cores:g} cores ({caps.quota_us} of {caps.period_us} us)"
