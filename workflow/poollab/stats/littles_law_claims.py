"""What the write-up behind the Little's-law study says, checked on the numbers of this one."""

from typing import Any

from poollab.stats.claims import ARITHMETIC, UNKNOWN, Verdict, ms, number, of_several, rank, tally, verdict, within
from poollab.stats.percentiles import plain_ns

Row = dict[str, Any]

#: Rates and percentiles that differ by less than this are the same; CPU of the same work scatters more.
SAME, SAME_CPU = 0.05, 0.10
#: The hold time of many connections "grew more" when its growth is this much above that of few.
MORE = 1.25
#: A pool so busy on average is in the range that the write-up warns of.
BUSY = (0.70, 0.80)
#: Sessions that are not for applications: PostgreSQL's own reserve for superusers.
RESERVED = 3
#: "Some requests wait" from this share on.
SOME = 0.01


def verdicts(arms: list[Row], others: list[Row], machine: Row) -> list[Verdict]:
    """Return the verdicts that compare the arm with the fewest and that with the most connections."""
    if len(arms) < 2:
        return _busy_pools(arms) if arms else []
    few, many = arms[0], arms[-1]
    return [
        _enough(few, many),
        _hold_grows(few, many),
        _back_and_forth(few, many),
        *_busy_pools(arms),
        *_multiply(many, machine),
        *_longer_hold(others, few),
    ]


def headline(arms: list[Row], found: list[Verdict]) -> str:
    """Return one sentence: rate, busy connections predicted and measured, and what the few connections reached."""
    if not arms:
        return "Nothing can be said: no arm has a run with steps that counts."
    few, many = arms[0], arms[-1]
    last = few["steps"][-1]
    other = "" if few is many else f", {number(many['steps'][-1]['achieved_per_s'])} with {many['connections']}"
    return (
        f"At {number(last['offered_per_s'])} requests a second, {number(last['planned_busy'], 1)} busy connections are "
        f"predicted from the hold time at low load and {number(last['measured_busy'], 1)} were measured; "
        f"{number(last['achieved_per_s'])} a second were reached with {few['connections']} connections{other}; "
        f"{tally(found)}."
    )


def _enough(few: Row, many: Row) -> Verdict:
    """Statement 1: the few connections reach the same rate and the same CPU, as Little's law predicts."""
    a, b = few["steps"][-1], many["steps"][-1]
    rate = _same_runs(a["achieved_runs_per_s"], b["achieved_runs_per_s"])
    cpu = within(a["database_cores"], b["database_cores"], SAME_CPU)
    # Achieved x hold can never be more than the connections that there are, so it could not refute the statement.
    predicted = None if a["planned_busy"] is None else a["planned_busy"] <= few["connections"]
    return verdict(
        f"1. The {few['connections']} connections are enough",
        f"At the last step ({number(a['offered_per_s'])} a second offered) {number(a['achieved_per_s'])} a second were "
        f"reached with {few['connections']} connections and {number(b['achieved_per_s'])} with {many['connections']}; "
        f"the database used {number(a['database_cores'], 2)} and {number(b['database_cores'], 2)} cores. The offered "
        f"rate x the hold time at step 1 gives {number(a['planned_busy'], 2)} busy connections of "
        f"{few['connections']}; on average {number(a['measured_busy'], 2)} were. Alike means within {SAME:.0%} for "
        f"the rate of every run and within {SAME_CPU:.0%} for the CPU.",
        of_several([rate, cpu, predicted], _runs(few, many)),
    )


def _same_runs(few: list[float], many: list[float]) -> bool | None:
    """Tell whether the rates of all runs are the same; None where only some are."""
    found = [within(one, other, SAME) for one in few for other in many]
    return True if all(found) else None if any(found) else False


def _runs(*arms: Row) -> list[int]:
    return [arm["runs"] for arm in arms]


def _hold_grows(few: Row, many: Row) -> Verdict:
    """Statement 2: with many connections the hold time grows with load; with few requests wait in the pool."""
    a, b = few["steps"][-1], many["steps"][-1]
    grown = None
    if a["hold_growth"] is not None and b["hold_growth"] is not None:
        grown = b["hold_growth"] >= MORE * a["hold_growth"]
    waits = None if None in (a["wait_mean_ns"], b["wait_mean_ns"]) else a["wait_mean_ns"] > b["wait_mean_ns"]
    where = [_queues(a["queue"], "in the pool"), _queues(b["queue"], "in the database")]
    texts = [
        f"with {arm['connections']} the mean hold went from {ms(arm['steps'][0]['hold_mean_ns'])} to "
        f"{ms(step['hold_mean_ns'])} ({number(step['hold_growth'], 2)} times) and the mean wait ended at "
        f"{ms(step['wait_mean_ns'])}"
        for arm, step in ((few, a), (many, b))
    ]
    return verdict(
        "2. With more connections queries wait in the database, with fewer in the pool",
        f"From the first to the last step, {'; '.join(texts)}. The queue at the last step: {a['queue']} with "
        f"{few['connections']}, {b['queue']} with {many['connections']}.",
        of_several([grown, waits, *where], _runs(few, many)),
    )


def _queues(found: str, where: str) -> bool | None:
    """Tell whether requests wait (also) there, by the word for a step's queue."""
    return None if found == "not known" else found in (where, "in both")


