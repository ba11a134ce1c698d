"""Many waits at once: time, resident memory and Python's own count, a panel each."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from poollab.report import cells, words
from poollab.report.figures import style
from poollab.report.figures.exec_ceiling import CLIENTS, OTHER
from poollab.report.words import MIB

NAME = "exec-waits"
ROW_INCHES = 0.4

Row = dict[str, Any]
#: Heading, unit, decimals and value of each panel.
PANELS: tuple[tuple[str, str, int, str, float], ...] = (
    ("time", "ms", 0, "took_mean_ns", 1e6),
    ("resident memory added", "MiB", 1, "added_rss_bytes", MIB),
    ("by tracemalloc", "MiB", 1, "traced_peak_bytes", MIB),
)


def height(_group: Row) -> float:
    """Height that a group adds in inches: none, as all clients stand in one part."""
    return 0.0


def describe(context: Row) -> Row:
    """Return heading, caption, alt text and the numbers behind the figure."""
    rows = context["special"]["waits"]
    return {
        "heading": "Many waits at once: time, memory, and memory as Python counts it",
        "caption": (
            "Means of the ok runs. Time: from the moment at which all are due to the end of the last; making threads "
            "and coroutines ready comes before it and stands in the table. Each panel has its own scale, from 0."
        ),
        "alt": f"Three bar charts of many waits at once. {_finding(rows)}",
        "table": _table(rows),
    }


def _value(row: Row, key: str, factor: float) -> float | None:
    return words.scale(None if key == "took_mean_ns" and not row["timed"] else row[key], 1 / factor)


def _finding(rows: list[Row]) -> str:
    parts = []
    for row in rows:
        shown = [f"{title} {words.number(_value(row, k, f), d)} {unit}" for title, unit, d, k, f in PANELS]
        parts.append(f"{row['label']}: {', '.join(shown)}")
    return f"{'; '.join(parts) or 'Nothing measured, 0 runs'}."


def _table(rows: list[Row]) -> Row:
    return cells.table(
        "figure-exec-waits",
        f"Numbers of the figure: n = {words.plural(sum(r['batch'] for r in rows), 'wait')}",
        [cells.column("client"), *(cells.column(title, unit) for title, unit, *_ in PANELS)],
        [("", [cells.row(r["label"], [cells.number(_value(r, k, f), d) for _, _, d, k, f in PANELS]) for r in rows])],
    )


def draw(context: Row) -> Figure:
    """Draw the panels beside each other, a bar for each client."""
    rows = context["special"]["waits"]
    if not rows:
        return style.nothing("no batch of waits was measured")
    figure, (axes,) = style.grid([0.7 + ROW_INCHES * len(rows)], len(PANELS))
    for at, (panel, (title, unit, decimals, key, factor)) in enumerate(zip(axes, PANELS, strict=True)):
        _panel(panel, rows, [_value(row, key, factor) for row in rows], decimals)
        panel.set(title=title, xlabel=unit)
        panel.set_yticks(range(len(rows)), [r["label"] if at == 0 else "" for r in rows])
    return figure


def _panel(axes: Axes, rows: list[Row], values: list[float | None], decimals: int) -> None:
    end = max((v for v in values if v is not None), default=0.0) * 1.35 or 1.0
    for y, (row, value) in enumerate(zip(rows, values, strict=True)):
        if value is None:
            axes.text(end * 0.02, y, "not measured", va="center", color=style.QUIET)
            continue
        colour = CLIENTS.get(row["client"], OTHER)[0]
        axes.barh([y], [value], height=0.55, color=colour, edgecolor=style.INK, linewidth=0.6)
        axes.text(value + end * 0.015, y, words.number(value, decimals), va="center", fontweight="bold")
    axes.set(xlim=(0, end), ylim=(len(rows) - 0.4, -0.6))
