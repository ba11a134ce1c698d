"""Lines over the offered rate, one for each arm: what the figures of the Little's-law study share."""

from collections.abc import Callable
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from poollab.report import cells, words
from poollab.report.figures import style

Row = dict[str, Any]
Value = Callable[[Row], float | None]
INCHES = 3.0
MARKERS = ("o", "s", "D", "^", "v")


def height(_group: Row) -> float:
    """Height that a group adds in inches: none, as all panels stand in one part."""
    return 0.0


def how(at: int, count: int) -> dict[str, Any]:
    """Return colour, line and marker of the arm at a place among `count`, the fewest connections first."""
    return {**style.pool_style(at, count), "marker": MARKERS[at % len(MARKERS)], "markersize": 4.5}


def draw(axes: Axes, arms: list[Row], value: Value) -> None:
    """Draw a value of every step over the offered rate; a step without it leaves a gap."""
    for at, arm in enumerate(arms):
        found = [value(step) for step in arm["steps"]]
        shown = [float("nan") if v is None else v for v in found]
        axes.plot([step["offered_per_s"] for step in arm["steps"]], shown, **how(at, len(arms)))
    axes.set_xlabel("offered, requests a second")
    axes.set_xlim(left=0)
    style.quiet_grid(axes)


def key(arms: list[Row]) -> list[Line2D]:
    """Return the key of the arms."""
    return [Line2D([], [], label=arm["label"], **how(at, len(arms))) for at, arm in enumerate(arms)]


def ends(arms: list[Row], value: Value, decimals: int, unit: str) -> str:
    """Say each arm's value at the first and the last step."""
    parts = [
        f"{arm['label']} {words.number(value(arm['steps'][0]), decimals)} to "
        f"{words.number(value(arm['steps'][-1]), decimals)}"
        for arm in arms
    ]
    return f"from the first to the last step, in {unit}: {'; '.join(parts) or 'nothing measured, 0 runs'}"


def table(name: str, arms: list[Row], columns: dict[str, tuple[str, Callable[[Row], cells.Cell]]]) -> Row:
    """Return the numbers behind a figure: for each arm a row for each step; columns by label with unit and cell."""
    bodies = [
        (
            arm["label"],
            [
                cells.row(
                    str(s["step"]), [cells.number(s["offered_per_s"], 1), *(cell(s) for _, cell in columns.values())]
                )
                for s in arm["steps"]
            ],
        )
        for arm in arms
    ]
    heads = [cells.column(label, unit) for label, (unit, _) in columns.items()]
    count = sum(len(arm["steps"]) for arm in arms)
    return cells.table(
        name,
        f"Numbers of the figure: n = {count} steps",
        [cells.column("step"), cells.column("offered", "per s"), *heads],
        bodies,
    )
