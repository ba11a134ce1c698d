"""Tables of the execution-models study: many waits, computing beside queries, and the moment to count from."""

from typing import Any

from poollab.report import cells, measures, words
from poollab.report.cells import Table, column
from poollab.report.tables import WEAK_NOTE
from poollab.report.words import MIB

Row = dict[str, Any]
RANKS = ("p50", "p95", "p99")


def name(row: Row) -> str:
    """Return how a client beside computing is called."""
    return f"{row['client']}, computing in processes" if row["compute_in"] == "processes" else str(row["client"])


def paired_waits(rows: list[Row]) -> list[Row]:
    """Return one entry for each client: its plain run, with Python's own count from the traced one."""
    clients = list(dict.fromkeys(row["client"] for row in rows))
    found = []
    for client in clients:
        plain = next((r for r in rows if r["client"] == client and not r["traced"]), None)
        traced = next((r for r in rows if r["client"] == client and r["traced"]), None)
        one = plain or traced or {}
        found.append(
            {
                **one,
                "timed": plain is not None,
                "traced_peak_bytes": traced["traced_peak_bytes"] if traced else None,
                "traced_took_ns": traced["took_mean_ns"] if traced else None,
            }
        )
    return found


def waits(rows: list[Row]) -> Table:
    """Return time, resident memory and Python's own count of many waits at once, side by side."""

    def row(entry: Row) -> Row:
        ends = {"low": entry["took_min_ns"] / 1e6, "high": entry["took_max_ns"] / 1e6}
        time = cells.number(entry["took_mean_ns"] / 1e6, 1, **ends) if entry["timed"] else cells.number(None)
        return cells.row(
            entry["client"],
            [
                time,
                cells.number(words.scale(entry["added_rss_bytes"], 1 / MIB), 1),
                cells.number(words.scale(entry["traced_peak_bytes"], 1 / MIB), 1, missing="not counted"),
                cells.number(words.to_ms(entry["prepare_ns"]), 1),
                cells.number(entry["threads"], missing="no threads"),
                cells.number(entry["runs"]),
            ],
        )

    batch, asked = max((r["batch"] for r in rows), default=0), next((r["wait_ms"] for r in rows), None)
    each = "" if asked is None else f" of {asked:g} ms" if not isinstance(asked, list) else ""
    return cells.table(
        "exec-waits",
        f"n = {batch:,} waits{each} at once, without a database",
        [
            column("client"),
            column("time", "ms"),
            column("resident memory added", "MiB"),
            column("by tracemalloc", "MiB"),
            column("made ready in", "ms"),
            column("threads"),
            column("runs ok"),
        ],
        [("", [row(entry) for entry in paired_waits(rows)])],
        [
            (
                "Time: from the moment at which all are due to the end of the last. Resident memory: its peak, less "
                "what there was before threads and requests were made. tracemalloc counts Python's own allocations in "
                "a run of its own."
            )
        ],
    )


def beside(rows: list[Row]) -> Table:
    """Return the times of requests beside computing, counted from the scheduled moment."""

    def row(entry: Row) -> Row:
        found = entry["zero"]["scheduled"]
        return cells.row(
            name(entry),
            [
                *(measures.percentile(found[rank]) for rank in RANKS),
                measures.ms(found["max_ns"]),
                cells.number(entry["requests"]),
                cells.text(", ".join(entry["statuses"])),
            ],
        )

    return cells.table(
        "exec-beside",
        "Requests beside computing, from the scheduled moment to their end, in ms, over the n requests of all runs",
        [
            column("client"),
            column("p50", "ms"),
            column("p95", "ms"),
            column("p99", "ms"),
            column("max", "ms"),
            column("n", "requests"),
            column("runs ended"),
        ],
        _by_workload(rows, row),
        [WEAK_NOTE],
    )


def zero(rows: list[Row]) -> Table:
    """Return the same rows counted from either moment, with the place of each client in both rankings by p95."""

    def row(entry: Row) -> Row:
        both = [entry["zero"][moment] for moment in ("scheduled", "started")]
        shown = [measures.percentile(found[rank]) for rank in ("p50", "p95") for found in both]
        most = [measures.ms(found["max_ns"]) for found in both]
        mine = [r for r in rows if r["workload"] == entry["workload"]]
        places = [
            cells.number(_place(entry, mine, moment), missing="too weak for a ranking")
            for moment in ("scheduled", "started")
        ]
        return cells.row(name(entry), [*shown, *most, *places])

    heads = [column(f"{what}, {moment}", "ms") for what in ("p50", "p95", "max") for moment in ("scheduled", "started")]
    return cells.table(
        "exec-zero",
        f"The same n = {sum(r['requests'] for r in rows):,} requests, counted from the scheduled and from the started "
        "moment",
        [column("client"), *heads, column("place by p95, scheduled"), column("place by p95, started")],
        _by_workload(rows, row),
        ["Place 1 is the fastest. What a client does between the two moments is wait for its own loop or thread."],
    )


def _place(entry: Row, rows: list[Row], moment: str) -> int | None:
    found = [r["zero"][moment]["p95"] for r in rows]
    if any(cells.support(p["beyond"]) != "plain" for p in found):
        return None
    return 1 + sum(int(p["ns"]) < int(entry["zero"][moment]["p95"]["ns"]) for p in found)


def _by_workload(rows: list[Row], row: Any) -> list[tuple[str, list[Row]]]:
    found: dict[str, list[Row]] = {}
    for entry in rows:
        found.setdefault(f"{entry['workload']}{_amount(entry['compute'])}", []).append(row(entry))
    return list(found.items())


def _amount(compute: Row) -> str:
    length = compute.get("ms")
    if length is None or isinstance(length, list):
        return ""
    at = compute.get("at")
    who = f"request {words.listed([str(n) for n in at])}" if at else "each request"
    return f": {who} computes for {length:g} ms"
