"""With and without the quota: the same workload and pool under each level of the limits."""

from typing import Any

from poollab.report import cells, words
from poollab.report.cells import Table, column

Group = dict[str, Any]
Row = dict[str, Any]


def build(groups: list[Group], tested: list[Row] | None = None) -> dict[str, Any]:
    """
    Return {table, sentences}: a row for each pool and level, and what was observed from the first to each level.

    `tested` are the comparisons of levels by pairs of runs (`limits` of analysis.json); a sentence ends with its word.
    """
    words_of: dict[tuple[Any, ...], Row] = {
        (t["workload"], t["arm"], t["from"], t["to"]): t for t in tested or [] if t["metric"] == "overall_mean"
    }
    workloads = list(dict.fromkeys(g["workload"] for g in groups))
    of = {w: [g for g in groups if g["workload"] == w] for w in workloads}
    return {"table": _table(of), "sentences": [s for mine in of.values() for s in _sentences(mine, words_of)]}


def _table(of: dict[str, list[Group]]) -> Table:
    return cells.table(
        "quota",
        "The same workload and pool under each level of the limits: means in ms over the n ok requests of runs with "
        "status ok",
        [
            column("pool and limits"),
            column("cap", "cores"),
            column("wait", "ms"),
            column("query round trip", "ms"),
            column("overall", "ms"),
            column("overall p99", "ms"),
            column("CPU used", "cores"),
            column("throttled", "% of periods"),
            column("n", "requests"),
        ],
        [(workload, [row for pair in _pairs(mine) for row in map(_row, pair)]) for workload, mine in of.items()],
        [
            (
                "In square brackets: the smallest and the largest run, which is no confidence interval. Here the "
                "levels stand side by side; where a word is given on two of them, it stands above the table."
            )
        ],
    )


def _pairs(mine: list[Group]) -> list[list[tuple[Group, Group]]]:
    """List, pool by pool, (group, arm) at each level of the limits."""
    arms = list(dict.fromkeys(a["arm"] for g in mine for a in g["arms"]))
    return [[(g, a) for g in mine for a in g["arms"] if a["arm"] == name] for name in arms]


def _row(entry: tuple[Group, Group]) -> dict[str, Any]:
    group, arm = entry
    side = arm["database"]
    uncapped = "uncapped" if side["cap_cores"] is None and arm["runs_ok"] else "not measured"
    means = [
        cells.number(arm["means_ms"][n], 2, low=arm["means_run_ms"][n][0], high=arm["means_run_ms"][n][1])
        for n in ("acquisition_wait", "query_round_trip", "overall")
    ]
    return cells.row(
        f"{arm['label']}, {group['limits']}",
        [
            cells.number(side["cap_cores"], 2, missing=uncapped),
            *means,
            cells.percentile(arm["percentiles"]["p99"], 2),
            cells.number(side["cpu_cores"], 3),
            cells.number(words.scale(side["throttle_ratio"], 100), 1, missing=uncapped),
            cells.number(arm["requests_ok"]),
        ],
    )


def _sentences(mine: list[Group], words_of: dict[tuple[Any, ...], Row]) -> list[str]:
    made = []
    for pair in _pairs(mine):
        (first, before), *others = pair
        for group, after in others:
            old, new = before["means_ms"]["overall"], after["means_ms"]["overall"]
            if old is None or new is None or not old:
                continue
            made.append(
                f"{first['workload']}, pool {before['label']}: the observed mean overall time was "
                f"{words.number(old, 2)} ms under limits {first['limits']} and {words.number(new, 2)} ms under limits "
                f"{group['limits']} ({round((new / old - 1) * 100) + 0:+d} %)"
                f"{_word(words_of.get((first['workload'], before['arm'], first['limits'], group['limits'])))}."
            )
    return made


def _word(found: Row | None) -> str:
    """Say what the comparison by pairs of runs shows; nothing where there is none."""
    if found is None:
        return ""
    if found["word"] == "cannot tell":
        return f"; by pairs of runs it cannot be told whether they differ, because {found['why']}"
    ends = [f"{(found[end] - 1) * 100:+.1f}" for end in ("low", "high")]
    return f"; by pairs of runs: {found['word']} (95 % interval {ends[0]} to {ends[1]} %)"
