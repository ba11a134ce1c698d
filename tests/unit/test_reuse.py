"""In which order a pool takes its idle connections, from stamps that are made up."""

from collections import deque

import numpy as np
import pytest

from poollab.stats.reuse import Ints, order

Row = tuple[int, int, int, int]


def counted(rows: list[Row], size: int) -> dict[str, int]:
    """Return the counts of check-outs, each (connection, asked, acquired, released)."""
    columns: list[Ints] = [np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)]
    return order(columns[0], columns[1], columns[2], columns[3], size)


def after_all_were_held(taken: list[int]) -> list[Row]:
    """Return three check-outs that hold 0, 1 and 2 together, and one after another those of `taken`."""
    held = [(number, number, number, 10 + number) for number in range(3)]
    return held + [(number, 19 + 10 * i, 20 + 10 * i, 25 + 10 * i) for i, number in enumerate(taken)]


@pytest.mark.parametrize(
    ("taken", "expected"),
    [
        ([2, 2, 2, 2], {"newest": 4, "oldest": 0, "between": 0}),
        ([0, 1, 2, 0], {"newest": 0, "oldest": 4, "between": 0}),
        ([1, 0, 2], {"newest": 0, "oldest": 2, "between": 1}),
    ],
)
def test_the_order_is_read_from_connection_numbers(taken: list[int], expected: dict[str, int]) -> None:
    """LIFO takes the connection that came back last, FIFO the one that came back first; three were held together."""
    assert counted(after_all_were_held(taken), 3) == expected


@pytest.mark.parametrize(
    ("taken", "expected"), [([7, 7, 7, 7], ("newest", 3)), ([3, 4, 5, 6, 7], ("oldest", 4)), ([7], ("newest", 0))]
)
def test_connections_not_seen_yet_are_older_than_those_that_were(taken: list[int], expected: tuple[str, int]) -> None:
    """One caller of a LIFO pool sees one connection only, and that tells: the seven others lie idle and are older."""
    found = counted([(number, 10 * i, 10 * i, 10 * i + 5) for i, number in enumerate(taken)], 8)
    assert found[expected[0]] == expected[1] == sum(found.values())


def test_a_pool_of_one_has_no_choice() -> None:
    """With one connection nothing is said about the order."""
    assert sum(counted([(0, 10 * i, 10 * i, 10 * i + 5) for i in range(5)], 1).values()) == 0


def test_a_connection_that_is_taken_again_was_there_before() -> None:
    """A's release is stamped after B has the connection: it came back last all the same, and was not absent."""
    held = [(number, number, number, 6) for number in (1, 2)]
    found = counted([(0, 0, 0, 10), *held, (0, 8, 9, 30)], 3)
    assert found == {"newest": 1, "oldest": 0, "between": 0}


def test_who_waited_was_handed_a_connection_and_chose_nothing() -> None:
    """Both connections are held when two ask; that each gets one of two idle ones by the stamps is no choice."""
    held = [(0, 0, 1, 20), (1, 0, 1, 21)]
    assert sum(counted([*held, (0, 5, 22, 30), (1, 6, 23, 31)], 2).values()) == 0


def test_beside_one_who_waits_nothing_is_told() -> None:
    """While another has asked and has none yet, what came back is as good as gone."""
    rows = [(0, 0, 1, 20), (1, 0, 1, 21), (2, 0, 1, 22), (0, 5, 40, 50), (1, 30, 31, 35)]
    assert sum(counted(rows, 3).values()) == 0


@pytest.mark.parametrize(("newest", "expected"), [(True, "newest"), (False, "oldest")])
@pytest.mark.parametrize("late", [0, 10])
def test_pools_of_either_order_are_told_apart(newest: bool, expected: str, late: int) -> None:  # noqa: FBT001
    """Of a pool of 5 with 4 callers nearly every choice is seen as it was, though releases are stamped late."""
    rng, idle, rows = np.random.default_rng(3), deque(range(5)), []
    busy: list[tuple[int, int, int]] = []
    for at in range(0, 4000, 10):
        while busy and (len(busy) == 4 or rng.random() < 0.5):
            number, begun, ended = busy.pop(int(rng.integers(len(busy))))
            idle.append(number)
            rows.append((number, begun, begun + 1, max(ended, at - 6) + late))
        number = idle.pop() if newest else idle.popleft()
        busy.append((number, at, at + 1))
    found = counted(rows, 5)
    assert sum(found.values()) > 100
    assert found[expected] > 0.8 * sum(found.values())
