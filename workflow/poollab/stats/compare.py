"""
Comparison of two arms by run: a run is one observation, since the requests of one run are not independent.

Runs are paired by repeat (the same schedule, the same pass over all conditions). Of the log ratios of the pairs a t
interval is made, and an equality margin decides what it says: see `word`. How much runs differ by themselves is
estimated from all arms of the workload together, since three pairs alone tell little of it: what is left of the log
values after each arm's and each repeat's level are taken out, with (arms - 1) x (repeats - 1) degrees of freedom, and
fewer where one arm's runs differ more than the others' (after Satterthwaite). With two arms that is the ordinary paired
interval.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from scipy import stats

CONFIDENCE: Final = 0.95
#: Repeats beyond this are not advised: then the two cannot be told apart in practice.
MOST_REPEATS: Final = 200

#: A sum of squares below this is rounding and no spread.
ROUNDING: Final = 1e-20

UP: Final = "up"
DOWN: Final = "down"
SAME: Final = "the same"
SMALL: Final = "a small difference"
UNKNOWN: Final = "cannot tell"


@dataclass(frozen=True, slots=True)
class Value:
    """A run's value and the block that it was measured in."""

    value: float
    block: int


@dataclass(frozen=True, slots=True)
class Spread:
    """Standard deviation of a pair's log ratio (or difference), and its degrees of freedom."""

    pair: float
    free: float


@dataclass(frozen=True, slots=True)
class Paired:
    """
    What pairs of runs say of after / before; ratios, not differences.

    `low` and `high` bound the ratio (95 %); `spread` is the standard deviation of a pair's log ratio and `free` its
    degrees of freedom. `p` is the probability of a ratio so far from 1 where there is no difference.
    """

    pairs: int
    split: int
    """Pairs whose two runs lie in different blocks."""
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    spread: float | None = None
    free: float | None = None
    p: float | None = None
    before: float | None = None
    """Mean of the paired runs' values."""
    after: float | None = None
    apart: float | None = None
    """Ratio over those pairs alone that lie in one block; None without them, or where no pair is split."""


def spread_of(arms: Sequence[Mapping[int, Value]]) -> Spread | None:
    """Estimate the spread of pairs' log ratios from all arms' runs by repeat; None where there are too few."""
    return residual([{r: math.log(v.value) for r, v in arm.items() if v.value > 0} for arm in arms])


def residual(arms: Sequence[Mapping[int, float]]) -> Spread | None:
    """Estimate the spread of a pair's difference from what arms and repeats leave; None where nothing is left."""
    cells = [(a, r, value) for a, arm in enumerate(arms) for r, value in arm.items()]
    shared = {r for _, r, _ in cells if sum(r == other for _, other, _ in cells) > 1}
    cells = [cell for cell in cells if cell[1] in shared]
    repeats, columns = sorted(shared), len(arms)
    design = np.zeros((len(cells), columns + len(repeats)))
    for i, (a, r, _) in enumerate(cells):
        design[i, a] = design[i, columns + repeats.index(r)] = 1
    free = len(cells) - int(np.linalg.matrix_rank(design)) if cells else 0
    if free < 1:
        return None
    level = np.array([cell[2] for cell in cells])
    left = (level - design @ np.linalg.lstsq(design, level, rcond=None)[0]) ** 2
    each = np.array([left[design[:, a] == 1].sum() for a in range(columns) if design[:, a].any()])
    # All arms alike: 1. A single arm that differs from run to run: 1 / arms, since the others tell nothing of it.
    alike = float(each.sum() ** 2 / (each**2).sum() / len(each)) if each.sum() > ROUNDING else 1.0
    return Spread(math.sqrt(2 * float(left.sum()) / free), max(1.0, free * alike))


