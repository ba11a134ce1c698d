"""Who burns when, and what a burn proves: every legal cap below the machine's CPUs can be proven."""

import pytest

from poollab.lab import burn
from poollab.lab.base import Caps, Counters, Proof

OPEN = Caps(None, 10_000, None)
S = 1_000_000_000


def _cores(cores: float) -> Caps:
    return Caps(round(cores * 10_000), 10_000, None)


def _burnt(cores: float, throttled: int | None) -> burn.Readings:
    after = None if throttled is None else 100 + throttled
    return Counters(at_ns=S, cpu_ns=5 * S, throttled=100), Counters(
        at_ns=2 * S, cpu_ns=round((5 + cores) * S), throttled=after
    )


def test_an_uncapped_side_burns_nothing() -> None:
    """It would only take the CPU that the other side needs to reach its cap."""
    assert burn.burners(OPEN, 2) == 0
    assert burn.rounds((_cores(1.5), OPEN), 2) == [(0,)]
    assert burn.rounds((OPEN, _cores(0.5)), 2) == [(1,)]
    assert burn.rounds((OPEN, OPEN), 2) == []


@pytest.mark.parametrize(("cores", "cpus", "loops"), [(0.5, 2, 2), (1.5, 2, 2), (1.5, 8, 3), (0.2, 1, 1), (2.0, 4, 3)])
def test_one_loop_more_than_the_cap_allows(cores: float, cpus: int, loops: int) -> None:
    """So many busy loops press against a cap, and never more than there are CPUs."""
    assert burn.burners(_cores(cores), cpus) == loops


@pytest.mark.parametrize(
    ("database", "generator", "cpus", "rounds"),
    [
        (0.5, 0.5, 2, [(0, 1)]),
        (0.5, 1.0, 2, [(0, 1)]),
        (1.5, 0.5, 2, [(0,), (1,)]),
        (1.0, 1.0, 2, [(0,), (1,)]),
        (1.9, 1.9, 2, [(0,), (1,)]),
        (1.5, 1.5, 8, [(0, 1)]),
        (2.0, 0.5, 2, [(1,)]),
        (4.0, 2.0, 2, []),
    ],
)
def test_sides_burn_together_only_where_there_is_room(
    database: float, generator: float, cpus: int, rounds: list[tuple[int, ...]]
) -> None:
    """Caps that add up to the machine burn one after another; one that the machine cannot exceed does not burn."""
    assert burn.rounds((_cores(database), _cores(generator)), cpus) == rounds


def test_a_cap_that_held() -> None:
    """At most 1.05 of the cap and throttled is proven, more or never throttled is not, and the note says how much."""
    cap = _cores(1.5)
    held = burn.judge(cap, cap, _burnt(1.5, 90), 2)
    assert (held.enforced, held.burn_throttled, held.note) == (True, 90, "")
    assert held.burn_cores == pytest.approx(1.5)
    for found in (_burnt(1.7, 90), _burnt(1.4, 0), _burnt(1.4, None), None):
        proof = burn.judge(cap, cap, found, 2)
        assert not proof.enforced
        assert proof.note.startswith("a burn got")


def test_a_side_without_a_cap_says_so() -> None:
    """No CPU cap is no failed proof, and nothing was burnt for it."""
    assert burn.judge(OPEN, Caps(None, 100_000, None), None, 2) == Proof(OPEN, True, None, None, "no CPU cap asked for")  # noqa: FBT003


@pytest.mark.parametrize("cores", [2.0, 3.5])
def test_a_cap_that_nothing_can_exceed_is_read_back(cores: float) -> None:
    """On two CPUs a cap of two or more never throttles: no busy host, and no claim of a burn."""
    proof = burn.judge(_cores(cores), _cores(cores), None, 2)
    assert (proof.enforced, proof.burn_cores) == (True, None)
    assert "read back, not burnt" in proof.note
    assert burn.pressed(proof)


@pytest.mark.parametrize("held", [OPEN, _cores(1.0), Caps(15_000, 100_000, None), Caps(15_000, 10_000, 2**28)])
def test_another_cap_in_the_kernel_is_never_proven(held: Caps) -> None:
    """What reads back otherwise than it was asked for is no proof, whatever was burnt."""
    proof = burn.judge(held, _cores(1.5), _burnt(1.0, 50), 2)
    assert not proof.enforced
    assert "the kernel holds" in proof.note
