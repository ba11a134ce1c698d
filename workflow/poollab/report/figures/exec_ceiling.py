"""Time of the same batch by pool, one line for each client, beside n x S1 / P."""

from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from poollab.report import cells, executiontables, words
from poollab.report.figures import style
from poollab.stats import clients

NAME = "exec-ceiling"
INCHES = 3.4
#: Colour, marker and line of each client, told apart without colour too.
CLIENTS: dict[str, tuple[str, str, Any]] = {
    "psycopg-threads": ("#0072b2", "o", "-"),
    "psycopg-executor": ("#009e73", "s", (0, (5, 1.5))),
    "psycopg-async": ("#d55e00", "D", (0, (1, 1))),
    "asyncpg": ("#7b3294", "^", (0, (6, 1.5, 1, 1.5))),
}
OTHER = (style.QUIET, "v", "-")

Row = dict[str, Any]


def height(_group: Row) -> float:
    """Height that a group adds in inches: none, as all clients stand in one panel."""
    return 0.0


def describe(context: Row) -> Row:
    """Return heading, caption, alt text and the numbers behind the figure."""
    rows = context["special"]["ceiling"]
    return {
        "heading": "The same queries at once, by client and pool",
        "caption": (
            "Mean of the ok runs. Dashed grey: n x S1 / P with the hold time on one connection, the mean over the "
            "clients. Both scales are logarithmic, so a time that halves when the pool doubles is a straight line."
        ),
        "alt": f"Line chart of the time of a batch by pool. {_finding(rows)}",
        "table": _table(rows),
    }


def _finding(rows: list[Row]) -> str:
    parts = [
        f"{line} {words.number(mine[0]['took_mean_ns'] / 1e6)} at {mine[0]['pool_size']} to "
        f"{words.number(mine[-1]['took_mean_ns'] / 1e6)} at {mine[-1]['pool_size']}"
        for line, mine in executiontables.lines(rows).items()
    ]
    return f"In ms from the smallest to the largest pool: {'; '.join(parts) or 'nothing measured, 0 runs'}."


def _table(rows: list[Row]) -> Row:
    def row(r: Row) -> Row:
        return cells.row(
            executiontables.pool(r),
            [cells.number(r["took_mean_ns"] / 1e6, 1), cells.number(words.to_ms(r["theory_ns"]), 1)],
        )

    return cells.table(
        "figure-exec-ceiling",
        f"Numbers of the figure: n = {words.plural(len(rows), 'condition')}",
        [cells.column("pool", "connections"), cells.column("time", "ms"), cells.column("n x S1 / P", "ms")],
        [(line, [row(r) for r in mine]) for line, mine in executiontables.lines(rows).items()],
    )


def draw(context: Row) -> Figure:
    """Draw one panel with a line for each client."""
    rows = context["special"]["ceiling"]
    if not rows:
        return style.nothing("no batch of queries was measured")
    figure, (axes,) = style.panels([INCHES])
    for label, mine in executiontables.lines(rows).items():
        axes.plot([r["pool_size"] for r in mine], [r["took_mean_ns"] / 1e6 for r in mine], label=label, **_look(mine))
    for batch in clients.by_workload(rows).values():
        theory = _theory(batch)
        axes.plot([x for x, _ in theory], [y for _, y in theory], color=style.QUIET, linestyle="--", linewidth=1.2)
    sizes = sorted({r["pool_size"] for r in rows})
    axes.set(xscale="log", yscale="log", xlabel="pool, connections", ylabel="time of the batch, ms")
    axes.set_xticks(sizes, [str(n) for n in sizes])
    axes.set_xticks([], minor=True)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_minor_formatter(lambda value, _: f"{value:g}" if f"{value:.0e}"[0] in "25" else "")
    style.quiet_grid(axes)
    handles = [*axes.get_legend_handles_labels()[0]]
    style.key_above(figure, [*handles, Line2D([], [], color=style.QUIET, linestyle="--", label="n x S1 / P")], 3)
    return figure


def _look(mine: list[Row]) -> Row:
    """Return colour, marker and line of a client; no line through pools of which it has several arms."""
    colour, marker, line = CLIENTS.get(mine[0]["client"], OTHER)
    once = len({row["pool_size"] for row in mine}) == len(mine)
    return {"color": colour, "marker": marker, "linestyle": line if once else "none", "markersize": 4.5}


def _theory(rows: list[Row]) -> list[tuple[int, float]]:
    found: dict[int, list[float]] = {}
    for row in rows:
        if row["theory_ns"] is not None:
            found.setdefault(row["pool_size"], []).append(row["theory_ns"] / 1e6)
    return [(size, sum(values) / len(values)) for size, values in sorted(found.items())]
