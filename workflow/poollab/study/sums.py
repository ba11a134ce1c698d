"""The checks that need more than one part of a study: each returns sentences, so that all are said at once."""

import re
from typing import TYPE_CHECKING

from poollab.study import arms
from poollab.study.requests import Query, Workload

if TYPE_CHECKING:
    from poollab.study.model import Study

#: Slots that stay free for others: PostgreSQL's own reserve for superusers and our one session that seeds and proves.
SUPERUSER_SLOTS = 3
OWN_SESSIONS = 1
DEFAULT_CONNECTIONS = 100
LEAST_CONNECTIONS = SUPERUSER_SLOTS + OWN_SESSIONS + 1
MOST_CONNECTIONS = 262_143

#: Analyses that compare arms, workers or steps, and have one S1 or one capacity for all of them.
ONE_LEVEL = ("tail-latency", "littles-law", "execution-models")

#: More requests in one cell than this would not fit the promise of objects made before the clock starts.
MAX_REQUESTS = 2_000_000


def arm_faults(study: "Study") -> list[str]:
    """Check that the arms are named once, in one way, with settings that their clients know."""
    if (study.pools is None) == (study.arms is None):
        return [
            "pools: give either pools (sizes) or arms (labelled pools); "
            + ("got neither" if study.pools is None else "got both")
        ]
    if study.pools is not None and len(set(study.pools)) != len(study.pools):
        return [f"pools = {study.pools}: a size stands twice; name two equal pools as arms with labels of their own"]
    return [
        line
        for label, arm in (study.arms or {}).items()
        for line in arms.faults(f"arms.{label}", arm, arm.client or study.client)
    ]


def limit_faults(study: "Study") -> list[str]:
    """Check the caps of every level as they are in force: a level may take its cores from one side's own cap."""
    sides = ("database", "load_generator")
    return [
        f"limits.{label}.{side}: with what it takes from {side}.limits, {cap.fault}; raise cpus or period_ms"
        for label, caps in study.limit_map.items()
        for side, cap in zip(sides, caps, strict=True)
        if cap.fault
    ]


def level_faults(study: "Study") -> list[str]:
    """Check that an analysis which compares nothing across levels of limits is not given several."""
    levels = list(study.limits or {})
    if study.analysis not in ONE_LEVEL or len(levels) < 2:
        return []
    return [
        (
            f"limits: has {len(levels)} levels ({', '.join(levels)}), and analysis = {study.analysis} takes one: "
            "it would set conditions with different caps side by side as if they were alike; keep one level here and "
            "make a study of its own for each other one, or choose analysis: pool-size"
        )
    ]


def spare_faults(study: "Study") -> list[str]:
    """Check that a spare repeat has something to be decided on: two runs that are measured in any case."""
    if not study.spare_repeats or study.repeats - study.spare_repeats >= 2:
        return []
    fault = f"spare_repeats = {study.spare_repeats}: of {study.repeats} repeats at least 2 must be measured in any case"
    return [f"{fault}; raise repeats to {study.spare_repeats + 2} or lower spare_repeats"]


def arms_met(study: "Study") -> list[str]:
    """Check that `only` and calibration name arms of the study, and that every arm is met."""
    known, found = list(study.arm_map), []
    for name in study.workloads:
        strangers = [label for label in study.workload(name).only or [] if label not in known]
        if strangers and study.workloads[name].only is not None:
            found.append(
                f"workloads.{name}.only: there is no arm {', '.join(strangers)}; name some of: {', '.join(known)}"
            )
    if study.calibration.arm is not None and study.calibration.arm not in known:
        names = ", ".join(known)
        found.append(f"calibration.arm = {study.calibration.arm}: there is no such arm; name one of: {names}")
    found += [
        f"calibration.arm = {study.calibration.arm}: workloads.{name} takes its rate from it, and meets "
        f"{', '.join(met)}; "
        "name one of these, or leave the key out"
        for name in study.workloads
        if _needs_capacity(study, name) and study.calibration.arm in known
        for met in [study.met_by(name)]
        if study.calibration.arm not in met
    ]
    met = {label for name in study.workloads for label in study.workload(name).only or known}
    unmet = [label for label in known if label not in met]
    if unmet and not found:
        found.append(f"arms.{unmet[0]}: no workload meets it (each has `only`); remove it or name it there")
    return found or [line for name in study.workloads for line in _too_few_threads(study, name)]


def _needs_capacity(study: "Study", name: str) -> bool:
    arrivals = study.workload(name).arrivals
    return arrivals is not None and arrivals.needs_capacity


def _too_few_threads(study: "Study", name: str) -> list[str]:
    arrivals = study.workload(name).arrivals
    closed = arrivals.closed if arrivals is not None else None
    return [
        f"arms.{label}.threads = {arm.threads}: {arm.processes * arm.threads} threads in all, and the loop of "
        f"workloads.{name} has {closed.workers} workers; use at least {-(-closed.workers // arm.processes)} threads, "
        f"or name other arms in workloads.{name}.only"
        for label, arm in ((label, study.arm_map[label]) for label in study.met_by(name))
        if closed is not None and arm.threads is not None and arm.processes * arm.threads < closed.workers
    ]


def workload_faults(study: "Study") -> list[str]:
    """Check every workload with what it takes from another."""
    return [fault for name in study.workloads for fault in _workload(study, name)]


