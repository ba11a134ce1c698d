"""What the write-up behind the tail-latency study concludes, checked on the numbers of this one."""

from itertools import pairwise
from typing import Any

from poollab.stats import compare, paired
from poollab.stats.claims import HOLDS, UNKNOWN, Verdict, ms, number, of_several, rank, tally, verdict, word
from poollab.stats.percentiles import plain_ns

Row = dict[str, Any]

#: "About linear" and "about C x S1 / P" allow what the write-up's own numbers need: 130 against 155 a connection.
ABOUT = 0.20
#: The monitor warns when the pool is more than 90 % in use for more than this share of the time.
WARNS = 0.01


def verdicts(rows: list[Row], reference: Row, machine: Row, margin: float) -> list[Verdict]:
    """Return the verdicts on conclusions 1 to 4, those that depend on the number of workers once for each."""
    counts = sorted({row["workers"] for row in rows if row["workers"] > 1})
    by_count = {count: [row for row in rows if row["workers"] == count] for count in counts}
    short = {c: [r for r in mine if r["pool_size"] < c] for c, mine in by_count.items()}
    enough = {c: [r for r in mine if r["pool_size"] >= c] for c, mine in by_count.items()}
    return [
        *(_bottleneck(c, mine, reference) for c, mine in short.items() if len(mine) > 1),
        *_steeper({c: mine for c, mine in short.items() if len(mine) > 1}),
        *(_nothing_more(c, mine, margin) for c, mine in enough.items() if len(mine) > 1),
        *(_right_value(c, mine, margin) for c, mine in by_count.items() if len(mine) > 1),
        *_bounds(rows, machine),
    ]


def headline(rows: list[Row], found: list[Verdict]) -> str:
    """Return one sentence: what the largest pool did at the largest number of workers, and how many verdicts hold."""
    if not rows:
        return "Nothing can be said: no condition of a closed loop has an ok run."
    most = max(row["workers"] for row in rows)
    mine = [row for row in rows if row["workers"] == most]
    first, last, tail = mine[0], mine[-1], tally(found)
    who = "1 worker" if most == 1 else f"{most} workers"
    if first is last:
        return f"Only one pool was measured with {who}; {tail}."
    known = plain_ns(first["p99"]) is not None and plain_ns(last["p99"]) is not None
    p99 = f" and p99 of wait + query {rank(first['p99'])} to {rank(last['p99'])}" if known else ""
    return (
        f"With {who}, from pool {first['pool_size']} to pool {last['pool_size']}: "
        f"{number(first['achieved_per_s'])} to {number(last['achieved_per_s'])} requests a second{p99}; {tail}."
    )


def _bottleneck(count: int, mine: list[Row], reference: Row) -> Verdict:
    """Conclusion 1: with more in flight than connections, rate goes with the pool and time with C x S1 / P."""
    first, last = mine[0], mine[-1]
    each = [row["achieved_per_s"] / row["pool_size"] for row in mine]
    linear = [rate >= (1 - ABOUT) * each[0] for rate in each]
    kept = [r["pool_size"] for r, fine in zip(mine, linear, strict=True) if fine]
    hold = reference["hold_ns"]
    times = [r["mean_ns"] / (count * hold / r["pool_size"]) for r in mine] if hold else []
    lower = _lower(last["p99"], first["p99"])
    about = None if not times else all(abs(t - 1) <= ABOUT for t in times)
    beyond = "" if all(linear) else f" Linear within {ABOUT:.0%} only up to pool {max(kept)}.{_cpu(last)}"
    against = f"{min(times):.2f} to {max(times):.2f} times C x S1 / P" if times else "not compared, as S1 is missing"
    return verdict(
        f"1. With more in flight than connections the pool is the bottleneck ({count} workers)",
        f"From pool {first['pool_size']} to {last['pool_size']} ({last['pool_size'] / first['pool_size']:.1f} times "
        f"the connections) the rate went from {number(first['achieved_per_s'])} to {number(last['achieved_per_s'])} a "
        f"second ({last['achieved_per_s'] / first['achieved_per_s']:.1f} times), p99 of wait + query from "
        f"{rank(first['p99'])} to {rank(last['p99'])}; the mean is {against}.{beyond}",
        of_several([all(linear), about, lower], _runs(mine)),
    )


def _lower(one: Row, other: Row) -> bool | None:
    """Tell whether a percentile is lower than another; None where support is weak or the runs of the two overlap."""
    if plain_ns(one) is None or plain_ns(other) is None:
        return None
    if one["run_max_ns"] < other["run_min_ns"]:
        return True
    return False if one["run_min_ns"] >= other["run_max_ns"] else None


def _cpu(row: Row) -> str:
    """Say how near the CPU's ceiling a condition was, where that is known."""
    ceiling = row["cpu_ceiling_per_s"]
    if ceiling is None:
        return ""
    return (
        f" At pool {row['pool_size']} the CPU that a request costs allows {number(ceiling)} a second, and "
        f"{number(row['achieved_per_s'])} were reached."
    )


def _runs(mine: list[Row]) -> list[int]:
    return [row["runs_ok"] for row in mine]


