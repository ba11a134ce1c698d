"""Requests a second by pool, one line for each number of workers, with the theory and the CPU's ceiling."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from poollab.report import cells, words
from poollab.report.figures import style
from poollab.stats import loops

NAME = "loop-rate"
INCHES = 2.6
COLOUR = "#0072b2"


def height(_group: dict[str, Any]) -> float:
    """Height that a group adds in inches: none, as all panels stand in one part."""
    return 0.0


def describe(context: dict[str, Any]) -> dict[str, Any]:
    """Return heading, caption, alt text and the numbers behind the figure."""
    rows = context["special"]["conditions"]
    return {
        "heading": "Requests a second by pool, beside theory and CPU",
        "caption": (
            f"Dots: measured, over all ok runs. Dashes: {bound(rows)}, which needs no more than one hold time measured "
            "alone. Dotted: the rate at which the CPU that a request cost would run out, which may lie "
            "above the panel. Both scales start at 0."
        ),
        "alt": f"Line chart of requests a second by pool. {_finding(rows)}",
        "table": _table(rows),
    }


def by_loop(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return the conditions of each loop with more than one worker by its label, pools from the smallest."""
    return loops.by_label([row for row in rows if row["workers"] > 1])


def bound(rows: list[dict[str, Any]]) -> str:
    """Return the theory's formula; the think time stands in it where a loop has one."""
    return "min(P / S1, C / (S1 + Z))" if any(row["think_ns"] for row in rows) else "min(C, P) / S1"


def title(label: str) -> str:
    """Return a loop's label as the title of a narrow panel."""
    return label.replace(", ", ",\n")


def _finding(rows: list[dict[str, Any]]) -> str:
    parts = []
    for label, mine in by_loop(rows).items():
        shown = [f"{words.number(r['achieved_per_s'])} at {r['name']}" for r in mine]
        parts.append(f"{label}: {words.listed(shown)}")
    return f"Rate a second by pool: {'; '.join(parts) or 'nothing measured, 0 runs'}."


def _table(rows: list[dict[str, Any]]) -> dict[str, Any]:
    def row(r: dict[str, Any]) -> dict[str, Any]:
        keys = ("achieved_per_s", "theory_per_s", "cpu_ceiling_per_s")
        return cells.row(r["name"], [cells.number(r[key]) for key in keys])

    bodies = [(label, [row(r) for r in mine]) for label, mine in by_loop(rows).items()]
    return cells.table(
        "figure-loop-rate",
        f"Numbers of the figure: requests a second in n = {sum(len(b[1]) for b in bodies)} conditions",
        [
            cells.column("pool", "connections"),
            cells.column("measured", "per s"),
            cells.column(bound(rows), "per s"),
            cells.column("CPU ceiling", "per s"),
        ],
        bodies,
    )


def draw(context: dict[str, Any]) -> Figure:
    """Draw one panel for each number of workers."""
    found = by_loop(context["special"]["conditions"])
    if not found:
        return style.nothing("no closed loop with more than one worker was measured")
    figure, (axes,) = style.grid([INCHES], len(found), sharey=True)
    for panel, (label, rows) in zip(axes, found.items(), strict=True):
        _panel(panel, label, rows)
    top = max(max(r["achieved_per_s"], r["theory_per_s"] or 0) for rows in found.values() for r in rows)
    axes[0].set(ylabel="requests a second", ylim=(0, top * 1.15))
    style.key_above(
        figure,
        [
            Line2D([], [], color=COLOUR, marker="o", label="measured"),
            Line2D([], [], color=style.INK, linestyle="--", label=bound(context["special"]["conditions"])),
            Line2D([], [], color="#d55e00", linestyle=":", marker="v", markersize=4, label="CPU ceiling"),
        ],
        3,
    )
    return figure


def _panel(axes: Axes, label: str, rows: list[dict[str, Any]]) -> None:
    sizes = [r["pool_size"] for r in rows]
    axes.plot(sizes, [r["achieved_per_s"] for r in rows], color=COLOUR, marker="o")
    for key, how in (
        ("theory_per_s", {"color": style.INK, "linestyle": "--"}),
        ("cpu_ceiling_per_s", {"color": "#d55e00", "linestyle": ":", "marker": "v", "markersize": 4}),
    ):
        known = [(r["pool_size"], r[key]) for r in rows if r[key] is not None]
        axes.plot([x for x, _ in known], [y for _, y in known], **how)
    axes.set(title=title(label), xlabel="pool, connections", xlim=(0, max(sizes) * 1.1))
    axes.set_xticks(sorted(set(sizes)))
    style.quiet_grid(axes)
