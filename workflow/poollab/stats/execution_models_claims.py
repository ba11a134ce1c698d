"""What the write-up behind the execution-models study says, checked on the numbers of this one."""

from typing import Any

from poollab.stats import clients, paired
from poollab.stats import neighbour_claims as neighbours
from poollab.stats.claims import Verdict, ms, number, of_several, tally, verdict, word
from poollab.stats.clients import Pair

Row = dict[str, Any]

THREADS, ASYNC, EXECUTOR = "psycopg-threads", "psycopg-async", "psycopg-executor"
#: "Coincide" and "the same price" allow this much; the write-up's own rows differ by up to 6 %.
ALIKE = 0.10
#: A batch follows n x S1 / P when it takes at most this much longer; the write-up's took 13 to 20 % longer.
NEAR = 0.20
#: Up to this pool the write-up saw its clients coincide.
COINCIDE_TO = 16


def verdicts(found: Row, margin: float) -> list[Verdict]:
    """Return the verdicts on the statements for which something was measured."""
    batches = clients.by_workload(found["ceiling"])
    which = {workload: _named(workload if len(batches) > 1 else "") for workload in batches}
    return [
        *(v for workload, rows in batches.items() for v in _ceiling(rows, which[workload])),
        *(v for workload, rows in batches.items() for v in _end_of_gain(rows, which[workload])),
        *_sequence(found["sequence"], margin),
        *_executor(found["executor"]),
        *_waits(found["waits"]),
        *neighbours.neighbours(found["beside"], margin),
        *neighbours.zero_point(found["zero"], margin),
    ]


def headline(found: Row, made: list[Verdict]) -> str:
    """Return one sentence: the fastest and the slowest arm on one pool, and how many statements hold."""
    tail, batches = tally(made), clients.by_workload(found["executor"]["rows"])
    workload = next(iter(batches), "")
    rows = batches.get(workload, [])
    if len(rows) < 2:
        return f"{tail[0].upper()}{tail[1:]}."
    ordered = sorted(rows, key=lambda r: float(r["took_mean_ns"]))
    fast, slow = ordered[0], ordered[-1]
    what = "clients" if len({row["client"] for row in rows}) == len(rows) else "arms"
    of = f" of {workload}" if len(batches) > 1 else ""
    return (
        f"With a pool of {found['executor']['size']}, {fast['batch']} queries{of} at once take "
        f"{ms(fast['took_mean_ns'])} with {fast['label']} and {ms(slow['took_mean_ns'])} with {slow['label']}, the "
        f"fastest and the slowest of {len(rows)} {what}; {tail}."
    )


def _by_size(rows: list[Row]) -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(row["pool_size"], []).append(row)
    return dict(sorted(found.items()))


def _ceiling(rows: list[Row], which: str) -> list[Verdict]:
    """The pool sets the ceiling: clients coincide, and the time follows n x S1 / P."""
    sizes = {
        size: mine
        for size, mine in _by_size(rows).items()
        if size <= COINCIDE_TO and len({row["client"] for row in mine}) > 1
    }
    if not sizes:
        return []
    spread = {size: _spread(mine) for size, mine in sizes.items()}
    ratios = [row["ratio"] for mine in sizes.values() for row in mine if row["ratio"] is not None]
    shown = ", ".join(f"{value:.0%} at {size}" for size, value in spread.items())
    against = f"{min(ratios):.2f} to {max(ratios):.2f} times n x S1 / P" if ratios else "not compared, as S1 is missing"
    parts = [_alike(mine) for mine in sizes.values()] + [_follows(row) for mine in sizes.values() for row in mine]
    return [
        verdict(
            f"The pool sets the ceiling, not the execution model (pools up to {COINCIDE_TO}){which}",
            f"Between the slowest and the fastest client the time of the same batch differs by {shown}; it is "
            f"{against}. Alike means within {ALIKE:.0%}, and following the pool at most {NEAR:.0%} longer than n x S1 "
            "/ P; where runs of one client scatter as much, it cannot be told.",
            of_several(parts, [row["runs"] for mine in sizes.values() for row in mine]),
        )
    ]


