"""One run over time, of the smallest and of the largest pool: overall time, connections, CPU."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from poollab.report import cells, words
from poollab.report.figures import style

NAME = "timeline"
HEIGHTS = (1.7, 1.5, 1.3)
WAIT, USE, TIME = "#d55e00", "#0072b2", "#1a1a1a"
SHADE: dict[str, Any] = {"facecolor": "#eceff1", "edgecolor": "#9aa3ab", "hatch": "//", "linewidth": 0.0, "zorder": 0}

Row = dict[str, Any]


def height(_group: Row) -> float:
    """One drawing, however many groups there are."""
    return 0.0


def describe(context: Row) -> Row:
    """Return heading, caption, alt text and the numbers behind the figure."""
    lines = context["timelines"]
    return {
        "heading": "One run over time",
        "caption": (
            "Hatched: warm-up and drain, used for no number. Overall time: median and largest of the requests "
            "scheduled in each part of the window. In use and waiting (all connections taken): largest and mean "
            "number in each part, exactly from the stamps; a connection that is passed on counts for its next user "
            "from then on. CPU: between two samples; filled below: share of throttled periods. Both columns have the "
            "same scales."
        ),
        "alt": f"Overall time, connections in use and waiting, and CPU of one run over time. {_finding(lines)}",
        "table": _table(lines),
    }


def _inside(line: Row, name: str, key: str) -> list[float]:
    """Return the values of the bins that lie in the window."""
    width, first = line["bin_ns"], line["first_ns"]
    values = line[name][key]
    return [
        v
        for i, v in enumerate(values)
        if v is not None and -0.5 * width < first + i * width < line["window_ns"] - 0.5 * width
    ]


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _finding(lines: list[Row]) -> str:
    parts = [
        f"{line['group']} at pool {line['label']}: at most {max(_inside(line, 'in_use', 'max'), default=0)} in use and "
        f"{max(_inside(line, 'waiting', 'max'), default=0)} waiting"
        for line in lines
    ]
    return f"{'; '.join(parts) or '0 runs'}."


def _table(lines: list[Row]) -> Row:
    return cells.table(
        "figure-timeline",
        f"Numbers of the figure over the window of {words.plural(len(lines), 'run')}",
        [
            cells.column("run"),
            cells.column("largest overall time", "ms"),
            cells.column("in use, mean", "connections"),
            cells.column("in use, largest", "connections"),
            cells.column("waiting, mean", "requests"),
            cells.column("waiting, largest", "requests"),
            cells.column("CPU, mean of samples", "cores"),
        ],
        [("", [_row(line) for line in lines])],
    )


def _row(line: Row) -> Row:
    most = max(_inside(line, "overall", "max_ns"), default=None)
    cores = _mean(line["cpu"]["cores"]) if line["cpu"] else None
    levels = []
    for name in ("in_use", "waiting"):
        levels.append(cells.number(_mean(_inside(line, name, "mean")), 2))
        levels.append(cells.number(max(_inside(line, name, "max"), default=None)))
    return cells.row(line["cell"], [cells.number(words.to_ms(most), 2), *levels, cells.number(cores, 3)])


def draw(context: Row) -> Figure:
    """Draw a column for each run."""
    lines = context["timelines"]
    if not lines:
        return style.nothing("no ok run to show over time")
    figure, axes = style.grid(list(HEIGHTS), len(lines), sharex="col", sharey="row")
    for column, line in enumerate(lines):
        times, levels, cpu = (row[column] for row in axes)
        _times(times, line)
        _levels(levels, line)
        _cpu(cpu, line)
        times.set_title(f"{line['group']}, pool {line['label']}, r{line['repeat']}")
        cpu.set_xlabel("time, s (0: first scheduled arrival)")
        for panel in (times, levels, cpu):
            _shade(panel, line)
            style.quiet_grid(panel)
    for row in axes:
        # Only now: a limit that is set stops the scale from growing with what is drawn after it.
        row[0].set_ylim(bottom=0)
    for row, label in zip(axes, ("overall time, ms", "requests", _cpu_label(lines)), strict=True):
        row[0].set_ylabel(label)
    style.key_above(figure, _keys(), 4)
    return figure


def _cpu_label(lines: list[Row]) -> str:
    return "CPU of cap, %" if all(line["cap_cores"] for line in lines) else "CPU, cores x 100"


def _keys() -> list[Any]:
    return [
        Line2D([], [], color=TIME, linewidth=0.8, linestyle=":", label="largest overall time"),
        Line2D([], [], color=TIME, linewidth=1.4, label="its median"),
        Line2D([], [], color=USE, linewidth=1.4, label="in use"),
        Line2D([], [], color=WAIT, linewidth=1.4, linestyle="--", label="waiting"),
        Patch(facecolor=USE, alpha=0.35, label="mean in use"),
        Line2D([], [], color=TIME, linewidth=1.0, label="CPU"),
        Patch(facecolor="#c9a227", edgecolor=style.INK, linewidth=0.4, label="throttled periods, %"),
        Patch(label="warm-up, drain", **SHADE),
    ]


def _middles(line: Row) -> list[float]:
    count = len(line["in_use"]["max"])
    return [(line["first_ns"] + (i + 0.5) * line["bin_ns"]) / 1e9 for i in range(count)]


def _edges(line: Row) -> list[float]:
    count = len(line["in_use"]["max"])
    return [(line["first_ns"] + i * line["bin_ns"]) / 1e9 for i in range(count + 1)]


def _times(axes: Axes, line: Row) -> None:
    for key, look in (("max_ns", {"linewidth": 0.8, "linestyle": ":"}), ("median_ns", {"linewidth": 1.4})):
        shown = [(x, v / 1e6) for x, v in zip(_middles(line), line["overall"][key], strict=True) if v is not None]
        # The warm-up is a stretch of its own: no line leads from it into the measurement.
        for part in ([p for p in shown if p[0] < 0], [p for p in shown if p[0] >= 0]):
            axes.plot([x for x, _ in part], [v for _, v in part], color=TIME, **look)


def _levels(axes: Axes, line: Row) -> None:
    edges = _edges(line)
    axes.stairs(line["in_use"]["mean"], edges, fill=True, color=USE, alpha=0.35, linewidth=0)
    axes.stairs(line["in_use"]["max"], edges, color=USE, linewidth=1.1, baseline=None)
    axes.stairs(line["waiting"]["max"], edges, color=WAIT, linewidth=1.1, linestyle="--", baseline=None)


def _cpu(axes: Axes, line: Row) -> None:
    cpu = line["cpu"]
    if not cpu:
        axes.text(0.02, 0.5, "not sampled", color=style.QUIET, transform=axes.transAxes)
        return
    edges = [at / 1e9 for at in cpu["at_ns"]]
    whole = line["cap_cores"] or 1.0
    if cpu["throttled"]:
        shown = [100 * v if v is not None else 0.0 for v in cpu["throttled"]]
        axes.stairs(shown, edges, fill=True, facecolor="#c9a227", edgecolor=style.INK, linewidth=0.2, alpha=0.8)
    axes.stairs([100 * c / whole for c in cpu["cores"]], edges, color=TIME, linewidth=1.0, baseline=None)


def _shade(axes: Axes, line: Row) -> None:
    window = line["window_ns"] / 1e9
    start, end = line["first_ns"] / 1e9, line["last_ns"] / 1e9
    if start < 0:
        axes.axvspan(start, 0, **SHADE)
    axes.axvspan(window, max(end, window + 0.01), **SHADE)
    axes.set_xlim(start, max(end, window) * 1.01)
