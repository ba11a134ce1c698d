"""Work for the client's CPU in pure Python, of a length that is calibrated once before the clock starts."""

import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor

from poollab.load.kin import die_with_parent

#: One trial takes about this long; the fastest of them is the rate, since others only ever slow one down.
_TRIAL_NS = 10_000_000
_TRIALS = 8


def burn(turns: int) -> int:
    """Do a number of turns of a small integer loop, holding Python's lock as any pure-Python code does."""
    value = 1
    for _ in range(turns):
        value = (value * 1103515245 + 12345) & 0x7FFFFFFF
    return value


def calibrate() -> float:
    """Return how many turns take one nanosecond of CPU time (a small fraction)."""
    turns, best = 1000, 0.0
    for _ in range(_TRIALS):
        took = 0
        while True:
            # CPU time and not wall time: under a cap the wall goes on while nothing runs.
            begun = time.thread_time_ns()
            burn(turns)
            took = time.thread_time_ns() - begun
            if took >= _TRIAL_NS:
                break
            turns *= 2
        best = max(best, turns / took)
    return best


def usable_cpus() -> int:
    """Return how many CPUs this process may use."""
    return len(os.sched_getaffinity(0))


def processes() -> ProcessPoolExecutor:
    """
    Return a pool of one process for each usable CPU, all of them started.

    Made before any thread and before the event loop, since they are forked.
    """
    count = usable_cpus()
    context = multiprocessing.get_context("fork")
    pool = ProcessPoolExecutor(count, mp_context=context, initializer=die_with_parent)
    for done in [pool.submit(burn, 1) for _ in range(count)]:
        done.result(30)
    return pool
