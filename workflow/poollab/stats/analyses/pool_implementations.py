"""
Two implementations of a pool, row by row: how much faster the candidate is, and whether the difference is confirmed.

The numbers of a row are over the passes in which both arms have a run that counts. The word is made from the ratio of
means of each pass, as `stats/speedup.py` says; the report repeats the threshold.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from poollab.stats import benchmark_rows, speedup
from poollab.stats.analyses import Context
from poollab.stats.benchmark_rows import Cells, Run
from poollab.stats.percentiles import ENOUGH_BEYOND
from poollab.stats.speedup import Pass

Row = dict[str, Any]

#: At most this share of the rows of an A/A comparison may be called different.
AA_GOAL = 0.05
#: Word of a family whose rows got different words.
DIFFERS = "differs by row"


def build(context: Context) -> Row:
    """Return the rows with their words, the proof of what ran, and how often equal arms were called different."""
    confirm = {"threshold": 0.10, "passes": int(context.model["repeats"]), **(context.model.get("confirm") or {})}
    rows, proof = list[Row](), dict[str, list[Run]]()
    for workload, limits, pair in _asked(context.model):
        row, runs = _row(context, workload, limits, pair, confirm)
        rows.append(row)
        for role in ("baseline", "candidate"):
            proof.setdefault(pair[role], []).extend(runs[role])
    counts = {word: sum(row["word"] == word for row in rows) for word in speedup.WORDS}
    return {
        "headline": _headline(rows, counts),
        "verdicts": verdicts(rows),
        "warnings": _warnings(rows),
        "confirm": confirm,
        "rows": rows,
        "counts": counts,
        "aa": _aa(rows),
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
                yield name, limits, {"kind": kind, **{k: str(pair[k]) for k in ("baseline", "candidate")}}


def _one_pair(model: Mapping[str, Any]) -> dict[str, Any]:
    return {key: model[key] for key in ("baseline", "candidate")}


def _row(
    context: Context, workload: str, limits: str, pair: Mapping[str, str], confirm: Mapping[str, Any]
) -> tuple[Row, dict[str, list[Run]]]:
    threshold, passes = float(confirm["threshold"]), int(confirm["passes"])
    cells = {r: benchmark_rows.read(context, workload, pair[r], limits, passes) for r in ("baseline", "candidate")}
    each = _passes(cells["baseline"], cells["candidate"], passes)
    both = [found.counts for found in each]
    arms = {role: benchmark_rows.arm(context, found, both) for role, found in cells.items()}
    ratios = [found.ratio for found in each]
    known = [ratio for ratio in ratios if ratio is not None]
    times, waits, uses = ((arms["baseline"][what], arms["candidate"][what]) for what in ("times", "wait", "use"))
    mean, median = (speedup.ratio_of(*times, key) for key in ("mean", "median"))
    row = {
        "workload": workload,
        "limits": limits,
        **_settings(context.model["workloads"][workload]["benchmark"], cells),
        **pair,
        "called": {role: _called(context.model, workload, pair, role) for role in ("baseline", "candidate")},
        "aa": _equal(context.model, workload, pair),
        "word": speedup.word(ratios, threshold, passes),
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
        "arms": arms,
    }
    row["sentence"] = sentence(row, threshold)
    return row, {role: found.good for role, found in cells.items()}


def _beside(model: Mapping[str, Any], workload: str) -> Mapping[str, str] | None:
    """Return the synchronous pair that a mixed row runs beside its own; None for any other row."""
    mixed = model["workloads"][workload]["benchmark"]["mode"] == "mixed"
    found: Mapping[str, str] | None = (model.get("pairs") or {}).get("sync") if mixed else None
    return found


def _called(model: Mapping[str, Any], workload: str, pair: Mapping[str, str], role: str) -> str:
    """Name what a row compares: an arm, in a mixed row with the arm beside it, since a difference may lie in either."""
    beside = _beside(model, workload)
    return f"{pair[role]} with {beside[role]}" if beside else pair[role]


def _equal(model: Mapping[str, Any], workload: str, pair: Mapping[str, str]) -> bool:
    """Tell whether a row runs the same implementation twice; in a mixed row both of its pools must be the same."""
    return all(benchmark_rows.equal_arms(model, each) for each in (pair, _beside(model, workload)) if each)


def _passes(baseline: Cells, candidate: Cells, passes: int) -> list[Pass]:
    times = [
        [None if run is None or not run.counts else run.times for run in cells.runs] for cells in (baseline, candidate)
    ]
    return [Pass(times[0][i], times[1][i]) for i in range(passes)]


def _settings(declared: Mapping[str, Any], cells: Mapping[str, Cells]) -> Row:
    """Return what the row does, as a run of it was told; as the study declares it where nothing of it was measured."""
    runs = [run for found in cells.values() for run in found.runs if run is not None]
    return {**declared, **(runs[0].record["settings"]["workload"]["benchmark"] if runs else {})}


def verdicts(rows: list[Row]) -> list[Row]:
    """Return one verdict for each family and pair of arms, with how many of its rows got which word."""
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        found.setdefault((row["family"], row["called"]["baseline"], row["called"]["candidate"]), []).append(row)
    return [_verdict(key, mine) for key, mine in found.items()]


def _verdict(key: tuple[str, ...], mine: list[Row]) -> Row:
    family, baseline, candidate = key
    words = list(dict.fromkeys(word for word in speedup.WORDS if any(row["word"] == word for row in mine)))
    counts = [f"{sum(row['word'] == word for row in mine)} {word}" for word in words]
    ratios = [row["ratio"] for row in mine if row["ratio"] is not None]
    span = f"{min(ratios):.2f} to {max(ratios):.2f}" if len(ratios) > 1 else f"{ratios[0]:.2f}" if ratios else "none"
    odd = [row["workload"] for row in mine if row["disagree"]]
    median = f" The median says otherwise in {', '.join(odd)}." if odd else ""
    return {
        "subject": f"{family}: {candidate} against {baseline}",
        "sentence": f"{counted(mine)}: {', '.join(counts)}; ratio of means {span}.{median}",
        "word": words[0] if len(words) == 1 else DIFFERS,
    }


def counted(rows: list[Row]) -> str:
    """Say a number of rows."""
    return f"{len(rows)} row{'' if len(rows) == 1 else 's'}"


def sentence(row: Row, threshold: float) -> str:
    """Say what was found of a row, with each pass and with what the median says where it says otherwise."""
    name, times = row["called"], [row["arms"][role]["times"] for role in ("baseline", "candidate")]
    if row["ratio"] is None:
        return f"{name['candidate']} against {name['baseline']}: no pass in which both arms have a run that counts."
    passes = ", ".join("-" if r is None else f"{r:.2f}" for r in row["ratios"] if r is not None)
    text = (
        f"{name['candidate']} against {name['baseline']}: mean {times[0]['mean_ns'] / 1e6:.3g} ms / "
        f"{times[1]['mean_ns'] / 1e6:.3g} ms = {row['ratio']:.2f} over {times[0]['n']} and {times[1]['n']} iterations "
        f"(by pass {passes})."
    )
    if row["disagree"]:
        text += (
            f" The median says otherwise: {row['median_ratio']:.2f}, on the other side of the threshold of "
            f"{threshold:.0%}."
        )
    return text


def _headline(rows: list[Row], counts: Mapping[str, int]) -> str:
    if not rows:
        return "Nothing was compared: no row has a pair of arms."
    parts = [f"{counts[word]} {word}" for word in speedup.WORDS if counts[word]]
    tail = f"{counted(rows)}: {', '.join(parts)}."
    decided = [row for row in rows if row["word"] in {speedup.FASTER, speedup.SLOWER}]
    if all(row["aa"] for row in rows):
        return f"The same implementation twice, {tail}"
    if not decided:
        return f"No confirmed difference in {tail}"
    # A mean over all passes can lie on the other side of 1 than most of them; such a row is no example.
    shown = [row for row in decided if (row["ratio"] > 1) == (row["word"] == speedup.FASTER)]
    if not shown:
        return f"Candidate against baseline in {tail}"
    most = max(shown, key=lambda row: abs(row["ratio"] - 1) if row["ratio"] >= 1 else 1 / row["ratio"] - 1)
    times, than = (most["ratio"], "faster") if most["ratio"] >= 1 else (1 / most["ratio"], "slower")
    largest = f"{most['called']['candidate']} {times:.1f} times {than} in {most['workload']}"
    return f"Candidate against baseline in {tail[:-1]}; largest: {largest}."


def _warnings(rows: list[Row]) -> list[Row]:
    """Name the rows of which a pass does not count."""
    found = []
    for row in rows:
        lost = [
            f"{row[role]} pass {number} ({word})"
            for role in ("baseline", "candidate")
            for number, word in enumerate(row["arms"][role]["statuses"], start=1)
            if word not in {"ok", benchmark_rows.NOT_NEEDED}
        ]
        if lost:
            found.append(
                {
                    "kind": "lost-pass",
                    "subject": row["workload"],
                    "text": f"These passes do not count: {', '.join(lost)}.",
                    "advice": "Quiet the host and measure the row again, in a results folder of its own.",
                }
            )
    return found


def _aa(rows: list[Row]) -> Row | None:
    """
    Say how many rows of equal arms were called different; None where no pair is of equal arms.

    A row of which nothing can be told could not have been called different, so it is none of those that were right.
    """
    mine = [row for row in rows if row["aa"]]
    if not mine:
        return None
    told = [row for row in mine if row["word"] != speedup.CANNOT_TELL]
    claimed = [row["workload"] for row in told if row["word"] in {speedup.FASTER, speedup.SLOWER}]
    return {
        "rows": len(told),
        "untold": len(mine) - len(told),
        "claimed": claimed,
        "goal": AA_GOAL,
        "kept": bool(told) and len(claimed) <= AA_GOAL * len(told),
    }