def _steeper(short: dict[int, list[Row]]) -> list[Verdict]:
    """Conclusion 1, its last sentence: the more workers, the more a small pool costs; on pools that all counts have."""
    sizes = [{row["pool_size"] for row in mine} for mine in short.values()]
    shared = sorted(set.intersection(*sizes)) if sizes else []
    if len(short) < 2 or len(shared) < 2:
        return []
    ends = {
        count: [next(row for row in mine if row["pool_size"] == size) for size in (shared[0], shared[-1])]
        for count, mine in short.items()
    }
    costs: dict[int, int | None] = {}
    for count, (small, large) in ends.items():
        first, last = plain_ns(small["p99"]), plain_ns(large["p99"])
        costs[count] = None if first is None or last is None else first - last
    rises = [None if a is None or b is None else b > a for a, b in pairwise(costs.values())]
    shown = ", ".join(f"{ms(cost)} with {count} workers" for count, cost in costs.items())
    return [
        verdict(
            "1. The bigger the burst, the steeper the cliff of a small pool",
            f"p99 of wait + query at pool {shared[0]} less that at pool {shared[-1]}, both too small: {shown}.",
            of_several(rises, [row["runs_ok"] for pair in ends.values() for row in pair]),
        )
    ]


def _nothing_more(count: int, mine: list[Row], margin: float) -> Verdict:
    """Conclusion 2: from as many connections as workers on, more change nothing."""
    found = [paired.pair(mine[0], row, key, mine) for row in mine[1:] for key in ("achieved_per_s", "mean_ns")]
    survives = compare.holm([pair.p for pair in found])
    words = [compare.word(pair, margin, survives=kept) for pair, kept in zip(found, survives, strict=True)]
    same = {compare.SAME: True, compare.UP: False, compare.DOWN: False}
    rates = ", ".join(f"{number(r['achieved_per_s'])} at {r['pool_size']}" for r in mine)
    means = ", ".join(f"{ms(r['mean_ns'])} at {r['pool_size']}" for r in mine)
    ratios = [f"{text} {paired.said(pair)}" for pair, text in zip(found, _names(mine[1:]), strict=True)]
    return verdict(
        f"2. From as many connections as requests in flight on, more do nothing ({count} workers)",
        f"Rate a second by pool: {rates}; mean wait + query: {means}. Against pool {mine[0]['pool_size']}, run by run: "
        f"{'; '.join(ratios)} (the same within {margin:.0%} when the whole interval lies inside it).",
        word(same.get(w) for w in words),
    )


def _names(others: list[Row]) -> list[str]:
    return [f"{what} at {row['pool_size']}" for row in others for what in ("rate", "mean")]


def _right_value(count: int, mine: list[Row], margin: float) -> Verdict:
    """Conclusion 3: the right size is about the peak in flight, and the 90 % monitor finds it."""
    best = max(row["achieved_per_s"] for row in mine)
    needed = next(row["pool_size"] for row in mine if row["achieved_per_s"] >= (1 - margin) * best)
    large = [row["pool_size"] for row in mine if row["pool_size"] >= count]
    right = large[0] if large else mine[-1]["pool_size"]
    warned = [row["pool_size"] for row in mine if row["nearly_full_share"] > WARNS]
    fits = warned == [row["pool_size"] for row in mine if row["pool_size"] < count]
    shares = ", ".join(f"{row['nearly_full_share']:.0%} at {row['pool_size']}" for row in mine)
    peak = max(row["peak_in_flight"] for row in mine)
    which = f"pool {right}, the first with that many" if large else f"more than the largest pool measured, {right}"
    # That the largest pool is the best of those that are all too small agrees with the statement and does not show it.
    sized = None if needed == right and not large else needed == right
    return verdict(
        f"3. The right size is about the peak in flight, and a 90 % monitor finds it ({count} workers)",
        f"At the peak {peak} requests were in flight, which asks for {which}; pool {needed} is the smallest within "
        f"{margin:.0%} of the best rate. More than 90 % of the pool was in use for this share of the time: {shares}.",
        of_several([sized, fits], _runs(mine)),
    )


def _bounds(rows: list[Row], machine: Row) -> list[Verdict]:
    """Conclusion 4: the server bounds the sum of connections, and real queries need its CPU."""
    if not rows:
        return []
    largest, limit = max(row["pool_size"] for row in rows), machine["max_connections"]
    text = (
        f"The server allows {limit} sessions in all (read back, not tried), and the largest pool alone takes {largest}."
        if limit is not None
        else "The server's limit was not read back."
    )
    busiest = max(rows, key=lambda r: (r["server_cpu_per_request_s"] or 0) * r["achieved_per_s"])
    cores = busiest["server_cpu_per_request_s"]
    used = number(None if cores is None else cores * busiest["achieved_per_s"], 2)
    return [
        verdict("4. The server's limit bounds all pools together", text, HOLDS if limit is not None else UNKNOWN),
        verdict(
            "4. A pool far above the database's cores can overload it",
            f"The statement of this study sleeps, so it cannot show this: at its busiest the server used {used} cores "
            f"of {number(machine['cpus'])}, for the work around the sleep. The study littles-law asks with a statement "
            "that computes.",
            UNKNOWN,
        ),
    ]
