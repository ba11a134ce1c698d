"""The self-test's judgement: it accepts an honest instrument and none of the flawed ones."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support import columns

from poollab.data.schemas import REQUESTS
from poollab.lab.base import Caps, Proof
from poollab.load.rows import ABSENT
from poollab.session import selftest

RECORD = {"generator": {"timer": "timerfd", "loop": "uvloop"}}
GAP_NS, COUNT = 10_000_000, 3000
FROM_NS, TO_NS = 7_500_000_000, 9_500_000_000


def _rows(made: dict[str, Any], **status: str) -> pa.Table:
    """Make a table of requests, all ok but for the numbers in `status`, given as n<number>=word."""
    words = ["ok"] * len(made["scheduled"])
    for number, word in status.items():
        words[int(number[1:])] = word
    values: dict[str, Any] = {f"{name}_ns": [None if v == ABSENT else int(v) for v in made[name]] for name in NAMES}
    values |= {"request": range(len(words)), "status": words}
    arrays = [pa.array(values.get(f.name, [None] * len(words)), f.type) for f in REQUESTS]
    return pa.Table.from_arrays(arrays, schema=REQUESTS)


NAMES = ("scheduled", "started", "acquired", "result", "released")


def _honest(**more: Any) -> dict[str, Any]:
    """Every request that was due in the freeze carries its wait until the end of it."""
    due = columns.every(GAP_NS, COUNT)
    frozen = np.where((due >= FROM_NS) & (due < TO_NS), TO_NS - due, 1_000_000)
    return columns.served(due, trip=frozen, **{"late": 80_000, **more})


def _failed(rows: pa.Table, stopped: int = 9) -> set[str]:
    return {check.name for check in selftest.judge(RECORD, rows, stopped) if not check.good}


def test_an_honest_instrument_passes() -> None:
    """A run whose every due request carries its wait fails nothing."""
    assert _failed(_rows(_honest())) == set()


def test_a_tool_that_waits_for_the_answer_fails() -> None:
    """Where only the five requests under way are slow the freeze is hidden, and each of its checks says so."""
    due = columns.every(GAP_NS, COUNT)
    slow = np.where((due >= FROM_NS) & (due < FROM_NS + 5 * GAP_NS), 2_000_000_000, 1_000_000)
    hidden = {"the freeze shows in p95", "the freeze shows in p99", "waiting adds up"}
    assert _failed(_rows(columns.served(due, trip=slow, late=80_000))) == hidden


def test_a_late_generator_fails() -> None:
    """Starts that come late by more than a fifth of the gap are the tool's own fault."""
    assert _failed(_rows(_honest(late=3_000_000))) == {"on time, the freeze included"}


def test_an_early_start_fails() -> None:
    """A request that begins before its time was not measured from when it was due."""
    assert _failed(_rows(_honest(late=-1000))) == {"never early"}


def test_a_lost_request_fails() -> None:
    """Fewer rows than were scheduled, or one with another end than ok, are found."""
    assert "every request has an end" in _failed(_rows(_honest()).slice(0, COUNT - 1))
    assert "every request has an end" in _failed(_rows(_honest(), n5="error"))


def test_a_freeze_that_did_not_happen_fails() -> None:
    """A tail of another cause proves nothing when no process was stopped."""
    assert {"the freeze shows in p95", "the freeze shows in p99"} <= _failed(_rows(_honest()), stopped=0)


def test_no_requests_fail() -> None:
    """A run without any request fails in words and does not crash."""
    assert "on time" in _failed(_rows(_honest()).slice(0, 0))


@pytest.mark.parametrize(("burn", "word"), [(0.49, "ok"), (None, "not shown")])
def test_a_machine_that_cannot_cap_says_so(burn: float | None, word: str) -> None:
    """A cap that this user cannot set is neither passed nor failed."""
    proof = Proof(Caps(5000, 10000, None), burn is not None, burn, 98 if burn else None, "no cgroup")
    check = selftest._cap("database", proof)
    assert check.good is (True if burn else None)
    assert str(check).startswith(word)


def test_its_plan_is_what_it_says() -> None:
    """The run has the rate and the length that the checks reckon with."""
    plan = selftest.plan()
    assert plan.windows == (selftest.WARM_UP_S, selftest.WINDOW_S)
    assert plan.caps("database") == Caps(5000, 10_000, 256 << 20)
