"""
Every comparison of a study: each metric, from the baseline to each arm and from each arm to the next.

Every claim of a difference survives Holm's correction over all comparisons of its family in the study (means, tails,
rates): with many comparisons, some interval lies beyond the margin by chance as soon as runs differ by more than that.
Means get 5 % for the whole study; what is asked beside them gets less, so that all together stay below 5 % (simulated:
tests/bench/honesty.py).
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from poollab.stats import compare
from poollab.stats.compare import DOWN, SMALL, UNKNOWN, UP, Paired
from poollab.stats.groups import ArmRuns, Group

Row = dict[str, Any]
#: A run's percentile takes part in a comparison with so many requests beyond it.
SUPPORT: Final = 10
#: Probability that a family of comparisons claims anything where there is nothing.
ALPHA: Final = {"mean": 0.05, "tail": 0.02, "rate": 0.02}


@dataclass(frozen=True, slots=True)
class Metric:
    """A number of each run that is compared."""

    name: str
    column: str
    up: str
    down: str
    support: str | None = None
    family: str = ""
    """Metrics of one family are corrected together."""


METRICS: Final = (
    Metric("overall_mean", "overall_mean_ns", "slower", "faster", family="mean"),
    Metric("overall_p95", "overall_p95_ns", "slower", "faster", "overall_beyond_p95", "tail"),
    Metric("overall_p99", "overall_p99_ns", "slower", "faster", "overall_beyond_p99", "tail"),
    Metric("achieved_rate", "achieved_per_s", "higher", "lower", family="rate"),
)


def build(groups: Sequence[Group], margin: float) -> list[Row]:
    """
    Return a row for each metric and pair of arms.

    Keys: workload, limits, metric, from and to (arm labels) with from_size and to_size, kind (baseline or adjacent),
    `word` (faster, slower, higher, lower, `the same`, `a small difference`, `cannot tell`), the fields of
    `compare.Paired`, `needed` (repeats that would decide, for `cannot tell`) and `why` (a clause, else empty).
    """
    families = [[m for m in METRICS if m.family == name] for name in dict.fromkeys(m.family for m in METRICS)]
    return [row for family in families for row in _of_family(groups, family, margin)]


def _of_family(groups: Sequence[Group], family: Sequence[Metric], margin: float) -> list[Row]:
    asked = [(metric, group, *arms) for metric in family for group in groups for arms in group.pairs()]
    found = [one(group, first, last, metric) for metric, group, first, last, _ in asked]
    alpha = ALPHA[family[0].family]
    kept = compare.holm([p.p for p in found], alpha)
    tests = sum(p.spread is not None for p in found) * 0.05 / alpha
    return [
        {
            "workload": group.workload,
            "limits": group.limits,
            "metric": metric.name,
            "from": first.label,
            "to": last.label,
            "from_size": first.size,
            "to_size": last.size,
            "kind": kind,
            **judged(paired, metric, margin, tests, survives=survives),
            **({"why": text} if (text := _barred(first, last, metric)) else {}),
        }
        for (metric, group, first, last, kind), paired, survives in zip(asked, found, kept, strict=True)
    ]


def one(group: Group, first: ArmRuns, last: ArmRuns, metric: Metric) -> Paired:
    """Compare two arms of a group in one metric, without a word."""
    values = {arm.label: arm.values(metric.column, metric.support, SUPPORT) for arm in group.arms}
    return compare.pair(values[first.label], values[last.label], compare.spread_of(list(values.values())))


def judged(paired: Paired, metric: Metric, margin: float, tests: float, *, survives: bool) -> Row:
    """Return a comparison with its word; `survives` is what Holm's correction said, `tests` over how many."""
    word = compare.word(paired, margin, survives=survives)
    alone = word == UNKNOWN and not survives and compare.word(paired, margin) != UNKNOWN
    needed = compare.repeats_needed(paired, margin, tests) if word == UNKNOWN else None
    return {
        "word": {UP: metric.up, DOWN: metric.down}.get(word, word),
        "direction": None if paired.ratio is None else "up" if paired.ratio > 1 else "down",
        **asdict(paired),
        "needed": needed,
        "why": _why(paired, needed, margin, alone=alone) if word == UNKNOWN else "",
    }


def _why(paired: Paired, needed: int | None, margin: float, *, alone: bool) -> str:
    """Say why nothing is claimed; `alone` is a comparison that would claim something if it were the only one."""
    if paired.pairs < 2:
        return "no repeat has an ok run of both" if not paired.pairs else "one pair of runs shows no spread"
    if compare.torn(paired):
        if paired.apart is None:
            return "every pair of runs is split by the boundary of a block"
        return "pairs of runs are split by the boundary of a block, and those in one block do not agree with them"
    if alone:
        told = f"about {needed} repeats" if needed else f"{compare.MOST_REPEATS} repeats"
        rest = f"{told} would tell" if needed else f"not even {told} would tell"
        return f"among so many comparisons one like this comes up by chance too often; {rest}"
    if needed is None:
        return (
            f"the difference lies so close to the margin of {margin * 100:g} %, or runs differ so much, that "
            f"{compare.MOST_REPEATS} repeats would not tell"
        )
    return f"runs differ too much among themselves; about {needed} repeats would tell"


def _barred(first: ArmRuns, last: ArmRuns, metric: Metric) -> str:
    """Say that a percentile takes no part, where too few requests lie beyond it in each run."""
    if metric.support is None:
        return ""
    least = [run[metric.support] or 0 for arm in (first, last) for run in arm.ok]
    if not least or max(least) >= SUPPORT:
        return ""
    return f"only {max(least)} requests of a run lie beyond it, and a verdict needs {SUPPORT}"


def find(rows: Sequence[Row], group: Group, metric: str, first: ArmRuns, last: ArmRuns) -> Row:
    """Return the comparison of two arms in one metric; there is exactly one."""
    mine = [r for r in rows if (r["workload"], r["limits"], r["metric"]) == (group.workload, group.limits, metric)]
    return next(r for r in mine if (r["from"], r["to"]) == (first.label, last.label))


#: Words that claim a difference.
CLAIMS: Final = frozenset({"faster", "slower", "higher", "lower", SMALL})