def _workload(study: "Study", name: str) -> list[str]:
    own, at = study.workloads[name], f"workloads.{name}"
    if own.same is not None and (own.same not in study.workloads or study.workloads[own.same].same is not None):
        others = ", ".join(n for n, w in study.workloads.items() if n != name and w.same is None) or "none here"
        if own.same == name:
            return [f"{at}.same = {name}: a workload cannot stand for itself; remove the key or name one of: {others}"]
        return [f"{at}.same = {own.same}: must name a workload that has no `same` of its own; allowed: {others}"]
    if own.benchmark is not None:
        return _beside_benchmark(at, own)
    full, found = study.workload(name), []
    if not full.steps:
        found.append(f"{at}.sql: is missing; give the statement, a request, or same: <another workload>")
    if full.arrivals is None:
        found.append(f"{at}.arrivals: is missing; add it: one schedule (config/README.md describes it)")
    if full.request is not None and (full.sql is not None or full.args is not None):
        found.append(f"{at}.request: stands beside sql or args; put the statement into a step `query:` of the request")
    if found:
        return found
    changed = own.same is None or any(part is not None for part in (own.sql, own.args, own.request))
    return [*(_statement_faults(at, full) if changed else []), *_schedule_faults(study, name), *_never(study, name)]


def _beside_benchmark(at: str, own: Workload) -> list[str]:
    """A row says everything by itself."""
    given = [key for key in type(own).model_fields if key != "benchmark" and getattr(own, key) is not None]
    return [f"{at}.{key}: stands beside benchmark, which takes its place; remove it" for key in given]


def _statement_faults(at: str, full: Workload) -> list[str]:
    if full.request is None:
        return [fault for step in full.steps for fault in _argument_faults(at, step.query)]
    found = [f for i, step in enumerate(full.steps) for f in _argument_faults(f"{at}.request[{i}].query", step.query)]
    drawn = [step.query for step in full.steps if step.query is not None]
    if any(step.hold is not None for step in full.steps) and not drawn:
        found.append(f"{at}.request: holds a connection and sends nothing on it; add a query, or use wait")
    return found


def _argument_faults(at: str, query: Query | None) -> list[str]:
    if query is None:
        return []
    used = {int(n) for n in re.findall(r"\$(\d+)", query.sql)}
    given, found = len(query.args), []
    if used != set(range(1, given + 1)):
        want = ", ".join(f"${n}" for n in sorted(used)) or "no placeholder"
        found.append(f"{at}.args: {given} given, and the statement uses {want}; give one for each, numbered from $1")
    if sum(arg.calibrated is not None for arg in query.args) > 1:
        found.append(f"{at}.args: more than one is calibrated, and many pairs would cost the same; calibrate one")
    return found


def _schedule_faults(study: "Study", name: str) -> list[str]:
    arrivals, window_s = study.workload(name).arrivals, study.windows_of(name).measure_s
    at, found = f"workloads.{name}.arrivals", []
    if arrivals is None:
        return []
    if arrivals.steps is not None:
        total = sum(step.for_s for step in arrivals.steps)
        if abs(total - window_s) > 1e-6:
            found.append(
                f"{at}.steps: the for_s add up to {total:g} s, and the window measures {window_s:g} s; "
                f"make them equal (measure_s: {total:g})"
            )
    if arrivals.needs_capacity:
        return found
    way = "lower max_per_s" if arrivals.closed is not None else "lower the rate"
    for key, requests in (
        ("measure_s", study.expected_requests(name)),
        ("warm_up_s", arrivals.most_in_warm_up(study.windows_of(name).warm_up_s)),
    ):
        if requests > MAX_REQUESTS:
            where = "cell" if key == "measure_s" else "warm-up"
            found.append(
                f"{at}: {requests:.0f} requests in one {where}; at most {MAX_REQUESTS}; {way} or windows.{key}"
            )
    return found


def _never(study: "Study", name: str) -> list[str]:
    """Refuse work that is given to requests which a window never holds: what it costs would come out as nothing."""
    full = study.workload(name)
    arrivals = full.arrivals
    if arrivals is None or arrivals.needs_capacity:
        return []
    most = study.expected_requests(name)
    # Where arrivals are drawn there may be more than the mean, but not many times its spread.
    most += 6 * most**0.5 if arrivals.is_drawn else 0.0
    return [
        f"workloads.{name}.request[{number}].compute.at: a window holds about {most:.0f} requests, and {max(step.at)} "
        "is beyond them; name requests that there are, or lengthen windows.measure_s"
        for number, step in ((n, s.compute) for n, s in enumerate(full.steps))
        if step is not None and step.at is not None and max(step.at) > most
    ]


def connection_faults(study: "Study") -> list[str]:
    """Check the sum of connections of each arm against what the server gives."""
    given = study.database.settings.get("max_connections", DEFAULT_CONNECTIONS)
    if not isinstance(given, int) or not LEAST_CONNECTIONS <= given <= MOST_CONNECTIONS:
        must = f"must be a whole number, {LEAST_CONNECTIONS} to {MOST_CONNECTIONS}, without quotes"
        return [f"database.settings.max_connections = {given!r}: {must}; change it and run the same command again"]
    taken = SUPERUSER_SLOTS + OWN_SESSIONS
    return [
        f"{'pools' if study.pools else f'arms.{label}.size'} = {arm.size}: needs "
        f"{f'{arm.processes} processes x {arm.size}' if arm.processes > 1 else arm.size} + {SUPERUSER_SLOTS} "
        f"reserved slots + {OWN_SESSIONS} session of ours = {arm.connections + taken} connections, and "
        f"database.settings.max_connections is {given}; use at most {(given - taken) // arm.processes} "
        "or raise max_connections"
        for label, arm in study.arm_map.items()
        if arm.connections > given - taken
    ]
