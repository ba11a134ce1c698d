"""Runs that did not keep their rate: the lag over time of each."""

from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from poollab.report import cells, words
from poollab.report.figures import style

NAME = "lag"
HEIGHT = 2.6
#: So many runs are drawn, those whose lag grows fastest; the table holds all.
MOST = 6

Row = dict[str, Any]


def height(_group: Row) -> float:
    """One drawing, however many groups there are."""
    return 0.0


def describe(context: Row) -> Row:
    """Return heading, caption, alt text and the numbers behind the figure."""
    lines = context["lags"]
    return {
        "heading": "Lag over time",
        "caption": (
            "Median overall time of the requests scheduled in each part of the window, of runs that were overloaded"
            f"{f' (the {MOST} whose lag grows fastest)' if len(lines) > MOST else ''}. A line that rises has no "
            "percentile worth the name: it would be another one in a longer window."
        ),
        "alt": f"Lag over time of {words.plural(len(lines), 'overloaded run')}. {_finding(lines)}",
        "table": _table(lines),
    }


def _finding(lines: list[Row]) -> str:
    known = [line for line in lines if line["growth_ms_per_s"] is not None]
    if not known:
        return "0 of them have a growth."
    most = max(known, key=lambda line: float(line["growth_ms_per_s"]))
    return f"The fastest grows by {most['growth_ms_per_s']:.1f} ms in each second ({most['cell']})."


def _table(lines: list[Row]) -> Row:
    columns = [
        cells.column("run"),
        cells.column("lag grows by", "ms in each second"),
        cells.column("first part, median", "ms"),
        cells.column("last part, median", "ms"),
        cells.column("largest", "ms"),
        cells.column("never ended", "requests"),
    ]
    caption = f"Lag of {words.plural(len(lines), 'overloaded run')}"
    return cells.table("figure-lag", caption, columns, [("", [_row(line) for line in lines])])


def _row(line: Row) -> Row:
    medians = [v for v in line["median_ns"] if v is not None]
    largest = max((v for v in line["max_ns"] if v is not None), default=None)
    first, last = (medians[0], medians[-1]) if medians else (None, None)
    return cells.row(
        line["cell"],
        [
            cells.number(line["growth_ms_per_s"], 2),
            *(cells.number(words.to_ms(value), 2) for value in (first, last, largest)),
            cells.number(line["unended"], 0),
        ],
    )


def draw(context: Row) -> Figure:
    """Draw a line for each run."""
    lines = sorted(context["lags"], key=lambda line: -(line["growth_ms_per_s"] or 0.0))[:MOST]
    if not lines:
        return style.nothing("no overloaded run")
    figure, (panel,) = style.panels([HEIGHT])
    keys = []
    for number, line in enumerate(lines):
        color, marker = style.BLOCKS[number % len(style.BLOCKS)]
        dashes = style.LINES[number % len(style.LINES)]
        look: Any = {"color": color, "marker": marker, "markersize": 3, "linewidth": 1.2, "linestyle": dashes}
        points = [((i + 0.5) * line["bin_s"], v / 1e6) for i, v in enumerate(line["median_ns"]) if v is not None]
        panel.plot([x for x, _ in points], [y for _, y in points], **look)
        keys.append(Line2D([], [], label=line["cell"], **look))
    panel.set_ylim(bottom=0)
    panel.set_xlabel("scheduled at, s (0: first scheduled arrival)")
    panel.set_ylabel("overall time, ms")
    style.quiet_grid(panel)
    style.key_above(figure, keys, 2)
    return figure
