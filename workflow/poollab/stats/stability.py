"""Warnings about what the numbers of a study can bear, each with what to do about it."""

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from poollab.stats import say
from poollab.stats.groups import ArmRuns, Group

Row = dict[str, Any]
#: A run's percentile is plain with so many requests beyond it.
SUPPORT: Final = 10
IN_THREADS: Final = ("psycopg-threads", "psycopg-executor")
#: A generator whose own delay is more than this share of the overall time is seen in it.
OWN_SHARE: Final = 0.1
#: Two clusters of runs: the gap between them is so many times the larger spread within.
CLEFT: Final = 4.0


def warnings(groups: Sequence[Group], drift: Row, margin: float, outside: str = "") -> list[Row]:
    """
    List warnings: `kind`, `subject` (a condition, or the study), `text` (a sentence) and `advice` (another).

    `outside` names the part of the report that uses runs that are not ok all the same; empty where none does.
    """
    conditions = [(group, arm) for group in groups for arm in group.arms]
    found = [*_repeats(conditions), *_runs(conditions, outside)]
    for group in groups:
        found += [*_identical(group), *_spread(group, margin), *_late(group)]
        found += [warning for arm in group.arms for warning in _clusters(group, arm)]
    return [*found, *_support(groups), *_drift(drift)]


def _warning(kind: str, subject: str, text: str, advice: str) -> Row:
    return {"kind": kind, "subject": subject, "text": text, "advice": advice}


def _name(group: Group, arm: ArmRuns) -> str:
    return f"{group.label}, {_arm(group, arm)}"


def _arm(group: Group, arm: ArmRuns) -> str:
    return f"{'pool ' if group.sized else ''}{group.name(arm)}"


def _repeats(conditions: Sequence[tuple[Group, ArmRuns]]) -> list[Row]:
    most = max((arm.planned for _, arm in conditions), default=0)
    if most >= 3:
        return []
    text = "With one repeat nothing is known of how much runs differ, so no difference can be told from chance."
    if most == 2:
        text = "Two repeats make intervals so wide that only very large differences show."
    return [_warning("few-repeats", "study", text, "Set repeats to 3 at least, better 5; finished cells are kept.")]


def _runs(conditions: Sequence[tuple[Group, ArmRuns]], outside: str) -> list[Row]:
    bad = [run for _, arm in conditions for run in arm.bad]
    if not bad:
        return []
    words = sorted({word for run in bad for word in str(run["status"]).split("+")})
    counts = [f"{sum(word in str(r['status']).split('+') for r in bad)} {word}" for word in words]
    advice = {
        "host-busy": "Measure on a quieter host",
        "overloaded": "lower the offered rate, or take the overload for the answer",
        "generator-late": "give the load generator a larger cap",
        "errors": "read the errors in the table of runs",
        "unclean": "read the reasons in the table of runs",
    }
    told = "; ".join(advice[word] for word in words if word in advice)
    but = f" outside {outside}" if outside else ""
    text = f"{say.counted(len(bad), 'run')} did not end ok ({', '.join(counts)}) and give no number{but}."
    return [_warning("runs-not-ok", "study", text, f"{told[:1].upper()}{told[1:]}.")]


def _identical(group: Group) -> list[Row]:
    """Name arms that differ in nothing but their labels: what is found between them is chance."""
    same: dict[str, list[str]] = {}
    for arm in group.arms:
        for settings in {str(run["settings_hash"]) for run in (*arm.ok, *arm.bad) if run.get("settings_hash")}:
            same.setdefault(settings, []).append(arm.label)
    text = "have the same settings, so every difference between them is chance"
    advice = "Read it as a check of the instrument, or give the arms what they were meant to differ in."
    return [
        _warning("identical-arms", group.label, f"{say.listed(names)} {text}.", advice)
        for names in same.values()
        if len(names) > 1
    ]


def _logs(arm: ArmRuns) -> list[float]:
    return [math.log(v.value) for v in arm.values("overall_mean_ns").values() if v.value > 0]


