"""What the write-up behind the execution-models study says, checked on the numbers of this one."""

from typing import Any

from poollab.stats import neighbour_claims as neighbours
from poollab.stats import paired
from poollab.stats.claims import Verdict, ms, number, of_several, tally, verdict, word

Row = dict[str, Any]

THREADS, ASYNC, ASYNCPG, EXECUTOR = "psycopg-threads", "psycopg-async", "asyncpg", "psycopg-executor"
#: "Coincide" and "the same price" allow this much; the write-up's own rows differ by up to 6 %.
ALIKE = 0.10
#: A batch follows n x S1 / P when it takes at most this much longer; the write-up's took 13 to 20 % longer.
NEAR = 0.20
#: Up to this pool the write-up saw its clients coincide.
COINCIDE_TO = 16


def verdicts(found: Row, margin: float) -> list[Verdict]:
    """Return the verdicts on the statements for which something was measured."""
    return [
        *_ceiling(found["ceiling"]),
        *_end_of_gain(found["ceiling"]),
        *_sequence(found["sequence"], margin),
        *_executor(found["executor"]),
        *_waits(found["waits"]),
        *neighbours.neighbours(found["beside"], margin),
        *neighbours.zero_point(found["zero"], margin),
    ]


def headline(found: Row, made: list[Verdict]) -> str:
    """Return one sentence: the fastest and the slowest client on one pool, and how many statements hold."""
    tail, rows = tally(made), found["executor"]["rows"]
    if len(rows) < 2:
        return f"{tail[0].upper()}{tail[1:]}."
    ordered = sorted(rows, key=lambda r: float(r["took_mean_ns"]))
    fast, slow = ordered[0], ordered[-1]
    return (
        f"With a pool of {found['executor']['size']}, {fast['batch']} queries at once take {ms(fast['took_mean_ns'])} "
        f"with {fast['client']} and {ms(slow['took_mean_ns'])} with {slow['client']}, the fastest and the slowest of "
        f"{len(rows)} clients; {tail}."
    )


def _by_size(rows: list[Row]) -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(row["pool_size"], []).append(row)
    return dict(sorted(found.items()))


