"""
What was observed, one sentence a workload.

Only directions of measured means, with the smallest and largest run beside them: no claim that a
difference is real, none about a cause, and never that one interval's time went to another.
"""

from typing import Any

from poollab.report import words

Arm = dict[str, Any]


def build(groups: list[dict[str, Any]], runs: dict[str, int], *, uncapped: bool) -> dict[str, Any]:
    """Return {result, chosen, sentences: [{group, text}]}; `result` is the sentence of the chosen workload."""
    sentences = [{"group": g["label"], "id": g["id"], "text": _sentence(g)} for g in groups]
    comparable = [g for g in groups if _ends(g) is not None]
    chosen = max(comparable, key=_wait_at_smallest, default=None)
    return {
        "result": _result(chosen, runs, uncapped=uncapped),
        "chosen": chosen["label"] if chosen else None,
        "sentences": sentences,
    }


def _ends(group: dict[str, Any]) -> tuple[Arm, Arm] | None:
    """Return the smallest and the largest pool, or None where there is nothing to compare."""
    first, last = group["arms"][0], group["arms"][-1]
    measured = all(arm["means_ms"]["overall"] is not None for arm in (first, last))
    return (first, last) if measured and first is not last else None


def _wait_at_smallest(group: dict[str, Any]) -> float:
    return float(group["arms"][0]["means_ms"]["acquisition_wait"] or 0)


def _decimals(group: dict[str, Any]) -> int:
    return words.decimals_for(max((a["means_ms"]["overall"] or 0 for a in group["arms"]), default=None))


def _result(group: dict[str, Any] | None, runs: dict[str, int], *, uncapped: bool) -> str:
    tail = f"{runs['ok']} of {runs['planned']} planned runs ok"
    lead = "Uncapped: " if uncapped else ""
    if group is None:
        return f"{lead}Nothing can be compared: no workload has an ok run at two pools ({tail})."
    first, last = group["arms"][0], group["arms"][-1]
    decimals = _decimals(group)
    wait, overall = (_change(first, last, name, decimals, runs=False) for name in ("acquisition_wait", "overall"))
    return (
        f"{lead}{group['label']}, {_from_to(first, last)}: observed mean acquisition wait {wait}, observed mean "
        f"overall time {overall} ({tail})."
    )


def _sentence(group: dict[str, Any]) -> str:
    ends, arms = _ends(group), group["arms"]
    if ends is None:
        return _nothing_to_compare(arms, _decimals(group))
    first, last = ends
    decimals = _decimals(group)
    wait = _change(first, last, "acquisition_wait", decimals, runs=True)
    overall = _change(first, last, "overall", decimals, runs=True)
    return (
        f"{_from_to(first, last)}, the observed mean acquisition wait {wait}, and the observed mean overall time "
        f"{overall}; {_overlap(first, last)}."
    )


def _nothing_to_compare(arms: list[Arm], decimals: int) -> str:
    lost = [a["label"] for a in (arms[0], arms[-1]) if a["means_ms"]["overall"] is None]
    if lost:
        return f"nothing is compared, since no run of pool {words.listed(list(dict.fromkeys(lost)))} ended ok."
    only = arms[0]["means_ms"]
    wait, overall = (words.number(only[name], decimals) for name in ("acquisition_wait", "overall"))
    return (
        f"only one pool ({arms[0]['label']}) was measured, so nothing is compared; its observed mean acquisition wait "
        f"was {wait} ms and its observed mean overall time {overall} ms."
    )


def _from_to(first: Arm, last: Arm) -> str:
    if first["pool_size"] == last["pool_size"]:
        return (
            f"from arm {first['arm']} to arm {last['arm']}, both with {words.plural(first['pool_size'], 'connection')}"
        )
    return f"from pool {first['label']} to pool {last['label']}"


def _change(first: Arm, last: Arm, name: str, decimals: int, *, runs: bool) -> str:
    before, after = first["means_ms"][name], last["means_ms"][name]
    old, new = words.number(before, decimals), words.number(after, decimals)
    old_runs, new_runs = (_runs(arm, name, decimals) if runs else "" for arm in (first, last))
    if old == new:
        return f"read {old} ms at both{old_runs}{new_runs if new_runs != old_runs else ''}"
    return f"{'rose' if after > before else 'fell'} from {old} ms{old_runs} to {new} ms{new_runs}"


def _runs(arm: Arm, name: str, decimals: int) -> str:
    low, high = arm["means_run_ms"][name]
    if arm["runs_ok"] == 1:
        return " (one run)"
    return f" ({words.plural(arm['runs_ok'], 'run')}: {words.span(low, high, decimals)})"


def _overlap(first: Arm, last: Arm) -> str:
    if min(first["runs_ok"], last["runs_ok"]) < 2:
        return "with one run at an end, nothing is known of how much runs differ"
    (a, b), (c, d) = first["means_run_ms"]["overall"], last["means_run_ms"]["overall"]
    return f"the overall means of the two pools' runs {'overlap' if a <= d and c <= b else 'do not overlap'}"