def pair(before: Mapping[int, Value], after: Mapping[int, Value], spread: Spread | None = None) -> Paired:
    """
    Pair two arms' runs by repeat; values that are not positive pair with nothing.

    `spread` is that of the workload (see `spread_of`); without it, that of these pairs. With fewer than two pairs
    there is a ratio at most, and no interval.
    """
    shared = sorted(r for r in set(before) & set(after) if before[r].value > 0 and after[r].value > 0)
    if not shared:
        return Paired(0, 0)
    logs = np.array([math.log(after[r].value / before[r].value) for r in shared])
    split = np.array([after[r].block != before[r].block for r in shared])
    found = Paired(
        pairs=len(shared),
        split=int(split.sum()),
        ratio=math.exp(float(logs.mean())),
        before=float(np.mean([before[r].value for r in shared])),
        after=float(np.mean([after[r].value for r in shared])),
        apart=math.exp(float(logs[~split].mean())) if split.any() and not split.all() else None,
    )
    if len(shared) < 2:
        return found
    used = spread or spread_of([before, after]) or Spread(float(logs.std(ddof=1)), len(logs) - 1)
    mean, error = float(logs.mean()), used.pair / math.sqrt(len(logs))
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, used.free)) * error
    return replace(
        found,
        low=math.exp(mean - half),
        high=math.exp(mean + half),
        spread=used.pair,
        free=used.free,
        p=_p(abs(mean), error, used.free),
    )


def difference(values: Sequence[float], spread: Spread) -> tuple[float, float, float]:
    """Return the 95 % interval of the mean of pairs' differences, and the probability of such a mean where it is 0."""
    mean, error = float(np.mean(values)), spread.pair / math.sqrt(len(values))
    half = _t(spread.free) * error
    return mean - half, mean + half, _p(abs(mean), error, spread.free)


def _p(far: float, error: float, free: float) -> float:
    if error == 0:
        return 0.0 if far > 0 else 1.0
    return float(min(1.0, 2 * stats.t.sf(far / error, free)))


def word(found: Paired, margin: float, *, survives: bool = True) -> str:
    """
    Say what a comparison shows, in one of five words.

    `the same`: the interval lies wholly inside the margin. `up` or `down`: wholly beyond it. `a small difference`: it
    excludes no difference only. Else `cannot tell`. A difference is claimed only if it `survives` Holm's correction
    over the study's comparisons, and, where a block boundary splits pairs, if those in one block point the same way.
    """
    if found.low is None or found.high is None or found.ratio is None:
        return UNKNOWN
    if found.low > 1 / (1 + margin) and found.high < 1 + margin:
        return SAME
    if not survives or torn(found):
        return UNKNOWN
    if found.low > 1 + margin or found.high < 1 / (1 + margin):
        return UP if found.ratio > 1 else DOWN
    return SMALL if found.low > 1 or found.high < 1 else UNKNOWN


def torn(found: Paired) -> bool:
    """Tell whether pairs are split by a block boundary, and those in one block do not point the same way."""
    return found.split > 0 and (found.apart is None or (found.apart - 1) * ((found.ratio or 1) - 1) <= 0)


def holm(probabilities: Sequence[float | None], alpha: float = 1 - CONFIDENCE) -> list[bool]:
    """Tell which claims survive Holm's step-down correction over all of them; an unknown one does not count."""
    known = sorted((p, i) for i, p in enumerate(probabilities) if p is not None)
    kept, failed = [False] * len(probabilities), False
    for place, (p, index) in enumerate(known):
        failed = failed or p > alpha / (len(known) - place)
        kept[index] = not failed
    return kept


def repeats_needed(found: Paired, margin: float, tests: float = 1) -> int | None:
    """
    Return how many repeats would make the interval decide, if spread and ratio stay as they were seen.

    None where nothing is known of the spread (fewer than two pairs) or more than MOST_REPEATS would be needed: then
    the ratio lies at the margin itself. `tests` is the number of comparisons that a claim must hold out against.
    """
    if found.ratio is None or found.spread is None:
        return None
    size, limit, each = abs(math.log(found.ratio)), math.log1p(margin), (found.free or 1) / (found.pairs - 1)
    for count in range(found.pairs + 1, MOST_REPEATS + 1):
        error, free = found.spread / math.sqrt(count), each * (count - 1)
        if _t(free) * error < abs(size - limit) and (size < limit or _t(free, tests) * error < size):
            return count
    return None


def _t(free: float, tests: float = 1) -> float:
    return float(stats.t.ppf(1 - (1 - CONFIDENCE) / 2 / tests, free))