def _pools(values: dict[str, float]) -> str:
    """Say arms with a share each."""
    return say.listed([f"{name} ({value * 100:.{1 if value < 0.0995 else 0}f} %)" for name, value in values.items()])


def _spread(group: Group, margin: float) -> list[Row]:
    logs = {_arm(group, arm): _logs(arm) for arm in group.arms}
    wide = {name: float(np.std(v, ddof=1)) for name, v in logs.items() if len(v) > 1}
    wide = {name: value for name, value in wide.items() if value > margin}
    if not wide:
        return []
    text = f"The runs' mean overall times spread (standard deviation) by more than the margin of {margin * 100:g} % "
    text += f"within which two pools are called the same: {_pools(wide)}."
    return [_warning("spread", group.label, text, "Lengthen windows.measure_s, raise repeats, or quiet the host.")]


def _clusters(group: Group, arm: ArmRuns) -> list[Row]:
    """Find runs that fall into two groups of at least two, far apart: a mean of such runs describes neither."""
    logs = sorted(_logs(arm))
    if len(logs) < 5:
        return []
    gaps = np.diff(logs)
    at = int(np.argmax(gaps)) + 1
    low, high = logs[:at], logs[at:]
    within = max(low[-1] - low[0], high[-1] - high[0])
    if min(len(low), len(high)) < 2 or gaps[at - 1] < CLEFT * within or gaps[at - 1] < 0.02:
        return []
    text = f"Its runs fall into two groups ({len(low)} and {len(high)} runs, "
    text += f"{math.expm1(float(gaps[at - 1])) * 100:.0f} % apart), so their mean describes neither."
    return [_warning("bimodal", _name(group, arm), text, "Look at order and blocks for what changed between them.")]


def _late(group: Group) -> list[Row]:
    # A request of threads starts in one, so its wait for a free thread is in there and is no lateness of the generator.
    shares = {
        _arm(group, arm): float(np.mean([r["scheduling_delay_mean_ns"] / r["overall_mean_ns"] for r in arm.ok]))
        for arm in group.arms
        if arm.ok and all(r.get("overall_mean_ns") and r.get("client") not in IN_THREADS for r in arm.ok)
    }
    large = {name: value for name, value in shares.items() if value > OWN_SHARE}
    if not large:
        return []
    text = f"The generator's own delay is a good part of the mean overall time: {_pools(large)}."
    advice = "Read acquisition wait and query round trip too; a larger generator cap may help."
    return [_warning("generator", group.label, text, advice)]


def _support(groups: Sequence[Group]) -> list[Row]:
    """Say for each workload how long its window must be for a verdict on the p99 of a run."""
    found = []
    for group in groups:
        beyond = [r["overall_beyond_p99"] for arm in group.arms for r in arm.ok if r["overall_beyond_p99"] is not None]
        least = min(beyond, default=SUPPORT)
        if least >= SUPPORT:
            continue
        text = f"Only {least} requests of a run lie beyond its p99, so no verdict is given on the p99 of runs."
        found.append(_warning("tail-support", group.label, text, _enough([r for arm in group.arms for r in arm.ok])))
    return found


def _enough(runs: Sequence[Row]) -> str:
    """Say what would give every run its ten requests beyond the p99."""
    if any(r["offered_per_s"] is None for r in runs):
        return "Where no rate is offered, a longer window or a larger batch would do."
    rate = min(r["requests_ok"] / r["requests"] * r["offered_per_s"] if r["requests"] else 0.0 for r in runs)
    return f"windows.measure_s of {math.ceil(100 * SUPPORT / rate)} s would do." if rate else "No run has requests."


def _drift(drift: Row) -> list[Row]:
    found = []
    if drift["p"] is not None and drift["p"] < 0.05:
        found.append(_warning("drift", "study", drift["sentence"],
                              "The random order spreads it over all pools; more repeats average it out."))  # fmt: skip
    elif drift["blocks_p"] is not None and drift["blocks_p"] < 0.05:
        found.append(_warning("blocks", "study", drift["sentence"],
                              "Measure again without a stop if the answer hangs on it."))  # fmt: skip
    return found
