"""
Passes that are measured only where they are needed.

Later passes of a benchmark: for rows whose arms differed in the first one. Spare repeats of any other study: for
conditions of which a run is far from the others. A pass that is not needed leaves a record and no rows, so that
graph, resume and order know nothing of it. What it was decided on stands in it: where that is measured anew, the
decision is made anew too.
"""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any

from poollab.data import store
from poollab.data.schemas import FORMAT_VERSION
from poollab.run.cell import Plan
from poollab.session.paths import Paths
from poollab.stats import outliers, speedup

NOT_NEEDED = "not-needed"
_TIMES, _REQUESTS = "iterations.parquet", "requests.parquet"


def not_needed(paths: Paths, session: dict[str, Any], plan: Plan, block: int) -> dict[str, Any] | None:
    """
    Write and return the record of a pass that need not be measured; None for one that must be.

    A benchmark's must be measured where it is the first, where the study asks for all, where the arms differed in the
    first pass, and where that has no times to compare, or has them of different blocks. Any other must where it is no
    spare one, and where a run of its condition is far from the others.
    """
    rules = rule(session["study"]["model"], plan)
    if rules is None:
        return None
    if "benchmark" not in plan.settings["workload"]:
        return _spare(paths, session, plan, block, rules)
    firsts = [store.read_json(paths.run_record(name)) for name in _firsts(session, plan)]
    if not _comparable(firsts):
        return None
    means = [record["benchmark"]["mean_ns"] for record in firsts]
    if speedup.direction(means[0] / means[1], rules["threshold"]) != 0:
        return None
    reason = f"the means of the first pass are within {rules['threshold']:.0%}"
    return _leave(paths, plan, block, firsts, reason, rules)


def _comparable(firsts: list[dict[str, Any]]) -> bool:
    """Tell whether the first pass has times of both arms, of one block: across blocks the analysis compares nothing."""
    all_ok = len(firsts) == 2 and all(record["status"] == "ok" for record in firsts)
    return all_ok and len({record["block"] for record in firsts}) == 1


def rule(model: Mapping[str, Any], plan: Plan) -> dict[str, Any] | None:
    """Return the rule by which a study (as plain values) decides on a pass; None for one that is always measured."""
    if "benchmark" in plan.settings["workload"]:
        confirm = model.get("confirm")
        return {"threshold": confirm["threshold"]} if confirm and plan.repeat > 1 else None
    first_spare = int(model["repeats"]) - int(model.get("spare_repeats") or 0) + 1
    return None if plan.repeat < first_spare else {"first_spare": first_spare, "far": outliers.FAR}


def _spare(
    paths: Paths, session: dict[str, Any], plan: Plan, block: int, rules: dict[str, Any]
) -> dict[str, Any] | None:
    found = [paths.run_record(name) for name in _siblings(session, plan, rules["first_spare"])]
    if not all(path.exists() for path in found):
        return None
    before = [store.read_json(path) for path in found]
    p99 = [float(r["overall_p99_ns"]) for r in before if r["status"] == "ok" and r["overall_p99_ns"] is not None]
    # A condition whose runs do not count is not in doubt for being far apart, and one run has no sibling.
    if outliers.far(p99):
        return None
    reason = (
        f"no run of the condition has {outliers.FAR:g} times the p99 of the others"
        if len(p99) > 1
        else "fewer than two runs of the condition are ok, so none can be far from the others"
    )
    return _leave(paths, plan, block, before, reason, rules)


def _siblings(session: dict[str, Any], plan: Plan, first_spare: int) -> list[str]:
    """Name the runs of a condition that are measured in any case."""
    mine = (plan.workload, plan.arm, plan.limits)
    return [
        name
        for name, cell in session["cells"].items()
        if (cell["workload"], cell["arm"], cell["limits"]) == mine and cell["repeat"] < first_spare
    ]


def _leave(
    paths: Paths, plan: Plan, block: int, basis: list[dict[str, Any]], reason: str, rules: dict[str, Any]
) -> dict[str, Any]:
    """Write the record of a pass that is not needed, with what that was decided on and by which rule."""
    record = {
        "format": FORMAT_VERSION,
        **{key: getattr(plan, key) for key in ("study", "cell", "workload", "arm", "limits", "repeat")},
        "block": block,
        "status": NOT_NEEDED,
        "reasons": reason,
        "decided_at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "decided_on": {record["cell"]: _checksum(record) for record in basis},
        "decided_by": rules,
        "settings": plan.settings,
        "settings_hash": plan.settings_hash,
        "overall_p99_ns": None,
        "files": {},
    }
    store.write_json(paths.run_record(plan.cell), record)
    return record


def _firsts(session: dict[str, Any], plan: Plan) -> list[str]:
    """Name the first pass of every arm of a row."""
    return [
        name
        for name, cell in session["cells"].items()
        if cell["repeat"] == 1 and (cell["workload"], cell["limits"]) == (plan.workload, plan.limits)
    ]


def stale(paths: Paths, record: dict[str, Any], damaged: Collection[str], now: Mapping[str, Any] | None) -> str:
    """
    Say why a decision does not hold any more; nothing where it does, or where a record is none.

    `now` is the rule that the study has for that pass by now (see `rule`).
    """
    if record.get("status") == NOT_NEEDED and (now is None or record.get("decided_by", now) != now):
        return "was left out by another rule than the study has now"
    for cell, sha in record.get("decided_on", {}).items():
        path = paths.run_record(cell)
        kept = path.exists() and cell not in damaged
        if (_checksum(store.read_json(path)) if kept else None) != sha:
            return f"was decided on another run of {cell}"
    return ""


def _checksum(record: dict[str, Any]) -> str | None:
    """Return the checksum of what a run is compared by: its iterations, else its requests."""
    files = record["files"]
    found: str | None = (files.get(_TIMES) or files.get(_REQUESTS) or {}).get("sha256")
    return found
