"""Order and drift: what the analysis says of it, and the p99 of each block."""

from statistics import median
from typing import Any

from poollab.report import cells, words
from poollab.report.cells import Table, column
from poollab.report.load import Results

Row = dict[str, Any]


def build(results: Results, groups: list[Row]) -> Row:
    """Return {sentence, table}: the drift test in words (empty where none was made), p99 by block (None for one)."""
    drift = results.analysis["drift"] or {}
    blocks = sorted({run["block"] for run in results.runs})
    return {"sentence": str(drift.get("sentence") or ""), "table": _table(groups, blocks) if len(blocks) > 1 else None}


def _table(groups: list[Row], blocks: list[int]) -> Table:
    return cells.table(
        "blocks-p99",
        "p99 of the overall time by block, in ms: the median of the ok runs that lie in it, and n of them",
        [cells.column("pool", "connections"), *(column(f"block {b}", "ms") for b in blocks)],
        [(g["label"], [_row(a, blocks) for a in g["arms"]]) for g in groups],
        ["\u25cb: weak, 1 to 9 requests lie beyond the p99 of a run."],
    )


def _row(arm: Row, blocks: list[int]) -> Row:
    return cells.row(arm["label"], [_cell([r for r in arm["runs"] if r["ok"] and r["block"] == b]) for b in blocks])


def _cell(runs: list[Row]) -> Row:
    shown = [r for r in runs if cells.support(r["p99"]["beyond"]) != "none"]
    if not shown:
        return cells.number(None, missing="no run of the block has a p99 to show")
    cell = cells.number(median(r["p99"]["ms"] for r in shown), 2)
    weak = any(cells.support(r["p99"]["beyond"]) == "weak" for r in shown)
    return cell | {"weak": weak, "note": f"n {words.number(len(shown))}"}