def _spread(rows: list[Row]) -> float:
    times = [float(row["took_mean_ns"]) for row in rows]
    return max(times) / min(times) - 1


def _alike(rows: list[Row]) -> bool | None:
    """Tell whether the slowest takes as long as the fastest; None where means are apart and runs are not."""
    if _spread(rows) <= ALIKE:
        return True
    slow, fast = (choose(rows, key=lambda r: float(r["took_mean_ns"])) for choose in (max, min))
    return False if slow["took_min_ns"] > fast["took_max_ns"] else None


def _follows(row: Row) -> bool | None:
    """Tell whether a batch follows the pool; None without S1, or where its runs lie on both sides of the bound."""
    if row["theory_ns"] is None:
        return None
    if row["took_max_ns"] <= (1 + NEAR) * row["theory_ns"]:
        return True
    return False if row["took_min_ns"] > (1 + NEAR) * row["theory_ns"] else None


def _end_of_gain(rows: list[Row], which: str) -> list[Verdict]:
    """At the largest pool the time stops dividing by the pool's size."""
    sizes = _by_size(rows)
    largest = max(sizes, default=0)
    mine = [row for row in sizes.get(largest, []) if row["ratio"] is not None]
    if largest <= COINCIDE_TO or not mine:
        return []
    shown = ", ".join(f"{row['label']} {row['ratio']:.2f}" for row in mine)
    ends = {True: False, False: True, None: None}
    return [
        verdict(
            f"At a pool of {largest} the time stops dividing by the pool{which}",
            f"Time over n x S1 / P at {largest} connections: {shown}.",
            of_several([ends[_follows(row)] for row in mine], [row["runs"] for row in mine]),
        )
    ]


def _named(*names: str) -> str:
    """Return what tells a statement from others of its kind, in parentheses; nothing where there are no others."""
    known = [name for name in names if name]
    return f" ({', '.join(known)})" if known else ""


def _pairs(rows: list[Row], one: str, other: str) -> list[tuple[Pair, str]]:
    """Return the pairs of two clients' rows, each with what names its arms where there are several."""
    ones, others = ([row for row in rows if row["client"] == client] for client in (one, other))
    found = clients.pairs(ones, others)
    return [(pair, clients.which(pair, found)) for pair in found]


def _sequence(rows: list[Row], margin: float) -> list[Verdict]:
    """One operation after another costs more in async code, with the same driver."""
    found = []
    for workload, mine in clients.by_workload(rows).items():
        shown = ", ".join(f"{r['label']} {number(r['whole_mean_ns'] / 1e3, 1)}" for r in mine if r["whole_mean_ns"])
        for (threads, loop), which in _pairs(mine, THREADS, ASYNC):
            trip, whole = (paired.pair(threads, loop, key, mine) for key in ("trip_ns", "whole_ns"))
            found.append(
                verdict(
                    f"Async pays more per operation{_named(workload, which)}",
                    "Mean of one operation with taking and giving back its connection, from asking for it on, in "
                    f"microseconds: {shown}. {loop['label']} against {threads['label']}, run by run: "
                    f"{paired.said(whole)}, the round trip alone {paired.said(trip)}.",
                    word([paired.slower(whole, margin), paired.slower(trip, margin)]),
                )
            )
    return found


def _executor(found: Row) -> list[Verdict]:
    """A synchronous driver in an executor costs what threads cost; the other clients are no part of that statement."""
    made = []
    batches = clients.by_workload(found["rows"])
    for workload, rows in batches.items():
        shown = ", ".join(f"{row['label']} {number(row['relative'], 3)}" for row in rows)
        for (threads, executor), which in _pairs(rows, THREADS, EXECUTOR):
            subject = "A synchronous driver in an executor is neither slower nor faster than threads"
            made.append(
                verdict(
                    f"{subject}{_named(workload if len(batches) > 1 else '', which)}",
                    f"Time of the batch on a pool of {found['size']}, relative to plain threads: {shown}. Alike means "
                    f"that {executor['label']} and {threads['label']} are within {ALIKE:.0%}.",
                    of_several([_alike([threads, executor])], [threads["runs"], executor["runs"]]),
                )
            )
    return made


