"""
One sentence for each workload: did the acquisition wait fall, and what of the overall time?

What was observed together is said together: never that one interval's time went to another, and never why.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from poollab.stats import changes, comparisons, say
from poollab.stats.compare import SAME, SMALL, UNKNOWN
from poollab.stats.groups import ArmRuns, Group

Row = dict[str, Any]
FELL: Final = "fell"
NOT: Final = "did not fall"
NAMES: Final = {
    "scheduling_delay": "scheduling delay",
    "before": "time before the connection",
    "query_round_trip": "query round trip",
    "release": "release",
    "after": "time after the release",
}


def of_group(group: Group, found: Sequence[Row], moved: Sequence[Row], margin: float) -> Row:
    """
    Return a workload's verdict; its sentence tells of the largest arm, and of the others where they differ.

    Keys: subject, word, sentence, `wait` (fell, did not fall, cannot tell), `longer` and `shorter` (intervals), `rate`
    and `tail` words, `sized` (whether sizes name the arms), `lost` (runs that were not used), and `arms`, the same for
    each arm against the baseline.
    """
    base: Row = {"subject": group.label, "workload": group.workload, "limits": group.limits}
    base |= {"sized": group.sized, "lost": _lost(group)}
    if len(group.arms) < 2:
        sentence = f"{group.label}: only one pool ({group.name(group.arms[0])}) was measured, so nothing is compared."
        return {**base, "word": UNKNOWN, "wait": UNKNOWN, "sentence": sentence, "arms": []}
    arms = [_of_arm(group, arm, found, moved) for arm in group.arms[1:]]
    last = arms[-1]
    told = f"{_clause(group, last, margin)}{_others(group, arms)}"
    sentence = f"{group.label}, {_from_to(group, group.arms[-1])}: {told}."
    return {**base, **last, "sentence": sentence, "arms": arms}


def _of_arm(group: Group, arm: ArmRuns, found: Sequence[Row], moved: Sequence[Row]) -> Row:
    first = group.arms[0]
    mean, p95, p99, rate = (comparisons.find(found, group, m.name, first, arm) for m in comparisons.METRICS)
    intervals = changes.of(moved, group, arm)
    # The 99th percentile where each run has the support for it, else the 95th.
    tail = p99 if p99["pairs"] and p99["pairs"] >= p95["pairs"] else p95
    return {
        "from": first.label,
        "to": arm.label,
        "from_size": first.size,
        "to_size": arm.size,
        "word": mean["word"],
        "wait": _wait(intervals.get("acquisition_wait")),
        "longer": [name for name, row in intervals.items() if row["word"] == "longer"],
        "shorter": [name for name, row in intervals.items() if row["word"] == "shorter"],
        "rate": rate["word"],
        "tail": tail["word"],
        "tail_metric": tail["metric"],
        "rows": {"mean": mean, "tail": tail, "rate": rate, "intervals": intervals},
    }


def _wait(row: Mapping[str, Any] | None) -> str:
    if row is None or row["word"] == UNKNOWN:
        return UNKNOWN
    return FELL if row["word"] == "shorter" else NOT


def _clause(group: Group, arm: Row, margin: float) -> str:
    mean = arm["rows"]["mean"]
    if mean["pairs"] < 2:
        return _unusable(group, arm)
    parts = [f"{_wait_clause(arm)}, and {_overall_clause(mean, margin)}"]
    for word in ("longer", "shorter"):
        names = [n for n in arm[word] if n in NAMES]
        if names:
            shown = say.listed([f"the {NAMES[n]} ({_both(arm['rows']['intervals'][n])})" for n in names])
            parts.append(f"{shown} {'was' if len(names) == 1 else 'were'} {word}")
    return "; ".join([*parts, *_tail_clause(arm)])


def _both(row: Row) -> str:
    return say.between(row["before"], row["after"])


def _wait_clause(arm: Row) -> str:
    row = arm["rows"]["intervals"].get("acquisition_wait")
    if row is None:
        return "no connection was asked for"
    numbers = f"({_both(row)})"
    if arm["wait"] == UNKNOWN:
        return f"whether the mean acquisition wait fell cannot be told {numbers}"
    return f"the mean acquisition wait {arm['wait']} {numbers}"


def _overall_clause(row: Row, margin: float) -> str:
    within = f"{margin * 100:g} %"
    numbers = f"({_both(row)}, {say.span(row['low'], row['high'])})"
    if row["word"] == UNKNOWN:
        return f"whether the mean overall time changed cannot be told {numbers}, because {row['why']}"
    if row["word"] == SAME:
        return f"the mean overall time was the same within {within} {numbers}"
    if row["word"] == SMALL:
        shift, far = ("longer", row["high"]) if row["direction"] == "up" else ("shorter", 1 / row["low"])
        if far <= (1 + margin) ** 2:
            return f"the mean overall time was {shift} by a small difference {numbers}"
        return f"the mean overall time was {shift}, by how much these runs do not tell {numbers}"
    return f"the whole operation was {row['word']} {numbers}"


def _tail_clause(arm: Row) -> list[str]:
    """Name the tail where it says otherwise than the mean, and rate and tail together where they disagree."""
    tail, rate = arm["rows"]["tail"], arm["rows"]["rate"]
    share = tail["metric"].rpartition("_")[2]
    spoken = f"its {share} was {tail['word']} ({_both(tail)})" if tail["word"] in ("faster", "slower") else ""
    if rate["word"] in ("higher", "lower"):
        moved = f"the achieved rate was {rate['word']} ({rate['before']:.1f} against {rate['after']:.1f} per second)"
        opposed = (rate["word"] == "higher") == (tail["word"] == "slower")
        joint = "while" if opposed else "and"
        return [f"{moved}, {joint} {spoken}" if spoken else moved]
    return [spoken] if spoken and tail["word"] != arm["word"] else []


def _unusable(group: Group, arm: Row) -> str:
    """Say why there is no number."""
    ends = [a for a in group.arms if a.label in (arm["from"], arm["to"])]
    short = [a for a in ends if len(a.ok) < 2]
    if not short:
        return "nothing can be told, because no two repeats have an ok run of both pools"
    if all(a.planned < 2 for a in short) and not any(a.bad for a in short):
        return "nothing can be told, because there is one repeat, and one pair of runs shows no spread; 3 are the least"
    told = say.listed([f"{len(a.ok)} of {say.counted(a.planned, 'run')} at {group.name(a)} ended ok{_words(a)}"
                       for a in short])  # fmt: skip
    return f"nothing can be told, because {told}"


def _words(arm: ArmRuns) -> str:
    words = {word: sum(r["status"] == word for r in arm.bad) for word in dict.fromkeys(r["status"] for r in arm.bad)}
    return f" ({', '.join(f'{n} {word}' for word, n in words.items())})" if words else ""


def _from_to(group: Group, arm: ArmRuns) -> str:
    first = group.arms[0]
    if not group.sized:
        return f"from {first.label} to {arm.label}"
    return f"from {first.size} to {say.counted(arm.size, 'connection')}{group.each}"


def _others(group: Group, arms: Sequence[Row]) -> str:
    """Name the arms between that got other words than the largest."""
    last = arms[-1]
    told = []
    for arm, runs in zip(arms[:-1], group.arms[1:-1], strict=True):
        if (arm["word"], arm["wait"]) != (last["word"], last["wait"]):
            word = "the overall time cannot be told" if arm["word"] == UNKNOWN else f"overall time: {arm['word']}"
            told.append(f"at {group.name(runs)} the wait {_said(arm['wait'])}, {word}")
    return "".join(f"; {text}" for text in told)


def _said(wait: str) -> str:
    return "cannot be told" if wait == UNKNOWN else wait


def _lost(group: Group) -> list[Row]:
    return [{"arm": a.label, "ok": len(a.ok), "planned": a.planned, "statuses": [r["status"] for r in a.bad]}
            for a in group.arms if a.bad or len(a.ok) < a.planned]  # fmt: skip
