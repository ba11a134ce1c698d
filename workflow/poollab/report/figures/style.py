"""What all figures share: settings for equal bytes, colours with hatches, marks, limits."""

import io
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

Group = dict[str, Any]

WIDTH_INCHES = 7.0
#: Height of all panels of one part; a page of paper has room for about ten inches with the caption.
MOST_INCHES = 8.0
INK = "#1a1a1a"
QUIET = "#5f6368"

#: Ground of a number that stands on something drawn.
PLATE: dict[str, Any] = {"facecolor": "white", "edgecolor": "none", "pad": 1.2}

#: Colour and hatch of each interval; every colour has a contrast of at least 3:1 on white.
INTERVALS: dict[str, tuple[str, str]] = {
    "scheduling_delay": ("#767676", ""),
    "before": ("#8a6d00", "\\\\\\\\"),
    "acquisition_wait": ("#d55e00", "////"),
    "query_round_trip": ("#0072b2", ""),
    "release": ("#009e73", "||||"),
    "after": ("#7b3294", "----"),
}

#: Colour and marker of each block, told apart without colour too; used again from the start after the last.
BLOCKS = (("#0072b2", "o"), ("#d55e00", "s"), ("#00704f", "D"), ("#7b3294", "^"), ("#5f6368", "v"))

#: Pools are ordered, so they take one scale from dark to mid (cividis up to 0.6: 15:1 down to 3.9:1 on white), each
#: with a line style of its own; used again from the start after the last.
LINES = ("-", (0, (6, 1.5)), (0, (7, 1.5, 2, 1.5)), (0, (3, 1.5)), (0, (9, 1.5, 2, 1.5, 2, 1.5)))
DARKEST, LIGHTEST = 0.0, 0.6

#: A run that is not ok may be far out; beyond this multiple of the largest ok value it is drawn at the edge.
EDGE = 1.5

_SETTINGS: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "poollab",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "text.parse_math": False,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": QUIET,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "hatch.linewidth": 0.6,
    "figure.facecolor": "white",
    "path.simplify": False,
}


def svg(draw: Callable[[], Figure], title: str) -> bytes:
    """Draw under the shared settings and return an SVG that is the same bytes for the same figure."""
    # The defaults first: a matplotlibrc of the user must not change the report.
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        out = io.BytesIO()
        draw().savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Title": title})
        return out.getvalue()


def chunks(groups: list[Group], height: Callable[[Group], float]) -> list[list[Group]]:
    """Share groups out so that the panels of a part are no higher than a page; at least one part, maybe empty."""
    parts: list[list[Group]] = [[]]
    used = 0.0
    for group in groups:
        if parts[-1] and used + height(group) > MOST_INCHES:
            parts.append([])
            used = 0.0
        parts[-1].append(group)
        used += height(group)
    return parts


def grid(heights: list[float], columns: int, **how: Any) -> tuple[Figure, list[list[Axes]]]:
    """Return a figure with rows of panels of heights in inches (at least one), `columns` beside each other."""
    figure = Figure(figsize=(WIDTH_INCHES, sum(heights) + 0.5), layout="constrained")
    axes = figure.subplots(len(heights), columns, squeeze=False, gridspec_kw={"height_ratios": heights}, **how)
    return figure, [list(row) for row in axes]


def panels(heights: list[float]) -> tuple[Figure, list[Axes]]:
    """Return a figure with one panel below the other, of the given heights in inches (at least one)."""
    figure, axes = grid(heights, 1)
    return figure, [row[0] for row in axes]


def row_height(group: Group, inches: float) -> float:
    """Return the height of a panel with a row for each pool, in inches."""
    return 0.62 + inches * len(group["arms"])


def pool_rows(axes: Axes, group: Group, *, labels: bool = True) -> None:
    """Give a panel a row for each pool, the smallest at the top."""
    arms = group["arms"]
    axes.set_yticks(range(len(arms)), [arm_label(a) for a in arms] if labels else [""] * len(arms))
    axes.set_ylim(len(arms) - 0.4, -0.6)


def key_above(figure: Figure, handles: list[Any], columns: int = 4) -> None:
    """Set the key above all panels."""
    figure.legend(handles=handles, loc="outside upper center", ncols=columns, frameon=False)


def quiet_grid(axes: Axes) -> None:
    """Draw faint lines at the ticks of the upright scale, behind everything."""
    axes.grid(axis="y", color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)


def pool_style(at: int, count: int) -> dict[str, Any]:
    """Return colour and line style of the pool at a place among `count` pools ordered by size."""
    share = DARKEST if count < 2 else DARKEST + (LIGHTEST - DARKEST) * at / (count - 1)
    return {"color": mpl.colors.to_hex(mpl.colormaps["cividis"](share)), "linestyle": LINES[at % len(LINES)]}


def nothing(message: str) -> Figure:
    """Return a figure that says why there is nothing to draw."""
    figure, axes = panels([1.0])
    axes[0].text(0.5, 0.5, message, ha="center", va="center", transform=axes[0].transAxes)
    axes[0].set_axis_off()
    return figure


def arm_label(arm: dict[str, Any]) -> str:
    """Return the label of a pool's row, which says so when not all its planned runs are ok."""
    short_of = "" if arm["runs_ok"] == arm["runs_planned"] else f"\n{arm['runs_ok']} of {arm['runs_planned']} runs ok"
    return f"pool {arm['label']}{short_of}"


def upper_limit(ok: list[float], others: list[float]) -> float:
    """Return the end of a ms axis that starts at 0 and leaves room for a label."""
    largest = max(ok, default=max(others, default=1.0)) or 1.0
    return max([largest, *(v for v in others if v <= EDGE * largest)]) * 1.18


def dot(axes: Axes, x: float, y: float, colour: str, marker: str, support: str) -> None:
    """Draw one ok run: filled where its percentile is plain, hollow where it is weak."""
    face = colour if support == "plain" else "white"
    axes.plot([x], [y], marker=marker, markersize=6, markerfacecolor=face, markeredgecolor=colour, linestyle="none")


def cross(axes: Axes, x: float, y: float) -> None:
    """Draw one run that is not ok."""
    axes.plot([x], [y], marker="x", markersize=7, markeredgewidth=1.8, color=INK, linestyle="none", clip_on=False)
