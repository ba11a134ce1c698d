"""What the write-up behind the tail-latency study concludes, checked on the numbers of this one."""

from itertools import pairwise
from typing import Any

from poollab.stats import compare, loops, paired
from poollab.stats.claims import ARITHMETIC, UNKNOWN, Verdict, ms, number, of_several, rank, tally, verdict, word
from poollab.stats.percentiles import plain_ns

Row = dict[str, Any]

#: "About linear" and "about C x S1 / P" allow what the write-up's own numbers need: 130 against 155 a connection.
ABOUT = 0.20
#: The monitor warns when the pool is more than 90 % in use for more than this share of the time.
WARNS = 0.01


def verdicts(rows: list[Row], machine: Row, margin: float) -> list[Verdict]:
    """Return the verdicts on conclusions 1 to 4, those that depend on the number of workers once for each loop."""
    found = loops.by_label([row for row in rows if row["workers"] > 1])
    short = {label: [row for row in mine if _too_small(row)] for label, mine in found.items()}
    enough = {label: [row for row in mine if row["pool_size"] >= row["workers"]] for label, mine in found.items()}
    return [
        *(_bottleneck(label, mine) for label, mine in short.items() if len(mine) > 1),
        *(_cannot_size(label, mine) for label, mine in found.items() if _unsized(mine)),
        *_steeper({label: mine for label, mine in short.items() if len(mine) > 1}),
        *(_nothing_more(label, mine, margin) for label, mine in enough.items() if len(mine) > 1),
        *(_right_value(label, mine, margin) for label, mine in found.items() if len(mine) > 1),
        *_bounds(rows, machine),
    ]


def _too_small(row: Row) -> bool:
    """Tell whether the pool bounds the loop; with think time that takes fewer connections than there are workers."""
    needed: float | None = row["needed"]
    return needed is not None and int(row["pool_size"]) < needed


def _unsized(mine: list[Row]) -> bool:
    """Tell whether several pools may be too small, and it is not known which."""
    return len([row for row in mine if row["pool_size"] < row["workers"] and row["needed"] is None]) > 1


def headline(rows: list[Row], found: list[Verdict]) -> str:
    """Return one sentence: what the largest pool did at the largest number of workers, and how many verdicts hold."""
    if not rows:
        return "Nothing can be said: no condition of a closed loop has an ok run."
    who = rows[-1]["label"]
    mine = [row for row in rows if row["label"] == who]
    first, last, tail = mine[0], mine[-1], tally(found)
    if first is last:
        return f"Only one pool was measured with {who}; {tail}."
    known = plain_ns(first["p99"]) is not None and plain_ns(last["p99"]) is not None
    p99 = f" and p99 of wait + query {rank(first['p99'])} to {rank(last['p99'])}" if known else ""
    return (
        f"With {who}, from pool {first['pool_size']} to pool {last['pool_size']}: "
        f"{number(first['achieved_per_s'])} to {number(last['achieved_per_s'])} requests a second{p99}; {tail}."
    )


def _bottleneck(label: str, mine: list[Row]) -> Verdict:
    """Conclusion 1: with more in flight than connections, rate goes with the pool and time with C x S1 / P - Z."""
    first, last = mine[0], mine[-1]
    each = [row["achieved_per_s"] / row["pool_size"] for row in mine]
    linear = [rate >= (1 - ABOUT) * each[0] for rate in each]
    kept = [r["pool_size"] for r, fine in zip(mine, linear, strict=True) if fine]
    times = [r["mean_ns"] / _expected_ns(r) for r in mine] if first["s1_ns"] else []
    lower = _lower(last["p99"], first["p99"])
    about = None if not times else all(abs(t - 1) <= ABOUT for t in times)
    beyond = "" if all(linear) else f" Linear within {ABOUT:.0%} only up to pool {max(kept)}.{_cpu(last)}"
    law = "C x S1 / P - Z" if first["think_ns"] else "C x S1 / P"
    against = f"{min(times):.2f} to {max(times):.2f} times {law}" if times else "not compared, as S1 is missing"
    return verdict(
        f"1. With more in flight than connections the pool is the bottleneck ({label})",
        f"From pool {first['pool_size']} to {last['pool_size']} ({last['pool_size'] / first['pool_size']:.1f} times "
        f"the connections) the rate went from {number(first['achieved_per_s'])} to {number(last['achieved_per_s'])} a "
        f"second ({last['achieved_per_s'] / first['achieved_per_s']:.1f} times), p99 of wait + query from "
        f"{rank(first['p99'])} to {rank(last['p99'])}; the mean is {against}.{beyond}",
        of_several([all(linear), about, lower], _runs(mine)),
    )


def _expected_ns(row: Row) -> float:
    """Return the mean time of a loop that its pool bounds: workers over the rate, less what they think."""
    return float(row["workers"] * row["s1_ns"] / row["pool_size"] - row["think_ns"])


