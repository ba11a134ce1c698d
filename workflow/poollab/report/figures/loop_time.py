"""Percentiles of acquisition wait and query together by pool, one panel for each number of workers."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from poollab.report import cells, measures, words
from poollab.report.figures import loop_rate, style

NAME = "loop-time"
INCHES = 2.6
#: Percentile, its colour, marker and line.
MARKS: tuple[tuple[str, str, str, Any], ...] = (
    ("p50", "#0072b2", "o", "-"),
    ("p95", "#009e73", "s", "--"),
    ("p99", "#d55e00", "D", "-."),
)

height = loop_rate.height


def describe(context: dict[str, Any]) -> dict[str, Any]:
    """Return heading, caption, alt text and the numbers behind the figure."""
    found = loop_rate.by_loop(context["special"]["conditions"])
    return {
        "heading": "Acquisition wait and query together, by pool",
        "caption": (
            "Pooled over all ok runs; hollow: weak, 1 to 9 requests lie beyond. "
            "Each panel has its own scale, and every scale starts at 0."
        ),
        "alt": f"Line chart of p50, p95 and p99 by pool. {_finding(found)}",
        "table": _table(found),
    }


def _finding(found: dict[str, list[dict[str, Any]]]) -> str:
    parts = []
    for label, rows in found.items():
        shown = [f"{_shown(r)} at {r['name']}" for r in rows]
        parts.append(f"{label}: {words.listed(shown)}")
    return f"p99 of wait and query in ms by pool: {'; '.join(parts) or 'nothing measured, 0 runs'}."


def _shown(row: dict[str, Any]) -> str:
    return words.number(measures.plain_ms(row["p99"]), 1)


def _table(found: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    def row(r: dict[str, Any]) -> dict[str, Any]:
        return cells.row(r["name"], [measures.percentile(r[key]) for key, *_ in MARKS])

    bodies = [(label, [row(r) for r in rows]) for label, rows in found.items()]
    columns = [cells.column("pool", "connections"), *(cells.column(key, "ms") for key, *_ in MARKS)]
    count = sum(r["requests"] for rows in found.values() for r in rows)
    return cells.table("figure-loop-time", f"Numbers of the figure: n = {count:,} requests", columns, bodies)


def draw(context: dict[str, Any]) -> Figure:
    """Draw one panel for each number of workers."""
    found = loop_rate.by_loop(context["special"]["conditions"])
    if not found:
        return style.nothing("no closed loop with more than one worker was measured")
    figure, (axes,) = style.grid([INCHES], len(found))
    for panel, (label, rows) in zip(axes, found.items(), strict=True):
        _panel(panel, label, rows)
    axes[0].set_ylabel("wait + query, ms")
    style.key_above(figure, [Line2D([], [], color=c, marker=m, linestyle=line, label=k) for k, c, m, line in MARKS], 3)
    return figure


def _panel(axes: Axes, label: str, rows: list[dict[str, Any]]) -> None:
    sizes = [r["pool_size"] for r in rows]
    top = 0.0
    for key, colour, marker, line in MARKS:
        known = [(r["pool_size"], value, r[key]) for r in rows if (value := measures.plain_ms(r[key])) is not None]
        axes.plot([x for x, _, _ in known], [y for _, y, _ in known], color=colour, linestyle=line)
        for x, y, found in known:
            style.dot(axes, x, y, colour, marker, cells.support(found["beyond"]))
            top = max(top, y)
    axes.set(
        title=loop_rate.title(label), xlabel="pool, connections", xlim=(0, max(sizes) * 1.1), ylim=(0, top * 1.15 or 1)
    )
    axes.set_xticks(sorted(set(sizes)))
    style.quiet_grid(axes)
