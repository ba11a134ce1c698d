"""Pool size: which range of sizes serves each workload, under which conditions, and what it costs to miss it."""

from typing import Any

from poollab.report import cells, words
from poollab.report.cells import column
from poollab.report.words import MIB, scale

HEADING = "Which range of pool sizes"
LEAVES_OUT: frozenset[str] = frozenset()
FIGURES: tuple[Any, ...] = ()

Row = dict[str, Any]

BEST = "\u25c6 lowest"


def build(context: Row) -> Row:
    """Return {marks, best, table}: words on conditions, those with the lowest mean, the table of sizes (or None)."""
    found = _ranges(context)
    return {
        "marks": {
            (group["id"], size["arm"]): _mark(entry, size, "") for group, entry in found for size in entry["sizes"]
        },
        "best": {(group["id"], entry["best"]) for group, entry in found},
        "table": _table(found, context["design"]["margin"]) if any(e["sizes"] for _, e in found) else None,
    }


def _ranges(context: Row) -> list[tuple[Row, Row]]:
    """List (group, range) of each workload."""
    groups = {(g["workload"], g["limits"]): g for g in context["groups"]}
    return [(groups[v["workload"], v["limits"]], v["range"]) for v in context["analysis"]["verdicts"]]


def _mark(entry: Row, size: Row, margin: str) -> str:
    """Return sign and word of a size against the lowest mean; `margin` goes behind `the same`."""
    if size["arm"] == entry["best"]:
        return BEST
    if size["runs_ok"] < 2:
        return "\u2013 too few ok runs"
    if size["word"] == "cannot tell" and (size["low"] or 0) > 1:
        return "? maybe slower"
    return {
        "the same": f"\u2248 the same{margin}",
        "cannot tell": "? not told apart",
        "slower": "\u25b2 slower",
        "a small difference": "\u25b3 a small difference",
    }.get(str(size["word"]), str(size["word"]))


def _table(found: list[tuple[Row, Row]], margin: str) -> Row:
    return cells.table(
        "range",
        "Each size against the one with the lowest mean overall time, over n pairs of ok runs of the same repeat",
        [
            column("pool", "connections"),
            column("n", "pairs"),
            column("overall mean against the lowest", "%"),
            column("95\u00a0% interval", "%"),
            column("reading"),
            column("in the range"),
            column("database memory, mean", "MiB"),
        ],
        [(g["label"], [_row(entry, size, margin) for size in entry["sizes"]]) for g, entry in found],
        [
            (
                "In the range stands each size that is the lowest or is not shown to be slower than it by more than "
                "the margin. An interval is that of one comparison; slower is said only where that holds out against "
                "the number of comparisons in the study too, so an interval may lie beyond the margin and the size be "
                "called maybe slower. It holds for this load, these caps and this machine."
            )
        ],
    )


def _row(entry: Row, size: Row, margin: str) -> Row:
    best = size["arm"] == entry["best"]
    change = None if best or size["ratio"] is None else (size["ratio"] - 1) * 100
    ends = [None if best or size[k] is None else (size[k] - 1) * 100 for k in ("low", "high")]
    interval = words.MISSING if None in ends else f"{ends[0]:+.1f} to {ends[1]:+.1f}"
    shown = cells.number(change, 1, missing="the lowest itself" if best else "no pair of ok runs")
    if change is not None:
        shown["text"] = f"{change:+.1f}"
    return cells.row(
        str(size["size"]),
        [
            cells.number(size.get("pairs"), missing="the lowest itself" if best else "not recorded"),
            shown,
            cells.text(interval, "the lowest itself" if best else "fewer than two pairs") | {"numeric": True},
            cells.text(_mark(entry, size, f" within {margin}")),
            cells.text("yes" if size["inside"] else "no"),
            cells.number(scale(size["memory_bytes"], 1 / MIB), 1),
        ],
    )
