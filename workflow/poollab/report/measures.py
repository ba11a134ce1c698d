"""Values of analysis.json as cells of tables: nanoseconds become milliseconds here, and support is kept."""

from typing import Any

from poollab.report import cells
from poollab.report.cells import Cell
from poollab.report.words import to_ms

Row = dict[str, Any]


def percentile(found: Row, decimals: int = 2) -> Cell:
    """Return the cell of a percentile of analysis.json (`ns`, `beyond`, `run_min_ns`, `run_max_ns`, `run_beyond`)."""
    ends = {key: to_ms(found[f"run_{key}_ns"]) for key in ("min", "max")}
    shown = {"run_min_ms": ends["min"], "run_max_ms": ends["max"], "run_beyond": found["run_beyond"]}
    return cells.percentile({"ms": to_ms(found["ns"]), "beyond": found["beyond"], **shown}, decimals)


def ms(value_ns: float | None, decimals: int = 2) -> Cell:
    """Return the cell of a time."""
    return cells.number(to_ms(value_ns), decimals)


def us(value_s: float | None, decimals: int = 0) -> Cell:
    """Return the cell of seconds, in microseconds."""
    return cells.number(None if value_s is None else value_s * 1e6, decimals)


def share(value: float | None, decimals: int = 0) -> Cell:
    """Return the cell of a share from 0 to 1, in per cent."""
    return cells.number(None if value is None else value * 100, decimals)


def plain_ms(found: Row) -> float | None:
    """Return a percentile's value in ms where it may be shown at all, else None."""
    return to_ms(found["ns"]) if cells.support(found["beyond"]) != "none" else None
