"""
Tables as plain data: each cell holds the number, how it reads, and what a reader must know about it.

A cell is {text, value, range, weak, note, range_weak, missing, numeric, code}; a table is {id, caption, columns,
bodies, notes, row_count}; a body is {label, rows}; a row is {head, cells, mark, word}.
"""

from collections.abc import Sequence
from typing import Any

from poollab.report import words

Cell = dict[str, Any]
Table = dict[str, Any]

#: A percentile with fewer values beyond it than this is drawn hollow and called weak.
ENOUGH_BEYOND = 10


def support(beyond: int | None) -> str:
    """
    Apply the one rule of percentile support to the number of requests beyond the value.

    Returns `none` (0 or unknown: not shown), `weak` (1 to 9: hollow) or `plain` (10 and more).
    """
    if not beyond:
        return "none"
    return "weak" if beyond < ENOUGH_BEYOND else "plain"


def text(value: str, missing: str = "not recorded") -> Cell:
    """Return a cell of words; a dash is a missing value, and `missing` says in which way."""
    cell = _cell(value, None, numeric=False)
    cell["missing"] = missing if value == words.MISSING else None
    return cell


def share(part: int, whole: int) -> Cell:
    """Return a cell such as `2 of 3`."""
    return _cell(f"{part:,} of {whole:,}", part, numeric=True)


def code(value: str) -> Cell:
    """Return a cell of characters to be read one by one, such as a checksum."""
    return text(value) | {"code": True}


def number(
    value: float | None,
    decimals: int = 0,
    *,
    low: float | None = None,
    high: float | None = None,
    missing: str = "not measured",
) -> Cell:
    """Return a numeric cell with the smallest and largest run beside it where those are given."""
    cell = _cell(words.number(value, decimals), value, numeric=True)
    if value is None:
        cell["missing"] = missing
    elif low is not None and high is not None:
        cell["range"] = f"[{words.span(low, high, decimals)}]"
    return cell


def percentile(entry: dict[str, Any], decimals: int) -> Cell:
    """Return the cell of a percentile {ms, beyond, run_min_ms, run_max_ms, run_beyond} under the support rule."""
    if support(entry["beyond"]) == "none" and entry["ms"] is not None:
        return number(None, missing="not shown: no request lies beyond this percentile")
    range_support = support(entry["run_beyond"])
    ends = (None, None) if range_support == "none" else (entry["run_min_ms"], entry["run_max_ms"])
    cell = number(entry["ms"], decimals, low=ends[0], high=ends[1])
    if entry["ms"] is not None and support(entry["beyond"]) == "weak":
        cell["weak"], cell["note"] = True, f"weak ({entry['beyond']} beyond)"
    cell["range_weak"] = cell["range"] is not None and range_support == "weak"
    return cell


def column(label: str, unit: str = "") -> dict[str, str]:
    """Return a column heading; the unit stands in the heading and never in the cells."""
    return {"label": label, "unit": unit}


def row(head: str, cells: Sequence[Cell], mark: str = "", word: str = "") -> dict[str, Any]:
    """Return a row; `mark` warns of it as a whole (such as a status other than ok), `word` is a plain remark on it."""
    return {"head": head, "cells": list(cells), "mark": mark, "word": word}


def table(
    name: str,
    caption: str,
    columns: Sequence[dict[str, str]],
    bodies: Sequence[tuple[str, list[dict[str, Any]]]],
    notes: Sequence[str] = (),
) -> Table:
    """Return a table; the first column holds the row headings, each body its label (or '')."""
    return {
        "id": name,
        "caption": caption,
        "columns": list(columns),
        "bodies": [{"label": label, "rows": rows} for label, rows in bodies],
        "notes": list(notes),
        "row_count": sum(len(rows) for _, rows in bodies),
    }


def _cell(shown: str, value: float | None, *, numeric: bool) -> Cell:
    return {
        "text": shown,
        "value": value,
        "range": None,
        "weak": False,
        "note": None,
        "range_weak": False,
        "missing": None,
        "numeric": numeric,
        "code": False,
    }