def _waits(rows: list[Row]) -> list[Verdict]:
    """Many waits at once: less time and memory with coroutines, and tracemalloc hides most of the difference."""
    plain, traced = (clients.by_workload([row for row in rows if row["traced"] is kind]) for kind in (False, True))
    found = []
    for workload, mine in plain.items():
        name = workload if len(plain) > 1 else ""
        found += [_cheaper(pair, _named(name, which)) for pair, which in _pairs(mine, THREADS, ASYNC)]
    for workload, mine in traced.items():
        name = workload if len(traced) > 1 else ""
        found += [
            _hidden((a, _plain(a, rows)), (b, _plain(b, rows)), _named(name, which))
            for (a, b), which in _pairs(mine, THREADS, ASYNC)
        ]
    return found


def _plain(row: Row, rows: list[Row]) -> Row:
    """Return the untraced waits of the same kind and arm, or the traced ones where there are no others."""
    same = ("arm", "batch", "wait_ms")
    return next((r for r in rows if not r["traced"] and all(r[key] == row[key] for key in same)), row)


def _cheaper(pair: Pair, which: str) -> Verdict:
    """Compare many waits at once in threads and in coroutines."""
    a, b = pair
    each = [
        f"{name} {ms(row['prepare_ns'])} to be made ready, {ms(row['took_mean_ns'])} for the waits and "
        f"{_mib(row['added_rss_bytes'])} more resident memory"
        for name, row in (("threads", a), ("coroutines", b))
    ]
    asked = f"{a['wait_ms']:g} ms each: " if isinstance(a["wait_ms"], (int, float)) else ""
    return verdict(
        f"{a['batch']:,} waits at once are cheaper with coroutines{which}",
        f"{asked}{'; '.join(each)}. Faster means that the slowest run is faster, with making ready, than the other's "
        "fastest.",
        of_several([_faster(b, a), _less(b["added_rss_bytes"], a["added_rss_bytes"])], [a["runs"], b["runs"]]),
    )


def _faster(one: Row, other: Row) -> bool | None:
    """Tell whether many waits take one less time than another, with making ready; None where their runs overlap."""
    if _less(one["whole_max_ns"], other["whole_min_ns"]):
        return True
    return False if _less(other["whole_max_ns"], one["whole_min_ns"]) else None


def _hidden(threads: Pair, coroutines: Pair, which: str) -> Verdict:
    """Set Python's own count (the traced runs, first of each) beside resident memory (the plain runs, second)."""
    (a, plain_a), (b, plain_b) = threads, coroutines
    resident = _times(plain_a["added_rss_bytes"], plain_b["added_rss_bytes"])
    counted = _times(a["traced_peak_bytes"], b["traced_peak_bytes"])
    half = None if plain_a["added_rss_bytes"] is None else plain_a["added_rss_bytes"] / 2
    return verdict(
        f"tracemalloc hides most of what threads cost{which}",
        f"Python's own count says {_mib(a['traced_peak_bytes'])} for threads and {_mib(b['traced_peak_bytes'])} for "
        f"coroutines ({number(counted, 1)} times as much); resident memory grew by {_mib(plain_a['added_rss_bytes'])} "
        f"and {_mib(plain_b['added_rss_bytes'])} ({number(resident, 1)} times as much). Most is hidden when the count "
        "is less than half of the threads' resident memory, and the ratio smaller.",
        of_several([_less(counted, resident), _less(a["traced_peak_bytes"], half)], [a["runs"], b["runs"]]),
    )


def _mib(value: float | None) -> str:
    return "not known" if value is None else f"{value / 2**20:,.1f} MiB"


def _less(value: float | None, other: float | None) -> bool | None:
    return None if value is None or other is None else value < other


def _times(value: float | None, other: float | None) -> float | None:
    return value / other if value is not None and other is not None and other > 0 else None
