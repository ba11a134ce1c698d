"""
Two implementations of a pool, row by row: how much faster the candidate is, and whether the difference is confirmed.

The numbers of a row are over the passes in which both arms have a run that counts. The word is made from the ratio of
means of each pass, as `stats/speedup.py` says; the report repeats the threshold.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from poollab.stats import benchmark_arms, benchmark_rows, benchmark_words, drift, speedup
from poollab.stats.analyses import Context
from poollab.stats.benchmark_arms import ROLES
from poollab.stats.benchmark_rows import Cells, Run
from poollab.stats.percentiles import ENOUGH_BEYOND
from poollab.stats.speedup import Pass

Row = dict[str, Any]

#: Arms whose mean concurrency differs by more than this factor interleave their callers differently.
INTERLEAVE = 1.5


def build(context: Context) -> Row:
    """Return the rows with their words, the proof of what ran, and how often equal arms were called different."""
    asked = context.model.get("confirm")
    confirm = {"threshold": 0.10, "passes": int(context.model["repeats"]), **(asked or {})}
    confirm["first_decides"] = bool(asked)
    rows, proof = list[Row](), dict[str, list[Run]]()
    for workload, limits, pair in _asked(context.model):
        row, runs = _row(context, workload, limits, pair, confirm)
        rows.append(row)
        for role in ROLES:
            proof.setdefault(pair[role], []).extend(runs[role])
    return {
        "headline": benchmark_words.headline(rows),
        "verdicts": benchmark_words.verdicts(rows),
        "warnings": benchmark_words.warnings(rows, drift.drift(context.runs)),
        "confirm": confirm,
        "rows": rows,
        "counts": {word: sum(row["word"] == word for row in rows) for word in speedup.WORDS},
        "hold_bound": sum(row["hold_bound"] for row in rows),
        "aa": benchmark_words.aa(rows),
        "proof": {arm: benchmark_rows.proofs(runs) for arm, runs in proof.items()},
        "placement": benchmark_rows.placement([run for runs in proof.values() for run in runs]),
    }


def _asked(model: Mapping[str, Any]) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Give each row with each level of limits and the pair of arms that it compares."""
    for name, workload in model["workloads"].items():
        row = workload["benchmark"]
        kind = "sync" if row["mode"] in {"sync", "threads"} else "async"
        pair = (model.get("pairs") or {}).get(kind) if model.get("pairs") else _one_pair(model)
        for limits in model.get("limits") or [""]:
            if pair:
                yield name, limits, {"kind": kind, **{k: str(pair[k]) for k in ROLES}}


def _one_pair(model: Mapping[str, Any]) -> dict[str, Any]:
    return {key: model[key] for key in ROLES}


def _row(
    context: Context, workload: str, limits: str, pair: Mapping[str, str], confirm: Mapping[str, Any]
) -> tuple[Row, dict[str, list[Run]]]:
    cells = {role: benchmark_rows.read(context, workload, pair[role], limits, confirm["passes"]) for role in ROLES}
    split = _split(cells["baseline"], cells["candidate"])
    each = _passes(cells["baseline"], cells["candidate"], split)
    arms = {role: benchmark_rows.arm(context, found, [p.counts for p in each]) for role, found in cells.items()}
    settings = _settings(context.model["workloads"][workload]["benchmark"], cells)
    row = {
        "workload": workload,
        "limits": limits,
        **settings,
        **pair,
        "called": {role: _called(context.model, workload, pair, role) for role in ROLES},
        "aa": _equal(context.model, workload, pair, settings["family"]),
        "incomparable": benchmark_arms.lacks_pipeline(context.model, workload, pair),
        "split": [number + 1 for number in split],
        **_concurrency(arms),
        **_holds(arms),
        "arms": arms,
    }
    row |= _nothing(each) if row["incomparable"] else _compared(each, arms, confirm)
    row["sentence"] = benchmark_words.sentence(row, float(confirm["threshold"]))
    return row, {role: found.good for role, found in cells.items()}