def _cannot_size(label: str, mine: list[Row]) -> Verdict:
    """Say that conclusion 1 cannot be judged where it is not known which pools are too small."""
    why = (
        "as S1 is missing and workers think between requests"
        if all(row["whole"] for row in mine)
        else "as part of a request holds no connection"
    )
    return verdict(
        f"1. With more in flight than connections the pool is the bottleneck ({label})",
        f"Which pools are too small for this loop is not known, {why}.",
        UNKNOWN,
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


def _steeper(short: dict[str, list[Row]]) -> list[Verdict]:
    """Conclusion 1, its last sentence: the more workers, the more a small pool costs; loops that differ in nothing."""
    families: dict[tuple[str, float], dict[int, list[list[Row]]]] = {}
    for mine in short.values():
        counts = families.setdefault((mine[0]["client"], mine[0]["think_ns"]), {})
        counts.setdefault(mine[0]["workers"], []).append(mine)
    # Two loops of as many workers differ in what they ask, and then the number of workers is not what is compared.
    alike = {key: counts for key, counts in families.items() if all(len(each) == 1 for each in counts.values())}
    return [
        made
        for key, counts in alike.items()
        for made in _steeper_of(_which(key, families), {count: counts[count][0] for count in sorted(counts)})
    ]


def _which(key: tuple[str, float], families: dict[tuple[str, float], Any]) -> str:
    client, think_ns = key
    return f" ({client}, {think_ns / 1e6:g} ms think time)" if len(families) > 1 else ""


def _steeper_of(which: str, short: dict[int, list[Row]]) -> list[Verdict]:
    """Compare the cost of a small pool over numbers of workers, on pools that all of them have."""
    shared = sorted(set.intersection(*({row["pool_size"] for row in mine} for mine in short.values())))
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
            f"1. The bigger the burst, the steeper the cliff of a small pool{which}",
            f"p99 of wait + query at pool {shared[0]} less that at pool {shared[-1]}, both too small: {shown}.",
            of_several(rises, [row["runs_ok"] for pair in ends.values() for row in pair]),
        )
    ]


def _nothing_more(label: str, mine: list[Row], margin: float) -> Verdict:
    """Conclusion 2: from as many connections as workers on, more change nothing."""
    found = [paired.pair(mine[0], row, key, mine) for row in mine[1:] for key in ("achieved_per_s", "mean_ns")]
    survives = compare.holm([pair.p for pair in found])
    words = [compare.word(pair, margin, survives=kept) for pair, kept in zip(found, survives, strict=True)]
    same = {compare.SAME: True, compare.UP: False, compare.DOWN: False}
    rates = ", ".join(f"{number(r['achieved_per_s'])} at {r['name']}" for r in mine)
    means = ", ".join(f"{ms(r['mean_ns'])} at {r['name']}" for r in mine)
    ratios = [f"{text} {paired.said(pair)}" for pair, text in zip(found, _names(mine[1:]), strict=True)]
    return verdict(
        f"2. From as many connections as requests in flight on, more do nothing ({label})",
        f"Rate a second by pool: {rates}; mean wait + query: {means}. Against pool {mine[0]['name']}, run by run: "
        f"{'; '.join(ratios)} (the same within {margin:.0%} when the whole interval lies inside it).",
        word(same.get(w) for w in words),
    )


def _names(others: list[Row]) -> list[str]:
    return [f"{what} at {row['name']}" for row in others for what in ("rate", "mean")]


def _right_value(label: str, mine: list[Row], margin: float) -> Verdict:
    """Conclusion 3: the right size is about the peak in flight, and the 90 % monitor finds it."""
    count = mine[0]["workers"]
    best = max(row["achieved_per_s"] for row in mine)
    needed = next(row["pool_size"] for row in mine if row["achieved_per_s"] >= (1 - margin) * best)
    large = [row["pool_size"] for row in mine if row["pool_size"] >= count]
    right = large[0] if large else mine[-1]["pool_size"]
    warned = [row["name"] for row in mine if row["nearly_full_share"] > WARNS]
    fits: bool | None = warned == [row["name"] for row in mine if row["pool_size"] < count]
    shares = ", ".join(f"{row['nearly_full_share']:.0%} at {row['name']}" for row in mine)
    peak = max(row["peak_in_flight"] for row in mine)
    which = f"pool {right}, the first with that many" if large else f"more than the largest pool measured, {right}"
    # That the largest pool is the best of those that are all too small agrees with the statement and does not show it.
    sized: bool | None = None if needed == right and not large else needed == right
    asks = f"which asks for {which}"
    if not _always_in_flight(mine):
        # How many are in flight then depends on the pool itself, so no size can be taken from it beforehand.
        sized, fits, asks = None, None, f"though not all {count} workers always ask, so that no size follows from it"
    return verdict(
        f"3. The right size is about the peak in flight, and a 90 % monitor finds it ({label})",
        f"At the peak {peak} requests were in flight, {asks}; pool {needed} is the smallest within "
        f"{margin:.0%} of the best rate. More than 90 % of the pool was in use for this share of the time: {shares}.",
        of_several([sized, fits], _runs(mine)),
    )


def _always_in_flight(mine: list[Row]) -> bool:
    """Tell whether every worker has a request in flight at all times: no think time, and nothing beside the pool."""
    return all(row["whole"] and not row["think_ns"] for row in mine)


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
    cost = busiest["server_cpu_per_request_s"]
    used = number(None if cost is None else cost * busiest["achieved_per_s"], 2)
    return [
        verdict("4. The server's limit bounds all pools together", text, UNKNOWN if limit is None else ARITHMETIC),
        verdict(
            "4. A pool far above the database's cores can overload it",
            f"The statement of this study sleeps, so it cannot show this: at its busiest the server used {used} cores "
            f"of {number(busiest['server_cores'], 2)}, for the work around the sleep. The study littles-law asks with "
            "a statement that computes.",
            UNKNOWN,
        ),
    ]
