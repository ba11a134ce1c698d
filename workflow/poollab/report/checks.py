"""The load and the stamps checked against themselves: what each run was sent, Little's law, server against client."""

from typing import Any

from poollab.report import cells, words
from poollab.report.cells import Table, column
from poollab.report.load import Results

Row = dict[str, Any]

#: A mean number of requests below this is the rounding of sums.
ROUNDING = 1e-6


def build(results: Results) -> Row:
    """Return {sentences, faults, table}: what was found over all runs, each fault with its run, and run by run."""
    loads = {row["cell"]: row for row in results.analysis.get("stimulus") or []}
    laws = {row["cell"]: row for row in results.analysis.get("littles") or []}
    return {
        "sentences": [text for text in (_load(loads), _law(laws), _server(laws)) if text],
        "faults": [{"cell": cell, "text": fault} for cell, row in loads.items() for fault in row.get("faults") or []],
        "table": _table(results.runs, loads, laws),
    }


def _load(loads: dict[str, Row]) -> str:
    """Say whether what was sent is what the study asks for."""
    if not loads:
        return ""
    faulty = sum(bool(row.get("faults")) for row in loads.values())
    sent, scheduled = (sum(row.get(key) or 0 for row in loads.values()) for key in ("delivered", "scheduled"))
    lead = (
        f"Of {scheduled:,} scheduled requests {sent:,} were sent, by the raw rows of {words.plural(len(loads), 'run')}"
    )
    if faulty:
        return f"{lead}; in {words.plural(faulty, 'run')} the load is not what the study asks for:"
    tested = [row["ks_p"] for row in loads.values() if row.get("ks_p") is not None]
    drawn = f", nor the gaps of random arrivals from exponential ones (smallest p {min(tested):.2g})" if tested else ""
    return f"{lead}; in none of them do counts or gaps differ from what the study asks for{drawn}."


def _law(laws: dict[str, Row]) -> str:
    found = [row["whole"] for row in laws.values() if row.get("whole")]
    if not found:
        return ""
    mismatch = max(abs(law["mismatch"]) for law in found)
    edge = max(abs(law["edge"]) for law in found)
    how = "exactly" if mismatch < ROUNDING else f"up to at most {mismatch:.2g} requests"
    inside = f" (at most {edge:.2g} on average)" if edge >= ROUNDING else ", and there were none"
    return (
        f"Little's law (mean number inside = rate x mean time) holds in every run {how}, but for requests that were "
        f"still inside when the window ended{inside}. All three come from the same stamps, so this checks the stamps "
        "and not the server."
    )


def _server(laws: dict[str, Row]) -> str:
    ratios = [100 * row["server_of_client"] for row in laws.values() if row.get("server_of_client") is not None]
    if not ratios:
        return ""
    return (
        "By the server's own clock its sessions were executing for "
        f"{words.span(min(ratios), max(ratios), 0)} % of the time that clients spent in query round trips. The server "
        "reports that time up to a second late, so this is a check of size and not a measurement."
    )


def _table(runs: list[Row], loads: dict[str, Row], laws: dict[str, Row]) -> Table:
    return cells.table(
        "checks",
        f"The load and the stamps of {words.plural(len(runs), 'run')}, checked against themselves",
        [
            column("run"),
            column("asked for", "requests"),
            column("scheduled", "requests"),
            column("sent", "requests"),
            column("sent early", "requests"),
            column("lateness, first quarter", "ms"),
            column("lateness, last quarter", "ms"),
            column("inside, mean", "requests"),
            column("rate x time", "requests"),
            column("mismatch", "requests"),
            column("server of client time", "%"),
        ],
        [("", [_row(run["cell"], loads.get(run["cell"], {}), laws.get(run["cell"], {})) for run in runs])],
        ["Asked for: what the study file alone fixes; a dash where the number is drawn or follows from the answers."],
    )


def _row(cell: str, load: Row, law: Row) -> Row:
    whole = law.get("whole") or {}
    late = [words.to_ms(load.get(f"lateness_{part}_quarter_mean_ns")) for part in ("first", "last")]
    return cells.row(
        cell,
        [
            cells.number(load.get("planned"), missing="not fixed by the study file"),
            *(cells.number(load.get(key)) for key in ("scheduled", "delivered", "early")),
            *(cells.number(value, 3) for value in late),
            *(cells.number(whole.get(key), 4) for key in ("inside", "product")),
            cells.number(whole.get("mismatch"), 6),
            cells.number(words.scale(law.get("server_of_client"), 100), 0, missing="the server counts no such time"),
        ],
    )
