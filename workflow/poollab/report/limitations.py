"""
Limitations that follow from what happened in this study.

Each rule looks at the context and returns its sentence, or None where it does not apply. A further
limitation is one more function in RULES.
"""

from collections.abc import Callable
from typing import Any

from poollab.report import words
from poollab.report.cells import ENOUGH_BEYOND

Context = dict[str, Any]

#: CPU cap in the write-up whose load is set beside that of this study.
SEED_CORES = 0.5

FEW_RUNS = 5
#: Memory is called larger from so many times on; less is the noise of sampling.
MEMORY_GROWN = 1.05
#: Words of arrivals that rise, or that are a share of what a closed loop reached: their rates do ask for a limit.
SEEKING = ("in steps", "rising from", "calibrated capacity")


def build(context: Context) -> list[dict[str, str]]:
    """Return [{id, text}] of the rules that apply, in the order of RULES; a kind has its own in its section."""
    found = ((rule.__name__.strip("_"), rule(context)) for rule in RULES)
    return [{"id": name.replace("_", "-"), "text": text} for name, text in found if text]


def _arms(context: Context) -> list[dict[str, Any]]:
    return [arm for group in context["groups"] for arm in group["arms"]]


def _uncapped_lab(context: Context) -> str | None:
    names = context["unenforced"]
    if not names:
        return None
    many = len(names) > 1
    return (
        f"The {'caps' if many else 'cap'} of the {words.listed(names)} {'were' if many else 'was'} not enforced: "
        f"{'they' if many else 'it'} could use the whole machine and the other side's share of it. The numbers cannot "
        "be set beside those of a lab in which both sides are capped."
    )


def _uncapped_by_design(context: Context) -> str | None:
    sides = [
        name
        for key, name in (("database", "database"), ("generator", "load generator"))
        if name not in context["unenforced"]
        and any(a["runs_ok"] and a[key]["cap_cores"] is None for a in _arms(context))
    ]
    if not sides:
        return None
    return (
        f"The study asks for no CPU cap on the {words.listed(sides)} in some or all conditions: there "
        f"{'they' if len(sides) > 1 else 'it'} could use whatever the machine had to spare, which differs from one "
        "machine and moment to another."
    )


def _shared_host(context: Context) -> str | None:
    if context["lab"]["kind"] == "external" or not any(a["runs_ok"] for a in _arms(context)):
        return None
    return (
        "Database and load generator ran on one machine and shared its caches, memory and kernel, whatever their caps; "
        "two machines with a network between them can behave otherwise."
    )


def _runs_not_ok(context: Context) -> str | None:
    problems = context["blocks"]["problems"]
    if not problems:
        return None
    names = words.listed([f"{p['cell']} ({p['status']})" for p in problems[:6]])
    more = f" and {len(problems) - 6} more" if len(problems) > 6 else ""
    elsewhere = context["special"].get("uses_not_ok")
    but = f" outside the section on {elsewhere}" if elsewhere else ""
    used = "is" if len(problems) == 1 else "are"
    return (
        f"{words.plural(len(problems), 'run')} did not end ok and {used} used for no mean, percentile or sentence"
        f"{but}: {names}{more}. Such runs are marked wherever they are shown; an overloaded one has no steady state "
        "that one average could describe."
    )


def _not_measured(context: Context) -> str | None:
    missing = context["blocks"]["unmeasured"]
    if not missing:
        return None
    return (
        f"{words.plural(len(missing), 'planned cell')} {'was' if len(missing) == 1 else 'were'} not measured, so "
        "conditions differ in how many runs stand behind them."
    )


def _few_runs(context: Context) -> str | None:
    repeats = min((arm["runs_ok"] for arm in _arms(context)), default=0)
    if repeats >= FEW_RUNS:
        return None
    if repeats < 2:
        return (
            "Some conditions rest on a single run (one repeat) or none: nothing is known of how much their runs would "
            "differ, so no difference there can be told from chance."
        )
    return (
        f"With {repeats} runs of a condition the smallest and largest run show some of the spread, and are no "
        "confidence interval; a small difference between pools is no ranking."
    )


def _weak_tail(context: Context) -> str | None:
    weak = [
        a
        for a in _arms(context)
        if a["percentiles"]["p99"]["ms"] is not None and (a["percentiles"]["p99"]["beyond"] or 0) < ENOUGH_BEYOND
    ]
    if not weak:
        return None
    return (
        f"In {words.plural(len(weak), 'condition')} fewer than {ENOUGH_BEYOND} requests lie beyond the pooled p99: it "
        "is weak there, or not shown, and says little about the slowest requests."
    )


def _several_blocks(context: Context) -> str | None:
    count = context["blocks"]["count"]
    if count < 2:
        return None
    return (
        f"The runs span {count} blocks with a new database instance in each, so this was not a strictly continuous "
        "experiment, which is a limit of every comparison across blocks."
    )


def _no_multiplier(context: Context) -> str | None:
    rated = [g for g in context["groups"] if g["rate_per_s"]]
    if len({g["sql"] for g in rated}) < 2 or len({g["rate_per_s"] for g in rated}) < 2:
        return None
    shown = words.listed([f"{g['label']} {words.number(g['rate_per_s'], 0)}" for g in rated])
    return (
        f"The statements were sent at different rates (per second: {shown}), so no multiplier between one statement "
        "and another can be formed."
    )


