"""The recommended range of pool sizes: all that cannot be told from the best, and what missing it costs."""

from collections.abc import Sequence
from typing import Any

from poollab.stats import comparisons, say
from poollab.stats.compare import CONFIDENCE, SAME, SMALL
from poollab.stats.groups import ArmRuns, Group

Row = dict[str, Any]


def of_group(group: Group, margin: float, tests: int) -> Row:
    """
    Return the range; a size is outside if its difference from the best survives the correction over `tests`.

    Keys: `low` and `high` (sizes; None for no clear range), `best` (the arm it is measured against),
    `sizes` (each with its ratio to the best, 95 % interval, pairs, word, memory), `proven` (whether every size in the
    range is the same within the margin, and not merely not distinguishable) and a `sentence`.
    """
    usable = [arm for arm in group.arms if len(arm.ok) > 1]
    if not group.sized or len(usable) < 2:
        why = (
            "its arms do not differ in their size alone" if not group.sized else "fewer than two sizes have two ok runs"
        )
        return {"low": None, "high": None, "best": None, "sizes": [], "proven": False,
                "sentence": f"{group.label}: no range of sizes can be named, because {why}."}  # fmt: skip
    best = min(usable, key=_mean)
    sizes = [_size(group, best, arm, margin, tests) for arm in group.arms]
    inside = [s["inside"] for s in sizes]
    first, last = inside.index(True), len(inside) - 1 - inside[::-1].index(True)
    clear = all(inside[first : last + 1])
    low, high = (sizes[first]["size"], sizes[last]["size"]) if clear else (None, None)
    proven = clear and all(s["word"] == SAME for s in sizes if s["inside"])
    found = {"low": low, "high": high, "best": best.label, "sizes": sizes, "proven": proven}
    return {**found, "sentence": _sentence(group, found, margin)}


def _mean(arm: ArmRuns) -> float:
    values = [v.value for v in arm.values("overall_mean_ns").values()]
    return sum(values) / len(values)


def _size(group: Group, best: ArmRuns, arm: ArmRuns, margin: float, tests: int) -> Row:
    memory = [r["database_memory_mean_bytes"] for r in arm.ok if r.get("database_memory_mean_bytes") is not None]
    base = {
        "arm": arm.label,
        "size": arm.size,
        "runs_ok": len(arm.ok),
        "overloaded": sum("overloaded" in r["status"] for r in arm.bad),
        "runs_bad": len(arm.bad),
        "memory_bytes": sum(memory) / len(memory) if memory else None,
    }
    if arm is best:
        return {**base, "word": SAME, "ratio": 1.0, "low": 1.0, "high": 1.0, "inside": True}
    metric = comparisons.METRICS[0]
    paired = comparisons.one(group, best, arm, metric)
    survives = paired.p is not None and paired.p <= (1 - CONFIDENCE) / tests
    row = comparisons.judged(paired, metric, margin, tests, survives=survives)
    unfit = len(arm.ok) < 2
    return {**base, **{k: row[k] for k in ("word", "ratio", "low", "high", "pairs")}, "inside": not unfit and
            row["word"] != metric.up}  # fmt: skip


def _sentence(group: Group, found: Row, margin: float) -> str:
    if found["low"] is None:
        return f"{group.label}: no clear range of sizes; {_costs(found)}."
    shown = [s for s in found["sizes"] if s["inside"]]
    sizes = f"{found['low']} to {found['high']}" if found["low"] != found["high"] else str(found["low"])
    within = _within(found, shown, margin)
    many = f"{sizes} connections{group.each}"
    many += f" ({len(shown)} sizes, {within})" if len(shown) > 1 else " alone"
    outside = _costs(found)
    rest = f"; {outside}" if outside else "; every size that was measured lies in it"
    return f"{group.label}, under this load and these caps: {many}{rest}{_memory(shown)}."


def _within(found: Row, shown: Sequence[Row], margin: float) -> str:
    """Say in what sense the sizes of the range belong together, and which of them are in it for want of proof."""
    if found["proven"]:
        return f"each the same as the best of them within {margin * 100:g} %"
    if any(s["word"] == SMALL for s in shown):
        return f"none shown to cost more than {margin * 100:g} % over the best of them"
    doubtful = [s for s in shown if s["low"] is not None and s["low"] > 1]
    if not doubtful:
        return "not told apart by these runs"
    sizes = say.listed([str(s["size"]) for s in doubtful])
    best = next(s["size"] for s in shown if s["arm"] == found["best"])
    return f"not told apart by these runs, though more repeats may show {sizes} slower than {best}"


def _costs(found: Row) -> str:
    told = []
    for size in found["sizes"]:
        if size["inside"]:
            continue
        if size["runs_ok"] < 2:
            reason = f"{size['overloaded']} overloaded" if size["overloaded"] else f"{size['runs_bad']} not ok"
            told.append(f"{size['size']} is left out ({size['runs_ok']} runs ok, {reason})")
        else:
            cost = say.percent(size["ratio"])
            told.append(f"{size['size']} cost {cost} overall time ({say.span(size['low'], size['high'])})")
    return say.listed(told)


def _memory(shown: Sequence[Row]) -> str:
    """Name what the range costs in memory, where its ends differ."""
    ends = [s["memory_bytes"] for s in (shown[0], shown[-1])]
    if len(shown) < 2 or None in ends or ends[0] is None or ends[1] is None or ends[1] < 1.05 * ends[0]:
        return ""
    return f"; database memory {ends[0] / 2**20:.0f} MiB at its low end, {ends[1] / 2**20:.0f} MiB at its high end"
