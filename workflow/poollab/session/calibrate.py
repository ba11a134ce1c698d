"""
Find out, once a study and before its first cell, what some workloads leave to the machine.

Two things: the capacity (requests per second of a short closed loop) that rates are shares of, and the argument
with which one execution costs a stated CPU time of the database. Both are kept in state/calibration.json with what
was measured; later blocks take them from there, so that every run of a study was sent the same.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from poollab.data import store
from poollab.data.schemas import REQUESTS
from poollab.errors import DataError, IdentityError, LabError
from poollab.lab.base import Lab
from poollab.load import arrivals
from poollab.plan import settings_hash
from poollab.run.cell import Plan, about, measure
from poollab.run.guard import Guard, Thresholds
from poollab.session import argument
from poollab.session.paths import Paths
from poollab.study.arrivals import MOST_PER_S
from poollab.study.sums import MAX_REQUESTS

#: Longest warm-up of the loop that finds the capacity, in seconds.
WARM_UP_S = 1.0


def of_plan(paths: Paths, plan: Plan) -> Plan:
    """
    Return a cell's plan with what was found for its workload.

    Raises:
        LabError: it needs something that was not found, so its block was begun by another version.
    """
    found = store.read_json(paths.calibration)["found"] if paths.calibration.exists() else {}
    return replace(plan, calibration=_values(plan.settings, found))


def _values(settings: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    places, capacity = _argument_keys(settings), capacity_key(settings)
    missing = [key for key in [*places.values(), capacity] if key and key not in found]
    if missing:
        raise LabError("the block holds no calibration for this cell; run the same command again")
    values: dict[str, Any] = {}
    if capacity:
        values["capacity_per_s"] = found[capacity]["capacity_per_s"]
    if places:
        values["arguments"] = {place: found[key]["value"] for place, key in places.items()}
    return values


def capacity_key(settings: dict[str, Any]) -> str:
    """Return under what a workload's capacity is kept: all that decides it; empty where no rate is a share of it."""
    if "calibration" not in settings:
        return ""
    deciding = ("method", "calibration", "timeouts", "database")
    return settings_hash({**{k: settings[k] for k in deciding}, "request": settings["workload"]["request"]})


def _argument_keys(settings: dict[str, Any]) -> dict[str, str]:
    """Return for each calibrated argument, by step and place, under what its value is kept."""
    return {
        f"{number}.{place}": settings_hash({"query": query, "place": place, "database": settings["database"]})
        for number, query in _queries(settings)
        for place, arg in enumerate(query["args"])
        if "calibrated" in arg
    }


