"""The answer table: what each pool gave under each workload, and which are best as far as one can tell."""

from typing import Any

from poollab.report import cells, tables, words
from poollab.report.cells import Table, column

Group = dict[str, Any]
Marks = dict[tuple[str, str], str]


def build(groups: list[Group], marks: Marks) -> Table:
    """
    Return the table: one row a condition, one body a workload.

    Args:
        groups: workload x limits, as `groups.build` makes them.
        marks: words on conditions by (id of the group, arm), such as `best`; rows without a mark have none.
    """
    return cells.table(
        "answer",
        "Each pool under each workload: times in ms over the n ok requests of its runs with status ok; requests that "
        "are not ok, and late runs, are counted over all of its runs",
        [
            tables.pool_column(),
            column("runs ok"),
            column("n", "requests"),
            column("achieved", "% of offered"),
            column("wait, mean", "ms"),
            column("overall, mean", "ms"),
            column("overall p50", "ms"),
            column("overall p99", "ms"),
            column("not ok", "requests of all runs"),
            column("late runs"),
            column("CPU of cap", "%"),
            column("throttled", "% of periods"),
        ],
        [(_label(g), [_row(g, a, marks) for a in g["arms"]]) for g in groups],
        [tables.RUNS_NOTE, tables.WEAK_NOTE, *_lost(groups)],
    )


def _lost(groups: list[Group]) -> list[str]:
    """Say why the sentences may give other means than the table, where runs are missing."""
    if all(a["runs_ok"] == a["runs_planned"] for g in groups for a in g["arms"]):
        return []
    return [
        (
            "Sentences on two pools give the means of those runs whose repeat is ok in both; where a run is missing "
            "they differ from this table, which takes every ok run."
        )
    ]


def _label(group: Group) -> str:
    rate = group["rate_per_s"]
    return f"{group['label']}: {group['arrivals']}" + (f", {words.number(rate, 0)} per second" if rate else "")


def _row(group: Group, arm: Group, marks: Marks) -> dict[str, Any]:
    largest = max((a["means_ms"]["overall"] or 0 for a in group["arms"]), default=0)
    decimals = words.decimals_for(largest)
    means = [
        cells.number(arm["means_ms"][n], decimals, low=arm["means_run_ms"][n][0], high=arm["means_run_ms"][n][1])
        for n in ("acquisition_wait", "overall")
    ]
    ranks = [cells.percentile(arm["percentiles"][p], decimals) for p in ("p50", "p99")]
    offered, achieved = arm["offered_per_s"], arm["achieved_per_s"]
    share = achieved / offered * 100 if offered and achieved is not None else None
    late = sum("generator-late" in run["status"] for run in arm["runs"])
    side = arm["database"]
    uncapped = "uncapped" if side["cap_cores"] is None and arm["runs_ok"] else "not measured"
    shown = [
        cells.share(arm["runs_ok"], arm["runs_planned"]),
        cells.number(arm["requests_ok"]),
        cells.number(share, 1, missing="no rate is offered" if arm["runs_ok"] and offered is None else "not measured"),
        *means,
        *ranks,
        cells.number(sum(r["requests"] - r["requests_ok"] for r in arm["runs"]) if arm["runs"] else None),
        cells.number(late if arm["runs"] else None),
        cells.number(words.scale(side["cpu_of_cap"], 100), 1, missing=uncapped),
        cells.number(words.scale(side["throttle_ratio"], 100), 1, missing=uncapped),
    ]
    return cells.row(arm["label"], shown, word=marks.get((group["id"], arm["arm"]), ""))
