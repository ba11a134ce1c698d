"""Order, blocks, every run with its status, and what the teardown confirmed."""

from collections import Counter
from typing import Any

from poollab.report import cells, groups, words
from poollab.report.cells import Table, column
from poollab.report.load import Results

Row = dict[str, Any]

KINDS = {"shared_memory": "shared memory segment"}


def build(results: Results) -> Row:
    """Return what the section shows: sentences, tables, problems, and what the teardown confirmed."""
    planned: list[str] = results.environment["planned"]
    executed = [r["cell"] for r in results.runs]
    blocks: list[Row] = results.environment["blocks"]
    teardown = _teardown(results.cleanup, blocks)
    return {
        "count": len(blocks),
        "order": _order(planned, executed),
        "order_kept": executed == planned,
        "recreated": _recreated(blocks),
        "waiting": _waiting([*blocks, *(results.environment.get("fruitless") or [])]),
        "fruitless": results.environment.get("fruitless") or [],
        "attempts": len(results.environment.get("attempts") or []),
        "table": _table(blocks),
        "runs_table": _runs(results.runs),
        "statuses": _statuses(results.runs),
        "problems": [_problem(r) for r in results.runs if r["status"] != "ok"],
        "unmeasured": [cell for cell in planned if cell not in set(executed)],
        "teardown": teardown,
        "confirmed": all(entry["confirmed"] for entry in teardown),
    }


def _order(planned: list[str], executed: list[str]) -> str:
    """Compare the executed with the planned order, in one sentence."""
    if executed == planned:
        return f"The executed order equals the planned order: all {words.plural(len(planned), 'cell')}, one by one."
    done = set(executed)
    strange = [cell for cell in executed if cell not in set(planned)]
    missing = len([cell for cell in planned if cell not in done])
    lead = f"{len(executed)} of {words.plural(len(planned), 'planned cell')} were measured"
    foreign = f"; {words.listed(strange)} stand outside the plan" if strange else ""
    if [cell for cell in planned if cell in done] == [cell for cell in executed if cell not in strange]:
        return f"{lead}, {missing} not yet, and those that were kept the planned order{foreign}."
    at = next(i for i, pair in enumerate(zip(executed, planned, strict=False), 1) if pair[0] != pair[1])
    return (
        f"{lead}, and the executed order differs from the planned order, first at position {at}: {executed[at - 1]} "
        f"ran where {planned[at - 1]} was planned{foreign}."
    )


def _recreated(blocks: list[Row]) -> str:
    if len(blocks) < 2:
        return "All runs were made in one block: an unbroken stretch against one database instance."
    sums = {str(sorted((k, v["checksum"]) for k, v in (b.get("seed") or {}).items())) for b in blocks}
    same = "the same checksums of the data" if len(sums) == 1 else "DIFFERENT checksums of the data"
    return (
        f"The runs fall into {len(blocks)} blocks. For each the temporary database was created anew with the same "
        f"settings and the data seeded again; the blocks' records show {same}. This was no strictly continuous "
        "experiment."
    )


def _waiting(blocks: list[Row]) -> str:
    """Say what was waited for a calm host, apart from the study's own time, and whether a clock was stepped."""
    waited = sum(b.get("waited_s") or 0.0 for b in blocks)
    text = f"{waited:.0f} s were spent waiting for a calm host; they are in no run. " if waited >= 1 else ""
    stepped = [cell for b in blocks for cell in b.get("clock_stepped") or []]
    if stepped:
        text += f"The wall clock was stepped during {words.listed(stepped)}; intervals are monotonic and unaffected."
    return text


def _table(blocks: list[Row]) -> Table:
    rows = [
        cells.row(
            str(b["block"]),
            [
                cells.text(words.clock(b["started_at"])),
                cells.text(words.clock(b.get("ended_at"))),
                cells.number(len(b["cells"])),
                cells.text(b["ended"]),
            ],
        )
        for b in blocks
    ]
    columns = [
        column("block"),
        column("started", "UTC"),
        column("ended", "UTC"),
        column("cells"),
        column("why it ended"),
    ]
    return cells.table("blocks", f"{words.plural(len(blocks), 'block')} and why each ended", columns, [("", rows)])


def _runs(runs: list[Row]) -> Table:
    rows = []
    for entry in map(groups.run_entry, runs):
        p99 = {**entry["p99"], "run_min_ms": None, "run_max_ms": None, "run_beyond": None}
        status = entry["status"] if entry["ok"] else f"{entry['status']}: {entry['reasons'] or 'no reason recorded'}"
        numbers = [
            cells.number(entry["means_ms"]["overall"], 2),
            cells.percentile(p99, 2) | {"note": None},
            cells.number(entry["p99"]["beyond"]),
            cells.number(entry["achieved_per_s"], 2),
            cells.number(entry["first_lateness_p99_ms"], 3),
        ]
        head = f"{entry['position']}. {entry['cell']}"
        rows.append(
            cells.row(
                head, [cells.number(entry["block"]), *numbers, cells.text(status)], "" if entry["ok"] else "not ok"
            )
        )
    return cells.table(
        "runs",
        f"{words.plural(len(runs), 'run')} in the order of execution, none left out; times over the requests of a run "
        "that ended ok",
        [
            column("run"),
            column("block"),
            column("mean overall", "ms"),
            column("p99 overall", "ms"),
            column("beyond p99", "requests"),
            column("achieved", "per s"),
            column("lateness p99", "ms"),
            column("status and reasons"),
        ],
        [("", rows)],
        [
            (
                "Lateness is that of the first request of each arrival instant: our own, not the database's. \u25cb: "
                "weak, 1 to 9 requests beyond."
            )
        ],
    )


def _statuses(runs: list[Row]) -> str:
    counts = Counter(r["status"] for r in runs)
    ordered = sorted(counts, key=lambda s: (s != "ok", s))
    return ", ".join(f"{counts[s]} {s}" for s in ordered) or "no run"


def _problem(run: Row) -> Row:
    return {"cell": run["cell"], "status": run["status"], "reasons": run["reasons"] or "no reason recorded"}


def _teardown(cleanup: Row, blocks: list[Row]) -> list[Row]:
    """Return one entry a block; a block without a record is not confirmed."""
    records = {entry["block"]: entry for entry in cleanup.get("blocks") or []}
    numbers = [b["block"] for b in blocks] or sorted(records)
    return [_teardown_entry(number, records.get(number)) for number in numbers]


def _teardown_entry(number: int, record: Row | None) -> Row:
    if record is None:
        return {
            "block": number,
            "confirmed": False,
            "text": "no record of a teardown",
            "removed": "",
            "at": words.MISSING,
        }
    removed = [words.plural(n, KINDS.get(kind, kind)) for kind, n in record["removed"].items() if n]
    left = f"; STILL THERE: {words.listed(record['leftovers'])}" if record["leftovers"] else ""
    return {
        "block": number,
        "confirmed": bool(record["confirmed"]) and not record["leftovers"],
        "text": f"{record['sentence']}{left}",
        "removed": words.listed(removed) if removed else "nothing",
        "at": words.clock(record["at"]),
    }
