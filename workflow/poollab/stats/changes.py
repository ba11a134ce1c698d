"""
Which intervals of a request were longer or shorter, from the baseline to an arm.

An interval can be a few microseconds, of which a change by half means nothing to anybody. So a change must show in
the ratio of the runs' means, and as a share of the baseline's overall time too.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from poollab.stats import compare
from poollab.stats.compare import DOWN, SAME, UNKNOWN, UP
from poollab.stats.groups import ArmRuns, Group

Row = dict[str, Any]
INTERVALS: Final = ("scheduling_delay", "before", "acquisition_wait", "query_round_trip", "release", "after")
#: A change counts from this share of the baseline's mean overall time on.
MATERIAL: Final = 0.01
#: Probability that the rows of an interval claim anything where there is nothing.
ALPHA: Final = 0.02


def build(groups: Sequence[Group], margin: float) -> list[Row]:
    """
    Return a row for each interval that exists, of each arm against its group's baseline.

    Keys: workload, limits, from, to, interval, `before` and `after` (mean of the paired runs' means, ns), ratio with
    low and high, `share_low` and `share_high` (95 % interval of the change as a share of the baseline's mean overall
    time), `word` (longer, shorter, `the same`, `cannot tell`). Longer and shorter survive Holm's correction over all
    rows of an interval.
    """
    rows: list[Row] = [
        {"workload": g.workload, "limits": g.limits, "from": first.label, "to": last.label, "interval": name} | found
        for name in INTERVALS
        for g in groups
        for first, last, kind in g.pairs()
        if kind == "baseline" and (found := _change(g, last, name, margin)) is not None
    ]
    for name in INTERVALS:
        mine: list[Row] = [row for row in rows if row["interval"] == name]
        for row, kept in zip(mine, compare.holm([row.pop("p") for row in mine], ALPHA), strict=True):
            row["word"] = row["word"] if kept or row["word"] == SAME else UNKNOWN
    return rows


def _change(group: Group, last: ArmRuns, name: str, margin: float) -> Row | None:
    values = [arm.values(f"{name}_mean_ns") for arm in group.arms]
    before, after = values[0], values[group.arms.index(last)]
    if not before or not after:
        return None
    found = compare.pair(before, after, compare.spread_of(values))
    base = {r: v.value for r, v in group.arms[0].values("overall_mean_ns").items()}
    parts = [{r: v.value / base[r] for r, v in arm.items() if r in base} for arm in values]
    shares = [parts[group.arms.index(last)][r] - parts[0][r] for r in sorted(set(before) & set(after) & set(base))]
    spread = compare.residual(parts)
    low, high, p = (None, None, None) if len(shares) < 2 or spread is None else compare.difference(shares, spread)
    return {
        "before": found.before,
        "after": found.after,
        **{key: getattr(found, key) for key in ("ratio", "low", "high", "pairs", "split")},
        "share": float(np.mean(shares)) if shares else None,
        "share_low": low,
        "share_high": high,
        "word": UNKNOWN if compare.torn(found) else _word(compare.word(found, margin), low, high),
        "p": None if found.p is None or p is None else max(found.p, p),
    }


def _word(ratio_word: str, low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return UNKNOWN
    if low > -MATERIAL and high < MATERIAL:
        return SAME
    if ratio_word == UP and low > MATERIAL:
        return "longer"
    if ratio_word == DOWN and high < -MATERIAL:
        return "shorter"
    return SAME if ratio_word == SAME else UNKNOWN


def of(rows: Sequence[Row], group: Group, last: ArmRuns) -> dict[str, Row]:
    """Return the changes of one arm against its group's baseline, by interval."""
    return {
        row["interval"]: row
        for row in rows
        if (row["workload"], row["limits"], row["to"]) == (group.workload, group.limits, last.label)
    }