def _queries(settings: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, step in enumerate(settings["workload"]["request"]):
        if "query" in step:
            yield number, step["query"]


def calibrate(
    lab: Lab, session: dict[str, Any], paths: Paths, block: int, say: Callable[[str], None], *, enforced: bool
) -> list[str]:
    """
    Find what is missing, keep it, and return a line for each thing that was found.

    Raises:
        ConfigError: a statement cannot be made as costly as the study asks.
        LabError, MeasurementError, SafetyStop: the capacity could not be measured.
    """
    plans = [Plan.load(session, name) for name in session["planned"]]
    by_workload = {
        name: [plan for plan in plans if plan.workload == name] for name in {p.workload: None for p in plans}
    }
    if not any(_keys(mine[0].settings) for mine in by_workload.values()):
        return []
    found, lines = _kept(paths, by_workload), list[str]()
    wanting = {name: mine for name, mine in by_workload.items() if not _keys(mine[0].settings) <= set(found)}
    folders = [paths.results, Path(lab.record.folder)]
    for workload, mine in wanting.items():
        # A new one for each: the counters of a load generator that has ended cannot be read any more.
        guard = Guard(Thresholds.of(session["safety"]), [lab.database_counters()], folders)
        guard.wait_until_calm(say)
        lines += _arguments(lab, mine[0], found, block, f"{session['study']['file']}: workloads.{workload}")
        key = capacity_key(mine[0].settings)
        if key and key not in found:
            with_arguments = [replace(p, calibration=_values(_without(p.settings), found)) for p in mine]
            found[key] = _capacity(lab, with_arguments, paths, block, guard, enforced=enforced)
            lines.append(_capacity_line(workload, found[key]))
        _room(mine[0], found)
    if wanting:
        store.write_json(paths.calibration, {"found": found})
    return lines


def _keys(settings: dict[str, Any]) -> set[str]:
    """Return under what everything that a workload needs is kept."""
    return {*_argument_keys(settings).values(), capacity_key(settings)} - {""}


def _kept(paths: Paths, by_workload: dict[str, list[Plan]]) -> dict[str, Any]:
    """
    Take what an earlier block found, where a run depends on it; what no run has used may have been another cap.

    Raises:
        IdentityError: it is lost, or is not what the runs were measured with; found anew it would be another load.
    """
    runs = [store.read_json(path) for path in sorted((paths.results / "cells").glob("*/run.json"))]
    if not runs:
        return {}
    try:
        found = dict(store.read_json(paths.calibration)["found"])
    except (DataError, KeyError, TypeError, ValueError):
        # Lost or damaged: of consequence only where a run rests on it.
        found = {}
    settings = {plan.cell: plan.settings for mine in by_workload.values() for plan in mine}
    for run in runs:
        theirs, ours = run.get("calibration"), settings.get(run["cell"])
        if theirs and ours is not None and _values_or_none(ours, found) != theirs:
            raise IdentityError(
                f"{paths.calibration} does not hold what cell {run['cell']} was measured with ({theirs}), and what is "
                "found anew would be another load. Put the file back, use a new results folder "
                f"(--config results=NAME), or remove the results with `make clean-results STUDY={run['study']}`."
            )
    return found


def _values_or_none(settings: dict[str, Any], found: dict[str, Any]) -> dict[str, Any] | None:
    return _values(settings, found) if _keys(settings) <= set(found) else None


def _without(settings: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in settings.items() if key != "calibration"}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _arguments(lab: Lab, plan: Plan, found: dict[str, Any], block: int, at: str) -> list[str]:
    lines = []
    lab.set_caps(plan.caps("database"), plan.caps("load_generator"))
    for place, key in _argument_keys(plan.settings).items():
        if key in found:
            continue
        number, where = (int(part) for part in place.split("."))
        query = plan.settings["workload"]["request"][number]["query"]
        measured = argument.find(lab, query, where, at)
        found[key] = {**measured, "workload": plan.workload, "argument": f"${where + 1}", "at": _now(), "block": block}
        lines.append(
            f"Statement of {plan.workload}: ${where + 1} = {found[key]['value']:,} costs "
            f"{found[key]['cpu_ms']:.2f} ms of database CPU (asked {found[key]['asked_ms']:g} ms)."
        )
    return lines


def _capacity(lab: Lab, plans: list[Plan], paths: Paths, block: int, guard: Guard, *, enforced: bool) -> dict[str, Any]:
    """Run a short closed loop of the workload and return its rate with what decided it."""
    rules = plans[0].settings["calibration"]
    able = [plan for plan in plans if plan.settings["limits"] == rules["limits"]] or plans
    named = [plan for plan in able if plan.arm == rules.get("arm")]
    plan = max(named or able, key=_connections)
    workers = rules.get("workers") or 2 * _connections(plan)
    loop = {"closed": {"workers": workers, "think_ms": 0.0, "max_per_s": MOST_PER_S}}
    settings = {
        **_without(plan.settings),
        "workload": {**plan.settings["workload"], "arrivals": loop},
        "windows": {"warm_up_s": min(WARM_UP_S, rules["seconds"]), "measure_s": rules["seconds"]},
    }
    if "threads" in plan.settings["arm"]:
        settings["arm"] = {**plan.settings["arm"], "threads": -(-workers // plan.settings["arm"]["processes"])}
    plan = replace(plan, cell=f"calibration-{plan.workload}", settings=settings, settings_hash=settings_hash(settings))
    out = paths.state / "calibration" / f"{block}.{plan.workload}"
    out.mkdir(parents=True, exist_ok=True)
    record = measure(lab, plan, out, block, guard, enforced=enforced)
    if record["ran_out"]:
        raise LabError(
            f"the capacity of {plan.workload} is beyond {MOST_PER_S:g} requests/s, the most that is measured here; "
            "give its rate as rate_per_s"
        )
    rows = store.read_parquet(out / "requests.parquet", REQUESTS, **about(plan))
    return {
        "kind": "capacity",
        "workload": plan.workload,
        "capacity_per_s": _achieved(rows, record, rules["seconds"]),
        "arm": plan.arm,
        "connections": _connections(plan),
        "workers": workers,
        "seconds": rules["seconds"],
        "caps": record["caps"],
        "status": record["status"],
        "at": _now(),
        "block": block,
    }


def _achieved(rows: Any, record: dict[str, Any], seconds: float) -> float:
    """Return the requests that ended well within the window, per second, to three figures."""
    statuses = rows["status"].to_pylist()
    # A request that goes on after its release, or takes no connection, has its end in a column of its own.
    both = zip(rows["ended_ns"].to_pylist(), rows["released_ns"].to_pylist(), strict=True)
    ended = [last if last is not None else released for last, released in both]
    done = sum(s == "ok" and e is not None and 0 <= e <= seconds * 1e9 for s, e in zip(statuses, ended, strict=True))
    wrong = sum(s in {"error", "acquire_timeout", "query_timeout"} for s in statuses)
    if not done or wrong > 0.01 * len(statuses):
        raise LabError(
            f"the capacity of {record['workload']} could not be measured: {done} requests ended well and {wrong} did "
            f"not ({record['reasons'] or 'no reason recorded'}); correct the statement or raise timeouts.query_s"
        )
    return float(f"{done / seconds:.3g}")


def _capacity_line(workload: str, entry: dict[str, Any]) -> str:
    doubt = "" if entry["status"] == "ok" else f" That run was not ok ({entry['status']}), so it may be too low."
    return (
        f"Capacity for {workload}: {entry['capacity_per_s']:g} requests/s "
        f"({entry['workers']} workers on {entry['connections']} connections for {entry['seconds']:g} s).{doubt}"
    )


def _connections(plan: Plan) -> int:
    arm = plan.settings["arm"]
    return int(arm["size"] * arm["processes"])


def _room(plan: Plan, found: dict[str, Any]) -> None:
    """
    Refuse a schedule that would hold too many requests on this machine.

    Raises:
        LabError: the share of the capacity that was found gives more than a cell may hold.
    """
    capacity = found.get(capacity_key(plan.settings), {}).get("capacity_per_s")
    if capacity is None:
        return
    declared, (warm_s, measure_s) = plan.settings["workload"]["arrivals"], plan.windows
    for key, sent, window_s in (
        ("measure_s", declared, measure_s),
        ("warm_up_s", arrivals.warm_up(declared), warm_s),
    ):
        requests = arrivals.expected(sent, window_s, capacity)
        if requests > MAX_REQUESTS:
            raise LabError(
                f"workloads.{plan.workload}: with a capacity of {capacity:g} requests/s a window of {window_s:g} s "
                f"would hold {requests:.0f} requests; at most {MAX_REQUESTS}; lower the shares or windows.{key}"
            )
