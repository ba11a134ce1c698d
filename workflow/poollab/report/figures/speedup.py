"""How much faster the candidate is, one line a row: each pass a dot, and the mean over all passes."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

from poollab.report import cells, words
from poollab.report.figures import style

NAME = "speedup"
ROW_INCHES = 0.19
#: Colour and marker of each word; told apart without colour too.
WORDS = {
    "confirmed faster": ("#0072b2", "^"),
    "confirmed slower": ("#d55e00", "v"),
    "no difference": ("#5f6368", "o"),
    "not reproduced": ("#7b3294", "D"),
    "cannot tell": (style.INK, "x"),
    "not comparable": (style.INK, "+"),
}
_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)


def height(_group: dict[str, Any]) -> float:
    """Height of a row in inches."""
    return ROW_INCHES


def _rows(context: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of this part of the figure."""
    here = {(group["workload"], group["limits"]) for group in context["groups"]}
    return [row for row in context["special"]["rows"] if (row["workload"], row["limits"]) in here]


def _name(row: dict[str, Any]) -> str:
    return f"{row['workload']}, {row['limits']}" if row["limits"] else str(row["workload"])


def describe(context: dict[str, Any]) -> dict[str, Any]:
    """Return heading, caption, alt text and the numbers behind the figure."""
    rows = _rows(context)
    counts = [f"{sum(row['word'] == word for row in rows)} {word}" for word in WORDS]
    return {
        "heading": "Ratio of mean iteration times, baseline / candidate",
        "caption": (
            "Small dots: each pass. Larger marks: over all passes, by word. Logarithmic; right of 1 the candidate is "
            f"faster. The shaded part is within the threshold of {context['special']['confirm']['threshold']}."
        ),
        "alt": f"Dot chart of {words.plural(len(rows), 'row')}: {', '.join(counts)}.",
        "table": _table(rows),
    }


def _table(rows: list[dict[str, Any]]) -> dict[str, Any]:
    def row(r: dict[str, Any]) -> dict[str, Any]:
        ratio = cells.number(r["ratio"], 2, low=r["ratio_min"], high=r["ratio_max"])
        return cells.row(_name(r), [ratio, cells.text(r["word"])])

    return cells.table(
        "figure-speedup",
        f"Numbers of the figure: ratio of means with the smallest and largest pass, n = {len(rows)} rows",
        [cells.column("row"), cells.column("baseline / candidate"), cells.column("word")],
        [("", [row(r) for r in rows])],
    )


def draw(context: dict[str, Any]) -> Figure:
    """Draw one line for each row, the first one at the top."""
    rows = [row for row in _rows(context) if row["ratio"] is not None]
    if not rows:
        return style.nothing("no row has a pass in which both arms have a run that counts")
    figure, (axes,) = style.panels([ROW_INCHES * len(rows) + 0.6])
    edge = 1 + float(context["analysis"]["confirm"]["threshold"])
    axes.axvspan(1 / edge, edge, color="#e8eaed", zorder=0)
    axes.axvline(1, color=style.QUIET, linewidth=0.8, zorder=1)
    for y, row in enumerate(rows):
        _line(axes, y, row)
    axes.set_xscale("log")
    _scale(axes, [r for row in rows for r in (*row["ratios"], row["ratio"]) if r is not None])
    axes.set_yticks(range(len(rows)), [_name(row) for row in rows], fontsize=7)
    axes.set(ylim=(len(rows) - 0.3, -0.7), xlabel="baseline mean / candidate mean")
    used = [word for word in WORDS if any(row["word"] == word for row in rows)]
    keys = [
        Line2D([], [], color=WORDS[w][0], marker=WORDS[w][1], linestyle="none", markersize=6, label=w) for w in used
    ]
    figure.legend(handles=keys, loc="outside upper center", ncols=len(keys), frameon=False)
    return figure


def _line(axes: Axes, y: int, row: dict[str, Any]) -> None:
    colour, marker = WORDS[row["word"]]
    known = [ratio for ratio in row["ratios"] if ratio is not None]
    axes.plot([min(known), max(known)], [y, y], color=style.QUIET, linewidth=0.8, zorder=2)
    axes.plot(known, [y] * len(known), marker=".", markersize=4, color=style.QUIET, linestyle="none", zorder=3)
    axes.plot([row["ratio"]], [y], marker=marker, markersize=5.5, color=colour, linestyle="none", zorder=4)


def _scale(axes: Axes, ratios: list[float]) -> None:
    """Show a little more than the data, the threshold always, with ticks as plain numbers."""
    low, high = min(*ratios, 0.85) / 1.1, max(*ratios, 1.18) * 1.1
    axes.set_xlim(low, high)
    ticks = [tick for tick in _TICKS if low <= tick <= high]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xticklabels([f"{tick:g}" for tick in ticks])
