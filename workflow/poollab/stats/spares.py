"""
Runs that are far from their siblings, and the spare runs: what triggered each, and how it ended.

A spare run is measured where the overall p99 of an ordinary run that is ok is far from those of its siblings (see
session/confirm.py). That is another interval than the one that a study looks at, and fewer runs: so a spare run may be
there though no run is named as far out, and the other way round.
"""

from typing import Any

from poollab.quantiles import beyond
from poollab.stats import measured, outliers
from poollab.stats.analyses import Context, Key
from poollab.stats.measured import Run
from poollab.stats.percentiles import pooled

Row = dict[str, Any]


def ordinary(context: Context) -> int:
    """Return the number of repeats that are measured in any case."""
    return int(context.model["repeats"]) - int(context.model.get("spare_repeats") or 0)


def added(context: Context, key: Key) -> list[Row]:
    """Return every spare run of a condition that was measured: its status, and the runs whose p99 calls for it."""
    mine = [row for row in context.runs if (row["workload"], row["arm"], row["limits"]) == key]
    last = ordinary(context)
    first = [r for r in mine if int(r["repeat"]) <= last and r["status"] == "ok" and r["overall_p99_ns"] is not None]
    values = [float(row["overall_p99_ns"]) for row in first]
    times = [outliers.times_others(values, place) for place in range(len(values))]
    far = [
        {"cell": row["cell"], "overall_p99_ns": value, "times": ratio}
        for row, value, ratio in zip(first, values, times, strict=True)
        if ratio is not None and ratio >= outliers.FAR
    ]
    spare = sorted((row for row in mine if int(row["repeat"]) > last), key=lambda row: int(row["repeat"]))
    return [{"cell": row["cell"], "status": str(row["status"]), "trigger": far} for row in spare]


def far_out(runs: list[Run], spare: list[Row], *, planned: bool) -> list[Row]:
    """
    Name each run whose p99 of wait and query is far above the median of the other runs of its condition.

    `spare` are the condition's spare runs (see `added`), `planned` tells whether the study has any. Of those, `again`
    are the ones that count, and `lost` those that do not.
    """
    p99 = [pooled([measured.wait_and_query_ns(run.seen.where(run.rows.ok))], 0.99)["ns"] for run in runs]
    known = [(run, float(value)) for run, value in zip(runs, p99, strict=True) if value is not None]
    values = [value for _, value in known]
    cells = {row["cell"] for row in spare}
    counted = {run.record["cell"] for run, _ in known}
    found = []
    for place, (run, value) in enumerate(known):
        times = outliers.times_others(values, place)
        if times is None or times < outliers.FAR:
            continue
        others = [(r, v) for r, v in known if r.record["cell"] in cells and r is not run]
        found.append(
            {
                **_outlier(run, value, times, others),
                "lost": [row for row in spare if row["cell"] not in counted],
                "others": len(known) - 1,
                "spare": run.record["cell"] in cells,
                "spares_planned": planned,
            }
        )
    return found


def _outlier(run: Run, value: float, times: float, again: list[tuple[Run, float]]) -> Row:
    """A run measured again shows the same when it lies nearer (by its ratio) to this one than to the others' median."""
    return {
        "cell": run.record["cell"],
        "p99_ns": value,
        "beyond": beyond(int(run.rows.ok.sum()), 0.99),
        "times": times,
        "again": [{"cell": r.record["cell"], "p99_ns": v, "same": v * v >= value * value / times} for r, v in again],
    }