def _compared(each: list[Pass], arms: Mapping[str, Row], confirm: Mapping[str, Any]) -> Row:
    """Return word and ratios of a row."""
    threshold = float(confirm["threshold"])
    ratios = [found.ratio for found in each]
    known = [ratio for ratio in ratios if ratio is not None]
    times, waits, uses = ((arms["baseline"][what], arms["candidate"][what]) for what in ("times", "wait", "use"))
    mean, median = (speedup.ratio_of(*times, key) for key in ("mean", "median"))
    return {
        "word": speedup.word(ratios, threshold, len(each), first_decides=confirm["first_decides"]),
        "ratios": ratios,
        "median_ratios": [found.median_ratio for found in each],
        "ratio": mean,
        "ratio_min": min(known, default=None),
        "ratio_max": max(known, default=None),
        "median_ratio": median,
        **{f"p{q}_ratio": speedup.ratio_of(*times, f"p{q}") for q in (95, 99)},
        **{f"wait_p{q}_ratio": speedup.ratio_of(*waits, f"p{q}", ENOUGH_BEYOND) for q in (95, 99)},
        **{f"use_p{q}_ratio": speedup.ratio_of(*uses, f"p{q}", ENOUGH_BEYOND) for q in (95, 99)},
        "disagree": speedup.disagree(mean, median, threshold),
    }


def _nothing(each: list[Pass]) -> Row:
    """Return the same of a row whose arms do not do the same, so that a ratio would be of two different things."""
    tails = [f"{kind}p{q}_ratio" for kind in ("", "wait_", "use_") for q in (95, 99)]
    return {
        "word": speedup.NOT_COMPARABLE,
        "ratios": [None] * len(each),
        "median_ratios": [None] * len(each),
        **dict.fromkeys(("ratio", "ratio_min", "ratio_max", "median_ratio", *tails)),
        "disagree": False,
    }


def _concurrency(arms: Mapping[str, Row]) -> Row:
    """Say whether callers of one arm overlap more than the other's; those who follow one another do so at any pace."""
    values = [arms[role]["concurrency"] for role in ROLES]
    paces = [] if None in values else [max(1.0, value) for value in values]
    return {"interleave": bool(paces) and max(paces) > INTERLEAVE * min(paces)}


def _holds(arms: Mapping[str, Row]) -> Row:
    """Return the share of the clock that holds and pauses take: that of the arm with less, where both are known."""
    values = [arms[role]["unhurried_share"] for role in ROLES]
    share = None if None in values else min(values)
    return {"unhurried_share": share, "hold_bound": share is not None and share > benchmark_words.HOLD_BOUND}


def _beside(model: Mapping[str, Any], workload: str) -> Mapping[str, str] | None:
    """Return the synchronous pair that a mixed row runs beside its own; None for any other row."""
    mixed = model["workloads"][workload]["benchmark"]["mode"] == "mixed"
    found: Mapping[str, str] | None = (model.get("pairs") or {}).get("sync") if mixed else None
    return found


def _called(model: Mapping[str, Any], workload: str, pair: Mapping[str, str], role: str) -> str:
    """Name what a row compares: an arm, in a mixed row with the arm beside it, since a difference may lie in either."""
    beside = _beside(model, workload)
    return f"{pair[role]} with {beside[role]}" if beside else pair[role]


def _equal(model: Mapping[str, Any], workload: str, pair: Mapping[str, str], family: str) -> bool:
    """Tell whether a row runs the same implementation twice; in a mixed row both of its pools must be the same."""
    pairs = [each for each in (pair, _beside(model, workload)) if each]
    return all(benchmark_arms.equal_arms(model, each, family) for each in pairs)


def _split(baseline: Cells, candidate: Cells) -> list[int]:
    """Return the passes (from 0) whose arms lie in different blocks: a server was started anew between them."""
    pairs = enumerate(zip(baseline.runs, candidate.runs, strict=True))
    return [i for i, (one, other) in pairs if one and other and one.record["block"] != other.record["block"]]


def _passes(baseline: Cells, candidate: Cells, split: list[int]) -> list[Pass]:
    """Return the times of each pass; none where the arms lie in different blocks."""
    times = [
        [None if run is None or not run.counts or number in split else run.times for number, run in enumerate(own.runs)]
        for own in (baseline, candidate)
    ]
    return [Pass(one, other) for one, other in zip(*times, strict=True)]


def _settings(declared: Mapping[str, Any], cells: Mapping[str, Cells]) -> Row:
    """Return what the row does, as a run of it was told; as the study declares it where nothing of it was measured."""
    runs = [run for found in cells.values() for run in found.runs if run is not None]
    return {**declared, **(runs[0].record["settings"]["workload"]["benchmark"] if runs else {})}
