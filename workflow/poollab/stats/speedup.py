"""
Two implementations of a pool, compared row by row: ratios of times, and when a difference is called confirmed.

A ratio is baseline / candidate: above 1 the candidate is faster. It is beyond the threshold t above 1 + t or below
1 / (1 + t), so that to swap the two arms changes the direction of a word and nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from poollab.quantiles import beyond, nearest_rank

Ints = npt.NDArray[np.int64]

NO_DIFFERENCE: Final = "no difference"
NOT_REPRODUCED: Final = "not reproduced"
CANNOT_TELL: Final = "cannot tell"
FASTER: Final = "confirmed faster"
SLOWER: Final = "confirmed slower"
#: Words of rows that were compared.
WORDS: Final = (FASTER, SLOWER, NO_DIFFERENCE, NOT_REPRODUCED, CANNOT_TELL)
#: The word of a row whose arms do not do the same.
NOT_COMPARABLE: Final = "not comparable"


@dataclass(frozen=True, slots=True)
class Pass:
    """The iteration times (ns) of both arms in one pass; None where an arm has no run that counts."""

    baseline: Ints | None
    candidate: Ints | None

    @property
    def counts(self) -> bool:
        """Whether both arms have times."""
        both = (self.baseline, self.candidate)
        return all(times is not None and len(times) > 0 for times in both)

    @property
    def ratio(self) -> float | None:
        """Ratio of means."""
        if not self.counts or self.baseline is None or self.candidate is None:
            return None
        return float(self.baseline.mean()) / float(self.candidate.mean())

    @property
    def median_ratio(self) -> float | None:
        """Ratio of medians (nearest rank)."""
        if not self.counts or self.baseline is None or self.candidate is None:
            return None
        one, other = nearest_rank(self.baseline, 0.5), nearest_rank(self.candidate, 0.5)
        return one / other if one and other else None


def direction(ratio: float | None, threshold: float) -> int | None:
    """Return 1 where the candidate is faster beyond the threshold, -1 where it is slower, 0 within; None unknown."""
    if ratio is None:
        return None
    if ratio > 1 + threshold:
        return 1
    return -1 if ratio < 1 / (1 + threshold) else 0


def word(ratios: Sequence[float | None], threshold: float, passes: int, *, first_decides: bool = True) -> str:
    """
    Judge a row by the ratios of its passes, the first one first; None for a pass without a ratio.

    Where the first pass decides what else is measured, one within the threshold is no difference, and otherwise a
    strict majority of all passes must be beyond the threshold in its direction. Where it decides nothing, or is lost,
    a strict majority of all passes in any direction is the answer. A difference of a single pass is confirmed by
    nothing, and none is confirmed that any pass contradicts (a ratio on the other side of 1): where equal arms differ
    by chance in two passes of three, the third mostly does.
    """
    found = [direction(ratio, threshold) for ratio in ratios]
    first = found[0] if found and first_decides else None
    if first == 0:
        return NO_DIFFERENCE
    votes = {way: found.count(way) for way in ([1, -1, 0] if first is None else [first])}
    most = max(votes, key=lambda way: votes[way])
    if votes[most] > passes / 2 and (most == 0 or passes > 1):
        contradicted = any(ratio is not None and (ratio - 1) * most < 0 for ratio in ratios)
        return NOT_REPRODUCED if contradicted else {1: FASTER, -1: SLOWER, 0: NO_DIFFERENCE}[most]
    # What is missing could still make a majority.
    missing = passes - sum(way is not None for way in found)
    return CANNOT_TELL if votes[most] + missing > passes / 2 else NOT_REPRODUCED


def disagree(mean_ratio: float | None, median_ratio: float | None, threshold: float) -> bool:
    """Tell whether mean and median lead to different words: one beyond the threshold and the other not, or opposite."""
    one, other = direction(mean_ratio, threshold), direction(median_ratio, threshold)
    return one is not None and other is not None and one != other


def summary(times: Sequence[Ints]) -> dict[str, Any]:
    """
    Return what a table shows of one arm's times (ns) over all passes that count.

    Keys: n, mean_ns, median_ns, p95_ns and p99_ns with their `beyond_`, min_ns, max_ns, and the coefficient of
    variation `spread` (standard deviation over mean; None for fewer than two).
    """
    values = np.concatenate(list(times)) if times else np.array([], dtype=np.int64)
    count = len(values)
    mean = float(values.mean()) if count else None
    return {
        "n": count,
        "mean_ns": mean,
        "median_ns": nearest_rank(values, 0.5),
        **{f"p{q}_ns": nearest_rank(values, q / 100) for q in (95, 99)},
        **{f"beyond_p{q}": beyond(count, q / 100) for q in (95, 99)},
        "min_ns": int(values.min()) if count else None,
        "max_ns": int(values.max()) if count else None,
        "spread": float(values.std(ddof=1)) / mean if count > 1 and mean else None,
    }


def ratio_of(baseline: dict[str, Any], candidate: dict[str, Any], key: str, enough: int = 1) -> float | None:
    """Return the ratio of two arms' values, None where one is missing or has fewer than `enough` values beyond it."""
    one, other = baseline[f"{key}_ns"], candidate[f"{key}_ns"]
    support = min(arm.get(f"beyond_{key}", enough) for arm in (baseline, candidate))
    return one / other if one and other and support >= enough else None