def _rate_is_no_capacity(context: Context) -> str | None:
    """Only where every rate is a plain number: loops, batches, rising loads and shares of a capacity look for one."""
    fixed = [g["rate_per_s"] and not any(word in g["arrivals"] for word in SEEKING) for g in context["groups"]]
    if not all(fixed) or not any(arm["runs_ok"] for arm in _arms(context)):
        return None
    return (
        "The rates were fixed in advance and never raised to find a limit: a rate that was kept is not a capacity, "
        "and the best number of connections for another load cannot be read from it."
    )


def _batch_size(context: Context) -> str | None:
    mine = [g for g in context["groups"] if g["batch"] > 1 and g["connections"]]
    if not mine:
        return None
    largest = max(g["batch"] for g in mine)
    enough = sorted({arm["pool_size"] for g in mine for arm in g["arms"] if arm["pool_size"] >= largest})
    together = (
        f" Pools of {words.listed([str(n) for n in enough])} can all serve such a batch at once." if enough else ""
    )
    return f"The largest batch held {largest} requests. It says nothing about larger batches.{together}"


def _memory_of_established(context: Context) -> str | None:
    grown = []
    for group in context["groups"]:
        small, large = group["arms"][0], group["arms"][-1]
        first, last = (a["database"]["memory_mean_bytes"] for a in (small, large))
        if first is None or last is None or small["pool_size"] == large["pool_size"]:
            continue
        if last > MEMORY_GROWN * first:
            grown.append((first, last, group))
    if not grown:
        return None
    first, last, group = max(grown, key=lambda entry: entry[1] - entry[0])
    return (
        f"The database's memory was larger with the larger pool (up to {words.number(first / words.MIB)} against "
        f"{words.number(last / words.MIB)} MiB, {group['label']}) where every connection had been established "
        "beforehand. It does not follow that merely configuring a limit costs the same."
    )


def _unused_connections(context: Context) -> str | None:
    idle = [
        a
        for a in _arms(context)
        if a["connections_used_max"] is not None and a["connections_used_max"] < a["connections"]
    ]
    if not idle:
        return None
    least = min(idle, key=lambda a: a["connections_used_max"] / a["connections"])
    return (
        f"In {words.plural(len(idle), 'condition')} some connections of the pool never carried a request (at the "
        f"extreme {least['connections_used_max']} of {least['connections']} did): there a larger pool was more open "
        "connections, not more work at once."
    )


def _small_and_warm(context: Context) -> str:
    # A request of several steps may write in a later one than the first, which alone stands under `sql`.
    later = [s.removeprefix("query ") for g in context["groups"] for s in g["request"] if s.startswith("query ")]
    stated = [group["sql"] for group in context["groups"] if group["connections"]]
    statements = [text.strip().lower() for text in (*stated, *later)]
    reads = bool(statements) and all(s.startswith("select") and " for update" not in s for s in statements)
    size = context["tables_bytes"]
    small = f"a small data set ({words.number(size / words.MIB, 1)} MiB with indexes)" if size else "one data set"
    place = {
        "external": "through whatever lay between client and server",
    }.get(context["lab"]["kind"], "from the same machine over a Unix socket, without a network")
    what = "The load was read-only, " if reads else "The load ran "
    return (
        f"{what}on {small} that was warmed up before, {place}. Trends with {'writes, ' if reads else ''}lock "
        "contention, disk reads or a remote database cannot be taken from it."
    )


def _throttling_is_no_time(context: Context) -> str | None:
    ratios = [a["database"]["throttle_ratio"] for a in _arms(context) if a["database"]["throttle_ratio"] is not None]
    if not ratios:
        return None
    return (
        f"The database was throttled in {words.span(min(ratios) * 100, max(ratios) * 100, 1)} % of the counted "
        "periods. That is neither a share of elapsed time nor of waiting, and an individual request's delay cannot "
        "be read from it."
    )


def _no_control(context: Context) -> str | None:
    caps = [a["database"]["cap_cores"] for a in _arms(context) if a["runs_ok"]]
    if context["uncapped"] or not caps or any(cap is None for cap in caps):
        return None
    return (
        "No control without the CPU quota was run, so nothing here attributes time to the quota; it is a clue to "
        "look into, no more."
    )


def _round_trip_is_whole(_context: Context) -> str | None:
    return (
        "The query round trip is measured at the client: work and waiting in the server and the client's own "
        "handling cannot be told apart in it."
    )


def _load_on_this_machine(context: Context) -> str | None:
    shares = []
    for group in context["groups"]:
        values = [a["database"]["cpu_of_cap"] for a in group["arms"] if a["database"]["cpu_of_cap"] is not None]
        if values:
            shares.append(f"{group['label']} {words.span(min(values) * 100, max(values) * 100, 0)} %")
    if not shares:
        return None
    seed = any(
        group["workload"] == "heavy-bursts" and any(a["database"]["cap_cores"] == SEED_CORES for a in group["arms"])
        for group in context["groups"]
    )
    beside = (
        " In the write-up that asked this question first (on a Raspberry Pi 5, a small computer with slow cores), "
        "heavy-bursts used 49\u201353 % of the same cap: the same statement can be another load on another machine."
        if seed
        else ""
    )
    return (
        "How heavy the load is depends on the machine. Here the database used of its CPU cap: "
        f"{words.listed(shares)}.{beside}"
    )


RULES: tuple[Callable[[Context], str | None], ...] = (
    _uncapped_lab,
    _uncapped_by_design,
    _runs_not_ok,
    _not_measured,
    _few_runs,
    _weak_tail,
    _several_blocks,
    _load_on_this_machine,
    _rate_is_no_capacity,
    _no_multiplier,
    _batch_size,
    _round_trip_is_whole,
    _shared_host,
    _throttling_is_no_time,
    _no_control,
    _memory_of_established,
    _unused_connections,
    _small_and_warm,
)
