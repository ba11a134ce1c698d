"""Tables of the execution-models study: many waits, computing beside queries, and the moment to count from."""

from collections import Counter
from typing import Any

from poollab.report import cells, measures, words
from poollab.report.cells import Table, column
from poollab.report.tables import WEAK_NOTE
from poollab.report.words import MIB
from poollab.stats import clients

Row = dict[str, Any]
RANKS = ("p50", "p95", "p99")


def name(row: Row) -> str:
    """Return how a row beside computing is called."""
    return f"{row['label']}, computing in processes" if row["compute_in"] == "processes" else str(row["label"])


def count(rows: list[Row]) -> str:
    """Return how many requests a batch has, or the fewest and the most where batches differ."""
    sizes = [int(row["batch"]) for row in rows]
    return words.span(min(sizes, default=0), max(sizes, default=0))


def lines(rows: list[Row]) -> dict[str, list[Row]]:
    """Return the batches of each client, pools from the smallest; by workload too where there are several."""
    several = len(clients.by_workload(rows)) > 1
    found: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda r: (r["workload"], r["client"], r["pool_size"], r["arm"])):
        found.setdefault(f"{row['client']}, {row['workload']}" if several else row["client"], []).append(row)
    return found


def pool(row: Row) -> str:
    """Return how a row of a client is called: its pool, with the arm where two have pools of that size."""
    return str(row["pool_size"]) if row["label"] == row["client"] else f"{row['pool_size']} ({row['label']})"


def took(row: Row) -> cells.Cell:
    """Return the mean time of a batch in ms, with its smallest and largest run."""
    low, high = words.to_ms(row["took_min_ns"]), words.to_ms(row["took_max_ns"])
    return cells.number(words.to_ms(row["took_mean_ns"]), 1, low=low, high=high)


def paired_waits(rows: list[Row]) -> list[Row]:
    """
    Return one entry for each condition of plain waits, with Python's own count from the traced waits of the same arm.

    Traced waits that belong to no plain ones have entries of their own, without a time.
    """
    plain, traced = ([row for row in rows if row["traced"] is kind] for kind in (False, True))
    partner = {id(row): next((t for t in traced if _alike(row, t)), None) for row in plain}
    taken = {id(t) for t in partner.values() if t is not None}
    alone = [t for t in traced if id(t) not in taken]
    entries = [_entry(row, partner[id(row)], timed=True) for row in plain]
    entries += [_entry(row, row, timed=False) for row in alone]
    often = Counter(entry["label"] for entry in entries)
    return [e if often[e["label"]] == 1 else {**e, "label": f"{e['arm']}, {e['workload']}"} for e in entries]


def _alike(row: Row, other: Row) -> bool:
    return all(row[key] == other[key] for key in ("arm", "batch", "wait_ms"))


def _entry(row: Row, traced: Row | None, *, timed: bool) -> Row:
    return {**row, "timed": timed, "traced_peak_bytes": traced["traced_peak_bytes"] if traced else None}


def waits(rows: list[Row], notes: list[str]) -> Table:
    """Return time, resident memory and Python's own count of many waits at once, side by side."""

    def row(entry: Row) -> Row:
        time = took(entry) if entry["timed"] else cells.number(None)
        return cells.row(
            entry["label"],
            [
                time,
                cells.number(words.scale(entry["added_rss_bytes"], 1 / MIB), 1),
                cells.number(words.scale(entry["traced_peak_bytes"], 1 / MIB), 1, missing="not counted"),
                cells.number(words.to_ms(entry["prepare_ns"]), 1),
                cells.number(entry["threads"], missing="no threads"),
                cells.number(entry["runs"]),
            ],
        )

    return cells.table(
        "exec-waits",
        f"n = {count(rows)} waits{_each(rows)} at once, without a database",
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
            ),
            *notes,
        ],
    )


def _each(rows: list[Row]) -> str:
    """Return how long a wait is, where all have one length; the shortest and the longest where they do not."""
    lengths = [row["wait_ms"] for row in rows]
    if not lengths or any(length is None or isinstance(length, list) for length in lengths):
        return ""
    low, high = min(lengths), max(lengths)
    return f" of {low:g} ms" if low == high else f" of {low:g} to {high:g} ms"


def beside(rows: list[Row], notes: list[str]) -> Table:
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
        [WEAK_NOTE, *notes],
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
