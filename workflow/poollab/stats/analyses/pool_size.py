"""The main question: does a larger pool make the whole operation faster, or only the wait for a connection shorter?"""

from collections.abc import Sequence
from typing import Any

from poollab.stats import changes, comparisons, groups, say, sizes, verdict
from poollab.stats.analyses import Context
from poollab.stats.compare import UNKNOWN
from poollab.stats.verdict import FELL

Row = dict[str, Any]


def build(context: Context) -> Row:
    """
    Return headline, verdicts (see `verdict.of_group`, each with its `range`, see `sizes.of_group`) and `intervals`.

    `headline_subject` names the workload that the headline tells of: that with the longest mean acquisition wait at
    its smallest pool, where a larger one has most to gain.
    """
    found = groups.groups(context.runs, context.conditions, context.model.get("arms"))
    rows, moved = comparisons.build(found, context.margin), changes.build(found, context.margin)
    tests = max(1, sum(row["metric"] == comparisons.METRICS[0].name for row in rows))
    verdicts = [
        verdict.of_group(group, rows, moved, context.margin) | {"range": sizes.of_group(group, context.margin, tests)}
        for group in found
    ]
    chosen = _chosen(found, verdicts)
    return {
        "headline": _headline(verdicts, chosen),
        "headline_subject": chosen["subject"] if chosen else None,
        "verdicts": [{k: v for k, v in entry.items() if k != "rows"} | {"arms": _plain(entry)} for entry in verdicts],
        "intervals": moved,
    }


def _plain(entry: Row) -> list[Row]:
    """Leave out the rows that stand in `comparisons` and `intervals` already."""
    return [{k: v for k, v in arm.items() if k != "rows"} for arm in entry["arms"]]


def _chosen(found: Sequence[groups.Group], verdicts: Sequence[Row]) -> Row | None:
    def wait(group: groups.Group) -> float:
        return max((v.value for v in group.arms[0].values("acquisition_wait_mean_ns").values()), default=-1.0)

    usable = [(wait(g), -i) for i, (g, v) in enumerate(zip(found, verdicts, strict=True)) if v["arms"] and _told(v)]
    return verdicts[-max(usable)[1]] if usable else None


def _told(entry: Row) -> bool:
    return any(arm["rows"]["mean"]["pairs"] >= 2 for arm in entry["arms"])


def _headline(verdicts: Sequence[Row], chosen: Row | None) -> str:
    if chosen is None:
        lead = "No workload has two repeats with ok runs of both its first pool and another"
        return f"{lead}; {verdicts[0]['sentence']}"
    told = [v for v in verdicts if v["arms"] and _told(v)]
    faster = [v["subject"] for v in told if any(a["word"] == "faster" for a in v["arms"])]
    other = "A larger pool" if chosen["sized"] else "Another arm"
    kinds = say.counted(len(told), "workload")
    levels = " (each level of the limits counts by itself)" if any(v["limits"] for v in told) else ""
    lead = f"{other} made the whole operation faster in {len(faster)} of {kinds}{levels}"
    shorter = sum(any(a["wait"] == FELL for a in v["arms"]) for v in told)
    unknown = sum(all(a["word"] == UNKNOWN for a in v["arms"]) for v in told)
    if unknown == len(told):
        # "In 0 of 3" would be read as a no.
        verb = "makes" if chosen["sized"] else "made"
        lead = f"Whether {other[0].lower()}{other[1:]} {verb} the whole operation faster cannot be told "
        lead += f"in any of {kinds}{levels}" if len(told) > 1 else f"in the one workload{levels}"
    rest = f" ({unknown} cannot be told)" if 0 < unknown < len(told) else ""
    rest += f", and the acquisition wait fell in {shorter}"
    return f"{lead}{rest}; {chosen['sentence']}"
