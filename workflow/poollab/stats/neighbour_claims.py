"""What the write-up says of computing beside queries and of the moment to count from, checked on this study."""

from collections.abc import Callable
from itertools import permutations
from typing import Any

from poollab.stats import clients, compare, paired
from poollab.stats.claims import Verdict, ms, of_several, rank, verdict, word
from poollab.stats.percentiles import plain_ns

Row = dict[str, Any]

THREADS, ASYNC = "psycopg-threads", "psycopg-async"


def neighbours(rows: list[Row], margin: float) -> list[Verdict]:
    """Computing beside queries: threads suffer no less than coroutines, and processes are the cure."""
    found = []
    for workload, mine in clients.by_workload(rows).items():
        pairs = clients.pairs(_rows(mine, ASYNC, "caller"), _rows(mine, THREADS, "caller"))
        for pair in pairs:
            names = ", ".join([workload, *([clients.which(pair, pairs)] if len(pairs) > 1 else [])])
            subject = f"Threads suffer no less than coroutines ({names})"
            found.append(_compare(subject, pair, paired.no_faster, mine, margin))
        for client in (THREADS, ASYNC):
            pairs = clients.pairs(_rows(mine, client, "processes"), _rows(mine, client, "caller"))
            for pair in pairs:
                names = ", ".join([workload, clients.which(pair, pairs) or client])
                subject = f"Moving the computing into processes is the cure ({names})"
                found.append(_compare(subject, pair, paired.slower, mine, margin))
    return found


def _rows(rows: list[Row], client: str, compute_in: str) -> list[Row]:
    return [row for row in rows if (row["client"], row["compute_in"]) == (client, compute_in)]


def _compare(
    subject: str,
    two: tuple[Row, Row],
    judge: Callable[[compare.Paired, float], bool | None],
    among: list[Row],
    margin: float,
) -> Verdict:
    one, other = two
    pairs = {q: paired.pair(one, other, f"p{q}_ns", among) for q in (50, 95)}
    a, b = one["zero"]["scheduled"], other["zero"]["scheduled"]
    shown = ", ".join(f"p{q} {rank(a[f'p{q}'])} and {rank(b[f'p{q}'])}" for q in (50, 95))
    ratios = ", ".join(f"p{q} {paired.said(pair)}" for q, pair in pairs.items())
    return verdict(
        subject,
        f"{_name(one)} and {_name(other)}, from the scheduled moment: {shown}; largest {ms(a['max_ns'])} and "
        f"{ms(b['max_ns'])} (single requests, in no verdict). The second against the first, run by run: {ratios}; p95 "
        "decides.",
        word([judge(pairs[95], margin)]),
    )


def _name(row: Row) -> str:
    return f"{row['label']}{' with processes' if row['compute_in'] == 'processes' else ''}"


def zero_point(rows: list[Row], margin: float) -> list[Verdict]:
    """Which client looks better depends on the moment from which the same requests are counted."""
    found = []
    for workload in dict.fromkeys(row["workload"] for row in rows):
        mine = [row for row in rows if row["workload"] == workload]
        if len(mine) < 2:
            continue
        turned = _turned(mine, margin)
        orders = "; ".join(f"from the {m} moment {_order(mine, m)}" for m in ("scheduled", "started"))
        found.append(
            verdict(
                f"Counting from the started moment turns the ranking around ({workload})",
                f"p95 of the same requests, fastest first: {orders}. {_said(turned, margin)}",
                of_several([_known(mine, turned)], [row["runs"] for row in mine]),
            )
        )
    return found


def _turned(rows: list[Row], margin: float) -> dict[str, bool]:
    """Return each pair and percentile whose order turns around, and whether no run contradicts that."""
    alike = [pair for pair in permutations(rows, 2) if pair[0]["compute_in"] == pair[1]["compute_in"]]
    return {
        f"p{q} of {_name(one)} and {_name(other)}": _apart(one, other, q)
        for one, other in alike
        for q in (50, 95)
        if _flips(one, other, q, margin)
    }


def _known(rows: list[Row], turned: dict[str, bool]) -> bool | None:
    """Judge the statement: pooled values turn it, and runs that overlap or weak percentiles leave it open."""
    if any(turned.values()):
        return True
    weak = any(plain_ns(row["zero"][m]["p95"]) is None for row in rows for m in ("scheduled", "started"))
    return None if turned or weak else False


def _said(turned: dict[str, bool], margin: float) -> str:
    clear, unsure = ([text for text, sure in turned.items() if sure is kind] for kind in (True, False))
    parts = [
        *([f"Turned around: {'; '.join(clear)}."] if clear else []),
        *([f"Turned around in the pooled values only, as runs overlap: {'; '.join(unsure)}."] if unsure else []),
    ]
    return " ".join(parts) or f"No two clients change places by more than {margin:.0%}."


def _order(rows: list[Row], moment: str) -> str:
    def value(row: Row) -> float:
        return float(plain_ns(row["zero"][moment]["p95"]) or 0)

    ordered = sorted(rows, key=value)
    return ", ".join(f"{_name(row)} {rank(row['zero'][moment]['p95'])}" for row in ordered)


def _flips(one: Row, other: Row, q: int, margin: float) -> bool:
    """Tell whether `one` is clearly faster from the scheduled moment and clearly slower from the started one."""
    a, b = ([plain_ns(row["zero"][m][f"p{q}"]) for m in ("scheduled", "started")] for row in (one, other))
    if a[0] is None or a[1] is None or b[0] is None or b[1] is None:
        return False
    return a[0] * (1 + margin) < b[0] and b[1] * (1 + margin) < a[1]


def _apart(one: Row, other: Row, q: int) -> bool:
    """Tell whether every run of one is below those of the other where it is the faster, and above where it is not."""
    a, b = (row["zero"] for row in (one, other))
    before = a["scheduled"][f"p{q}"]["run_max_ns"] < b["scheduled"][f"p{q}"]["run_min_ns"]
    after = b["started"][f"p{q}"]["run_max_ns"] < a["started"][f"p{q}"]["run_min_ns"]
    return bool(before and after)
