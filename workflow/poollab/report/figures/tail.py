"""The 99th percentile of the overall time by pool, one dot for each run."""

from statistics import median
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from poollab.report import cells, words
from poollab.report.figures import style

NAME = "tail"
ROW_INCHES = 0.36
COLOUR = "#0072b2"


def height(group: dict[str, Any]) -> float:
    """Height of a group's panel in inches."""
    return style.row_height(group, ROW_INCHES)


def describe(context: dict[str, Any]) -> dict[str, Any]:
    """Return heading, caption, alt text and the numbers behind the figure."""
    return {
        "heading": "p99 of the overall time by pool, one dot for each run",
        "caption": (
            "The tick and the number beside it are the median of the ok runs (the table of this section pools their "
            "requests instead). Hollow: weak, 1 to 9 requests lie beyond that run's p99. Cross: a run that is not ok, "
            "used for no number; at the right edge where it lies far out. Every scale starts at 0."
        ),
        "alt": f"Dot plot of each run's p99 by pool. {_finding(context['groups'])}",
        "table": _table(context["groups"]),
    }


def shown_p99(runs: list[dict[str, Any]], *, ok: bool) -> list[float]:
    """List the p99 values in ms that may be shown, of runs that are ok or of those that are not."""
    return [
        r["p99"]["ms"]
        for r in runs
        if r["ok"] is ok and r["p99"]["ms"] is not None and cells.support(r["p99"]["beyond"]) != "none"
    ]


def _median(arm: dict[str, Any]) -> float | None:
    values = shown_p99(arm["runs"], ok=True)
    return median(values) if values else None


def _finding(groups: list[dict[str, Any]]) -> str:
    parts = [f"{group['label']} {_shown(group)}" for group in groups]
    weak = [g["label"] for g in groups if any(_weak(a) for a in g["arms"])]
    support = f" Weak, with fewer than {cells.ENOUGH_BEYOND} requests beyond in a run: {words.listed(weak)}."
    found = f"Median p99 of the ok runs in ms by pool: {'; '.join(parts) or 'nothing measured, 0 runs'}."
    return found + (support if weak else "")


def _weak(arm: dict[str, Any]) -> bool:
    return any(r["ok"] and cells.support(r["p99"]["beyond"]) == "weak" for r in arm["runs"])


def _shown(group: dict[str, Any]) -> str:
    decimals = _decimals(group)
    return words.listed([f"{words.number(_median(arm), decimals)} at {arm['label']}" for arm in group["arms"]])


def _decimals(group: dict[str, Any]) -> int:
    return words.decimals_for(max((_median(a) or 0 for a in group["arms"]), default=0))


def _table(groups: list[dict[str, Any]]) -> dict[str, Any]:
    bodies = [(g["label"], [_row(a, _decimals(g)) for a in g["arms"]]) for g in groups]
    return cells.table(
        "figure-tail",
        "Numbers of the figure: p99 of the overall time of each run, in ms, with n runs ok",
        [
            cells.column("pool", "connections"),
            cells.column("median of ok runs", "ms"),
            cells.column("each run by repeat", "ms"),
            cells.column("n", "runs ok"),
        ],
        bodies,
    )


def _row(arm: dict[str, Any], decimals: int) -> dict[str, Any]:
    runs = sorted(arm["runs"], key=lambda r: r["repeat"])
    each = "; ".join(f"r{r['repeat']} {_value(r, decimals)}" for r in runs) or words.MISSING
    return cells.row(
        arm["label"], [cells.number(_median(arm), decimals), cells.text(each), cells.number(arm["runs_ok"])]
    )


def _value(run: dict[str, Any], decimals: int) -> str:
    support = cells.support(run["p99"]["beyond"])
    value = "not shown" if support == "none" else words.number(run["p99"]["ms"], decimals)
    weak = f" (weak, {run['p99']['beyond']} beyond)" if support == "weak" else ""
    status = "" if run["ok"] else f" [{run['status']}]"
    return f"{value}{weak}{status}"


def draw(context: dict[str, Any]) -> Figure:
    """Draw one panel a workload, the smallest pool at the top."""
    groups = context["groups"]
    if not groups:
        return style.nothing("no condition was measured")
    figure, axes = style.panels([height(g) for g in groups])
    for panel, group in zip(axes, groups, strict=True):
        _panel(panel, group)
    axes[-1].set_xlabel("p99 of the overall time, ms")
    style.key_above(figure, _key())
    return figure


def _key() -> list[Line2D]:
    shared: dict[str, Any] = {"linestyle": "none", "color": COLOUR}
    return [
        Line2D([], [], marker="o", label="a run", **shared),
        Line2D([], [], marker="o", markerfacecolor="white", label="weak (1 to 9 beyond)", **shared),
        Line2D([], [], marker="x", linestyle="none", color=style.INK, markeredgewidth=1.8, label="run not ok"),
        Line2D(
            [],
            [],
            marker="|",
            markersize=12,
            markeredgewidth=2,
            linestyle="none",
            color=style.INK,
            label="median of ok runs",
        ),
    ]


def _panel(axes: Axes, group: dict[str, Any]) -> None:
    runs = [r for arm in group["arms"] for r in arm["runs"]]
    end = style.upper_limit(shown_p99(runs, ok=True), shown_p99(runs, ok=False))
    for y, arm in enumerate(group["arms"]):
        _arm(axes, y, arm, end, _decimals(group))
    style.pool_rows(axes, group)
    style.quiet_grid(axes)
    axes.set_xlim(0, end)
    axes.set_title(group["label"])


def _arm(axes: Axes, y: int, arm: dict[str, Any], end: float, decimals: int) -> None:
    runs = [r for r in sorted(arm["runs"], key=lambda r: r["repeat"]) if shown_p99([r], ok=r["ok"])]
    for i, run in enumerate(runs):
        # Runs lie a little apart so that equal values stay visible.
        at = y + (i - (len(runs) - 1) / 2) * min(0.16, 0.5 / len(runs))
        if run["ok"]:
            style.dot(axes, run["p99"]["ms"], at, COLOUR, "o", cells.support(run["p99"]["beyond"]))
        else:
            style.cross(axes, min(run["p99"]["ms"], end), at)
    middle = _median(arm)
    if middle is None:
        axes.text(end * 0.01, y, "no p99 of an ok run to show", va="center", color=style.QUIET)
        return
    axes.plot([middle, middle], [y - 0.33, y + 0.33], color=style.INK, linewidth=2)
    furthest = max(v for v in shown_p99(arm["runs"], ok=True))
    axes.text(furthest + end * 0.015, y, words.number(middle, decimals), va="center", fontweight="bold")