def _ceiling(rows: list[Row]) -> list[Verdict]:
    """The pool sets the ceiling: clients coincide, and the time follows n x S1 / P."""
    sizes = {size: mine for size, mine in _by_size(rows).items() if size <= COINCIDE_TO and len(mine) > 1}
    if not sizes:
        return []
    spread = {size: _spread(mine) for size, mine in sizes.items()}
    ratios = [row["ratio"] for mine in sizes.values() for row in mine if row["ratio"] is not None]
    shown = ", ".join(f"{value:.0%} at {size}" for size, value in spread.items())
    against = f"{min(ratios):.2f} to {max(ratios):.2f} times n x S1 / P" if ratios else "not compared, as S1 is missing"
    parts = [_alike(mine) for mine in sizes.values()] + [_follows(row) for mine in sizes.values() for row in mine]
    return [
        verdict(
            f"The pool sets the ceiling, not the execution model (pools up to {COINCIDE_TO})",
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


def _end_of_gain(rows: list[Row]) -> list[Verdict]:
    """At the largest pool the time stops dividing by the pool's size."""
    sizes = _by_size(rows)
    largest = max(sizes, default=0)
    mine = [row for row in sizes.get(largest, []) if row["ratio"] is not None]
    if largest <= COINCIDE_TO or not mine:
        return []
    shown = ", ".join(f"{row['client']} {row['ratio']:.2f}" for row in mine)
    ends = {True: False, False: True, None: None}
    return [
        verdict(
            f"At a pool of {largest} the time stops dividing by the pool",
            f"Time over n x S1 / P at {largest} connections: {shown}.",
            of_several([ends[_follows(row)] for row in mine], [row["runs"] for row in mine]),
        )
    ]


def _sequence(rows: list[Row], margin: float) -> list[Verdict]:
    """One operation after another costs more in async code, with the same driver."""
    found = []
    for workload in dict.fromkeys(row["workload"] for row in rows):
        mine = {row["client"]: row for row in rows if row["workload"] == workload}
        if THREADS not in mine or ASYNC not in mine:
            continue
        trip, whole = (
            paired.pair(mine[THREADS], mine[ASYNC], key, list(mine.values())) for key in ("trip_ns", "whole_ns")
        )
        shown = ", ".join(f"{c} {number(r['whole_mean_ns'] / 1e3, 1)}" for c, r in mine.items() if r["whole_mean_ns"])
        found.append(
            verdict(
                f"Async pays more per operation ({workload})",
                f"Mean of one operation with taking and giving back its connection, in microseconds: {shown}. {ASYNC} "
                f"against {THREADS}, run by run: {paired.said(whole)}, the round trip alone {paired.said(trip)}.",
                word([paired.slower(whole, margin), paired.slower(trip, margin)]),
            )
        )
    return found


def _executor(found: Row) -> list[Verdict]:
    """A synchronous driver in an executor costs what threads cost; the other clients are no part of that statement."""
    rows = {row["client"]: row for row in found["rows"]}
    if EXECUTOR not in rows or THREADS not in rows:
        return []
    two = [rows[THREADS], rows[EXECUTOR]]
    shown = ", ".join(f"{client} {number(row['relative'], 3)}" for client, row in rows.items())
    return [
        verdict(
            "A synchronous driver in an executor is neither slower nor faster than threads",
            f"Time of the batch on a pool of {found['size']}, relative to plain threads: {shown}. Alike means that "
            f"{EXECUTOR} and {THREADS} are within {ALIKE:.0%}.",
            of_several([_alike(two)], [row["runs"] for row in two]),
        )
    ]


def _waits(rows: list[Row]) -> list[Verdict]:
    """Many waits at once: less time and memory with coroutines, and tracemalloc hides most of the difference."""
    timed = {row["client"]: row for row in rows if not row["traced"]}
    traced = {row["client"]: row for row in rows if row["traced"]}
    found = []
    if THREADS in timed and ASYNC in timed:
        found.append(_cheaper(timed[THREADS], timed[ASYNC]))
    if THREADS in traced and ASYNC in traced:
        a, b = traced[THREADS], traced[ASYNC]
        found.append(_hidden((a, timed.get(THREADS, a)), (b, timed.get(ASYNC, b))))
    return found


def _cheaper(a: Row, b: Row) -> Verdict:
    """Compare many waits at once in threads and in coroutines."""
    each = [
        f"{name} {ms(row['prepare_ns'])} to be made ready, {ms(row['took_mean_ns'])} for the waits and "
        f"{_mib(row['added_rss_bytes'])} more resident memory"
        for name, row in (("threads", a), ("coroutines", b))
    ]
    asked = f"{a['wait_ms']:g} ms each: " if isinstance(a["wait_ms"], (int, float)) else ""
    return verdict(
        f"{a['batch']:,} waits at once are cheaper with coroutines",
        f"{asked}{'; '.join(each)}. Faster means that the slowest run is faster, with making ready, than the other's "
        "fastest.",
        of_several([_faster(b, a), _less(b["added_rss_bytes"], a["added_rss_bytes"])], [a["runs"], b["runs"]]),
    )


def _faster(one: Row, other: Row) -> bool | None:
    """Tell whether many waits take one less time than another, with making ready; None where their runs overlap."""
    if _less(one["whole_max_ns"], other["whole_min_ns"]):
        return True
    return False if _less(other["whole_max_ns"], one["whole_min_ns"]) else None


def _hidden(threads: tuple[Row, Row], coroutines: tuple[Row, Row]) -> Verdict:
    """Set Python's own count (the traced runs, first of each) beside resident memory (the plain runs, second)."""
    (a, plain_a), (b, plain_b) = threads, coroutines
    resident = _times(plain_a["added_rss_bytes"], plain_b["added_rss_bytes"])
    counted = _times(a["traced_peak_bytes"], b["traced_peak_bytes"])
    half = None if plain_a["added_rss_bytes"] is None else plain_a["added_rss_bytes"] / 2
    return verdict(
        "tracemalloc hides most of what threads cost",
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
