"""The tables of times and rates: means of the intervals, percentiles, offered and achieved rate."""

from typing import Any

from poollab.report import cells, words
from poollab.report.cells import Table, column
from poollab.report.groups import MEAN_NAMES, intervals_of

Group = dict[str, Any]

WORD = {name: name.replace("_", " ") for name in MEAN_NAMES}
WEAK_NOTE = (
    f"\u25cb marks a weak percentile: fewer than {cells.ENOUGH_BEYOND} requests lie beyond it (in square brackets: "
    "beyond that of a single run). A percentile with no request beyond it is not shown."
)
RUNS_NOTE = "In square brackets: the smallest and the largest run, which is no confidence interval."


def pool_column() -> dict[str, str]:
    """Return the heading of the first column."""
    return column("pool", "connections")


def intervals(group: Group) -> Table:
    """Return the mean of the four intervals and of the overall time by pool: the same requests, so they add up."""
    largest = max((a["means_ms"]["overall"] or 0 for a in group["arms"]), default=0)
    decimals = words.decimals_for(largest)
    names, rows = intervals_of(group), []
    for arm in group["arms"]:
        means = [
            cells.number(arm["means_ms"][n], decimals, low=arm["means_run_ms"][n][0], high=arm["means_run_ms"][n][1])
            for n in (*names, "overall")
        ]
        runs = cells.share(arm["runs_ok"], arm["runs_planned"])
        rows.append(cells.row(arm["label"], [*means, cells.number(arm["requests_ok"]), runs]))
    return cells.table(
        f"intervals-{group['id']}",
        f"{group['label']}: mean of each interval by pool, in ms, over the n requests that ended ok in runs with "
        "status ok",
        [
            pool_column(),
            *(column(WORD[n], "ms") for n in names),
            column("overall", "ms"),
            column("n", "requests"),
            column("runs ok"),
        ],
        [("", rows)],
        [
            (
                "The intervals add up to the overall time up to rounding: they are means over the same "
                f"requests. {RUNS_NOTE}"
            )
        ],
    )


def tail(groups: list[Group]) -> Table:
    """Return overall percentiles pooled over the ok runs, and the 99th percentile of the scheduling delay."""
    bodies = [(g["label"], [_tail_row(a, _tail_decimals(g)) for a in g["arms"]]) for g in groups]
    return cells.table(
        "tail",
        "Percentiles of the overall time and of the scheduling delay by pool, in ms, pooled over the n ok requests "
        "of all runs with status ok",
        [
            pool_column(),
            column("n", "requests"),
            column("overall p50", "ms"),
            column("overall p95", "ms"),
            column("overall p99", "ms"),
            column("beyond p99", "requests"),
            column("start delay p99", "ms"),
        ],
        bodies,
        [
            WEAK_NOTE,
            RUNS_NOTE,
            "Nearest rank: the ceil(n * q)-th of the sorted values. Start delay is the scheduling delay.",
        ],
    )


def _tail_decimals(group: Group) -> int:
    return words.decimals_for(max((a["percentiles"]["p99"]["ms"] or 0 for a in group["arms"]), default=0))


def _tail_row(arm: Group, decimals: int) -> dict[str, Any]:
    shown = [cells.percentile(arm["percentiles"][p], decimals) for p in ("p50", "p95", "p99")]
    beyond = cells.number(arm["percentiles"]["p99"]["beyond"])
    start = cells.percentile(arm["start_delay_p99"], decimals)
    return cells.row(arm["label"], [cells.number(arm["requests_ok"]), *shown, beyond, start])


def rates(groups: list[Group]) -> Table:
    """Return offered and achieved rate and how the requests ended."""
    return cells.table(
        "rates",
        "Offered and achieved rate by pool, and how the scheduled requests ended, over runs with status ok",
        [
            pool_column(),
            column("offered", "per s"),
            column("achieved", "per s"),
            column("achieved of offered", "%"),
            column("scheduled", "requests"),
            column("ok", "requests"),
            column("not ok", "requests"),
            column("observed", "s"),
        ],
        [(g["label"], [_rate_row(a) for a in g["arms"]]) for g in groups],
        [
            (
                "Offered is what the schedule asked for, achieved what was completed within the observed time, which "
                "lasts until the last release: a short run therefore achieves a little less than it was offered. A "
                "rate that was kept is no capacity."
            )
        ],
    )


def _rate_row(arm: Group) -> dict[str, Any]:
    offered, achieved = arm["offered_per_s"], arm["achieved_per_s"]
    share = achieved / offered * 100 if offered and achieved is not None else None
    measured = arm["runs_ok"] > 0
    no_rate = "no rate is offered" if measured and offered is None else "not measured"
    counts = (arm["requests"], arm["requests_ok"], arm["requests"] - arm["requests_ok"])
    return cells.row(
        arm["label"],
        [
            cells.number(offered, 2, missing=no_rate),
            cells.number(achieved, 2),
            cells.number(share, 2, missing=no_rate),
            *(cells.number(count if measured else None) for count in counts),
            cells.number(arm["observed_s"], 2),
        ],
    )