def _back_and_forth(few: Row, many: Row) -> Verdict:
    """Statement 3: neither pool has the lower p99 at all steps."""
    found: dict[str, list[int]] = {"lower": [], "higher": [], "undecided": []}
    for a, b in zip(few["steps"], many["steps"], strict=False):
        found[compared(a["overall_p99"], b["overall_p99"])].append(a["step"])
    shown = [
        f"{text} at {_steps(found[key])}"
        for key, text in (
            ("lower", f"lower with {few['connections']} connections"),
            ("higher", f"higher with {few['connections']}"),
            ("undecided", "not told apart"),
        )
        if found[key]
    ]
    a, b = few["steps"][-1]["overall_p99"], many["steps"][-1]["overall_p99"]
    return verdict(
        "3. End to end, p99 goes back and forth between the two",
        f"p99 of the overall time is {'; '.join(shown)}. A step is decided when the values differ by more than "
        f"{SAME:.0%}, no run of one lies within the runs of the other, and at least 10 requests lie beyond (1 in each "
        f"run). At the last step: {rank(a)} against {rank(b)}. One way at more than half of the steps and never the "
        "other is no back and forth.",
        of_several([_goes_both_ways(found)], _runs(few, many)),
    )


def _goes_both_ways(found: dict[str, list[int]]) -> bool | None:
    """Judge statement 3 from the steps at which the fewer connections are lower, higher, or cannot be told apart."""
    lower, higher, open_ = (len(found[key]) for key in ("lower", "higher", "undecided"))
    if lower and higher:
        return True
    return False if lower + higher > open_ else None


def compared(a: Row, b: Row) -> str:
    """Say whether a percentile is lower or higher than another, or undecided under the rule of statement 3."""
    one, other = plain_ns(a), plain_ns(b)
    supported = a["run_beyond"] and b["run_beyond"]
    if one is None or other is None or not supported or abs(one - other) <= SAME * other:
        return "undecided"
    if one < other:
        return "lower" if a["run_max_ns"] < b["run_min_ns"] else "undecided"
    return "higher" if a["run_min_ns"] > b["run_max_ns"] else "undecided"


def _steps(numbers: list[int]) -> str:
    return f"step{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"


def _busy_pools(arms: list[Row]) -> list[Verdict]:
    """The method's remark: a pool that is 70 to 80 % busy already makes some requests wait."""
    low, high = BUSY
    subject = "A pool 70 to 80 % busy makes some requests wait"
    near = [(arm, s) for arm in arms for s in arm["steps"] if low <= s["utilisation"] <= high]
    if not near:
        most = max((s["utilisation"] for arm in arms for s in arm["steps"] if s["kept"]), default=None)
        kept = "no step kept its rate" if most is None else f"the busiest that kept its rate was {most:.0%} busy"
        return [verdict(subject, f"At no step was a pool {low:.0%} to {high:.0%} busy; {kept}.", UNKNOWN)]
    shown = "; ".join(
        f"{s['utilisation']:.0%} busy with {arm['connections']} connections at step {s['step']}: "
        f"{number(100 * s['waited_share'], 1)} % found all of their pool taken, mean wait {ms(s['wait_mean_ns'])}"
        for arm, s in near
    )
    some = [s["waited_share"] >= SOME for _, s in near]
    return [verdict(subject, f"{shown}.", of_several(some, [arm["runs"] for arm, _ in near]))]


def _longer_hold(others: list[Row], few: Row) -> list[Verdict]:
    """A request that keeps its connection longer at the same rate makes others wait for one."""
    mine = [
        r for r in others if r["arm"] == few["arm"] and r["hold_mean_ns"] is not None and r["wait_mean_ns"] is not None
    ]
    mine.sort(key=lambda row: float(row["hold_mean_ns"]))
    if len(mine) < 2:
        return []
    short, long = mine[0], mine[-1]
    texts = [
        f"with a mean hold of {ms(row['hold_mean_ns'])} the mean wait is {ms(row['wait_mean_ns'])} and "
        f"{number(row['achieved_per_s'], 1)} of {number(row['offered_per_s'], 1)} a second are completed"
        for row in (short, long)
    ]
    return [
        verdict(
            "A longer hold turns a small pool into a bottleneck",
            f"On {few['connections']} connections, {'; '.join(texts)}. A bottleneck means that the mean wait grows by "
            "more than the shorter hold.",
            of_several(
                [long["wait_mean_ns"] - short["wait_mean_ns"] > short["hold_mean_ns"]], [short["runs"], long["runs"]]
            ),
        )
    ]


def _multiply(many: Row, machine: Row) -> list[Verdict]:
    """Pools multiply: 20 instances with the larger pool against the server's limit; nothing of it was tried."""
    limit = machine["max_connections"]
    if limit is None:
        return []
    together, free = 20 * 20, limit - RESERVED
    return [
        verdict(
            "Pools multiply: 20 instances with a pool of 20 are more than the server takes",
            f"20 x 20 is {together}, {'more' if together > free else 'not more'} than the {free} sessions that the "
            f"server leaves to applications: {limit} in all (read back, not tried) less {RESERVED} kept back for "
            f"superusers, so each of 20 instances may have {free // 20}. The larger pools here: {many['processes']} x "
            f"{many['pool_size']}.",
            ARITHMETIC,
        )
    ]
