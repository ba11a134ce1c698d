"""What a sample holds besides the counters: the server's sessions, once a second, where that costs next to nothing."""

from typing import Any

import pytest

from poollab.lab.base import Counters
from poollab.lab.counters import CgroupCounters
from poollab.run import sampling
from poollab.run.sampling import SIDE_VALUES, Sampler

S = 1_000_000_000


class Group(CgroupCounters):
    """A group whose clock the test sets."""

    def __init__(self) -> None:
        self._files, self.now_ns, self.looks = {}, 0, 0

    def read(self) -> Counters:
        """Give a reading of now."""
        return Counters(at_ns=self.now_ns, inactive_file_bytes=4096)

    def pids(self) -> list[int]:
        """Count the looks."""
        self.looks += 1
        return [1, 2, 3]


class Other:
    """A source that is no group."""

    def read(self) -> Counters:
        """Give a reading without values."""
        return Counters(at_ns=0)

    def read_cpu(self) -> int | None:
        """Know nothing."""
        return None

    def pids(self) -> list[int]:
        """Be expensive."""
        raise AssertionError


def test_sessions_are_looked_for_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reading at zero only reads; from then on there is one look a second, and null in between."""
    monkeypatch.setattr(sampling.Backends, "count", lambda _self, pids: len(pids))
    group: Any = Group()
    sampler = Sampler(group, group)
    for tenth in range(25):
        group.now_ns = tenth * S // 10
        sampler.take()
    found = sampler.columns["database_sessions"]
    assert [tenth for tenth, value in enumerate(found) if value is not None] == [1, 11, 21]
    assert (found[1], group.looks) == (3, 3)
    assert sampler.columns["generator_inactive_file_bytes"] == [4096] * 25


def test_where_a_look_would_cost_too_much_there_is_none() -> None:
    """Without a group the whole process list would be walked, so the column stays null."""
    sampler = Sampler(Other(), Other())
    for _ in range(3):
        sampler.take()
    assert sampler.columns["database_sessions"] == [None] * 3
    assert set(SIDE_VALUES) <= set(Counters.__slots__)
