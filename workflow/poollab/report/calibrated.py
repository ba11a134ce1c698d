"""What calibration found before the first cell, as rows of the environment table."""

from typing import Any

from poollab.report import cells, words

Row = dict[str, Any]


def rows(environment: Row) -> list[Row]:
    """Return a row for each thing that was found: capacities of workloads and calibrated arguments."""
    return [
        _capacity(one) if one["kind"] == "capacity" else _argument(one) for one in environment.get("calibration", [])
    ]


def _capacity(found: Row) -> Row:
    arm = f"{found['workers']} workers on {words.plural(found['connections'], 'connection')} of {found['arm']}"
    got = f"{words.number(found['capacity_per_s'], 0)} requests/s, by {arm} for {found['seconds']:g} s"
    busy = f" (that run: {found['status']})" if found["status"] != "ok" else ""
    return cells.row(f"capacity for {found['workload']}", [cells.text("to be found"), cells.text(got + busy)], "")


def _argument(found: Row) -> Row:
    got = f"{found['value']:,}, which costs {found['cpu_ms']:.2f} ms"
    asked = f"{found['asked_ms']:g} ms of database CPU for one execution"
    return cells.row(f"{found['argument']} of {found['workload']}", [cells.text(asked), cells.text(got)], "")
