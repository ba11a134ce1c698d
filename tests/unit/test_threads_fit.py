"""4,000 threads are no small thing to ask: what a machine or a cap does not give is said with the sum."""

from typing import Any

import pytest
from support.studies import plans

from poollab.errors import ConfigError
from poollab.session.plan_file import SLOTS
from poollab.session.threads import free, refuse_too_many

MANY: dict[str, Any] = {
    "pools": None,
    "arms": {"threads": {"size": 2, "client": "psycopg-threads"}, "coroutines": {"size": 2}},
    "workloads.light.arrivals": {"batch": {"size": 4000}},
}


def _session(changes: dict[str, Any]) -> dict[str, Any]:
    cells = {name: {slot: getattr(plan, slot) for slot in SLOTS} for name, plan in plans(changes).items()}
    return {"study": {"file": "s.yaml"}, "cells": cells}


def test_threads_that_fit_are_taken() -> None:
    """With room for them all nothing is said."""
    refuse_too_many(_session(MANY), {"pid_max": 5000})


def test_threads_that_do_not_fit_are_refused_with_the_sum() -> None:
    """The arm, the workload, the sum and the limit that is too low stand in one line, once."""
    with pytest.raises(ConfigError) as caught:
        refuse_too_many(_session({**MANY, "repeats": 2}), {"ulimit -u": 1000, "pid_max": 9000})
    (fault,) = caught.value.faults
    assert fault.startswith("s.yaml: arms.threads with workloads.light: needs 1 x (4000 threads + 64) = 4064 threads")
    assert "ulimit -u leaves 1000; raise it or use fewer" in fault


def test_a_memory_cap_that_is_too_small_for_them_is_refused() -> None:
    """The generator's memory cap counts too: its threads would be killed inside the window."""
    with pytest.raises(ConfigError, match=r"need about 127 MiB, and load_generator\.limits\.memory_mib is 100"):
        refuse_too_many(_session({**MANY, "load_generator.limits.memory_mib": 100}), {})


def test_every_limit_of_this_machine_is_a_number() -> None:
    """What the kernel says here can be read, and more than nothing is left."""
    assert free()
    assert all(number > 0 for number in free().values())
