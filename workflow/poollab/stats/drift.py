"""Drift over the order of the runs, and differences between blocks, with the conditions' own level taken out."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from poollab.stats.compare import CONFIDENCE

Floats = npt.NDArray[np.float64]
Row = dict[str, Any]
METRIC = "overall_mean_ns"


def drift(runs: Sequence[Row]) -> Row:
    """
    Test the ok runs' mean overall times for a trend over the executed order and for blocks that differ.

    Each run is held against the mean of its own condition (as a log ratio), so conditions with one ok run say
    nothing. `change` is that from the first to the last run as a ratio, with `low` and `high` (95 %) and `p`;
    `blocks` lists each block's level against all (ratio), `blocks_p` tests whether they differ. None where there are
    too few runs. `points` are the runs: position, block and ratio to their condition.
    """
    points = _points(runs)
    found: Row = {"runs": len(points), **dict.fromkeys(("change", "low", "high", "p", "blocks_p")), "blocks": []}
    found |= _trend(points) | _blocks(points)
    found["points"] = [{k: p[k] for k in ("cell", "position", "block", "ratio")} for p in points]
    return {**found, "sentence": _sentence(found)}


def _points(runs: Sequence[Row]) -> list[Row]:
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for run in runs:
        if run["status"] == "ok" and run[METRIC]:
            groups.setdefault((run["workload"], run["arm"], run["limits"]), []).append(run)
    points = []
    for number, mine in enumerate(group for group in groups.values() if len(group) > 1):
        logs = np.log([float(r[METRIC]) for r in mine])
        places = np.array([float(r["position"]) for r in mine])
        points += [
            {
                "cell": run["cell"],
                "group": number,
                "position": run["position"],
                "block": run["block"],
                "level": float(level - logs.mean()),
                "ratio": float(np.exp(level - logs.mean())),
                "place": float(place - places.mean()),
            }
            for run, level, place in zip(mine, logs, places, strict=True)
        ]
    return sorted(points, key=lambda p: p["position"])


def _trend(points: list[Row]) -> Row:
    level, place = _columns(points)
    free = len(points) - len({p["group"] for p in points}) - 1
    squares = float((place**2).sum())
    if free < 2 or squares == 0:
        return {}
    slope = float((level * place).sum()) / squares
    error = float(np.sqrt(((level - slope * place) ** 2).sum() / free / squares))
    span = max(p["position"] for p in points) - min(p["position"] for p in points)
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, free)) * error
    p = float(2 * stats.t.sf(abs(slope) / error, free)) if error else float(slope == 0)
    ends = [float(np.exp(s * span)) for s in (slope, slope - half, slope + half)]
    return {"change": ends[0], "low": ends[1], "high": ends[2], "p": p}


def _blocks(points: list[Row]) -> Row:
    names = sorted({p["block"] for p in points})
    groups = sorted({p["group"] for p in points})
    free = len(points) - len(groups) - (len(names) - 1)
    if len(names) < 2 or free < 1:
        return {}
    level, _ = _columns(points)
    # Two-way: conditions and blocks, since a block need not hold each condition.
    design = np.zeros((len(points), len(groups) + len(names) - 1))
    for i, p in enumerate(points):
        design[i, groups.index(p["group"])] = 1
        if p["block"] != names[0]:
            design[i, len(groups) + names.index(p["block"]) - 1] = 1
    alone = design[:, : len(groups)]
    fits = [np.linalg.lstsq(d, level, rcond=None)[0] for d in (alone, design)]
    rest = [float(((level - d @ b) ** 2).sum()) for d, b in zip((alone, design), fits, strict=True)]
    effects = np.concatenate([[0.0], fits[1][len(groups) :]])
    f = (rest[0] - rest[1]) / (len(names) - 1) / (rest[1] / free) if rest[1] > 0 else np.inf
    return {
        "blocks_p": float(stats.f.sf(f, len(names) - 1, free)),
        "blocks": [
            {"block": int(name), "ratio": float(np.exp(effect)), "runs": sum(p["block"] == name for p in points)}
            for name, effect in zip(names, effects, strict=True)
        ],
    }


def _columns(points: list[Row]) -> tuple[Floats, Floats]:
    return np.array([p["level"] for p in points]), np.array([p["place"] for p in points])


def _percent(ratio: float) -> str:
    return f"{(ratio - 1) * 100:+.1f} %"


def _sentence(found: Row) -> str:
    if found["change"] is None:
        return "Drift over the order cannot be tested: too few conditions have more than one ok run."
    bounds = f"{_percent(found['change'])} from the first run to the last, {_percent(found['low'])} to "
    bounds += _percent(found["high"])
    seen = found["p"] < 1 - CONFIDENCE
    text = f"{'Drift' if seen else 'No drift'} over the order was found in the mean overall time ({bounds})"
    if found["blocks_p"] is not None:
        differ = found["blocks_p"] < 1 - CONFIDENCE
        others = ", ".join(f"block {b['block']} {_percent(b['ratio'])}" for b in found["blocks"][1:])
        text += f"; blocks {'differ' if differ else 'do not differ'} beyond the spread of runs (against the first: "
        text += f"{others})"
    return text + "."
