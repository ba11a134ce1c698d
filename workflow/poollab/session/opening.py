"""The paragraph before a study starts: what is asked, how much is measured, where, under which caps, how long."""

from typing import Any

from poollab.plan import conditions
from poollab.session.plan_file import seconds
from poollab.session.terminal import counted, minutes
from poollab.study.model import Study
from poollab.study.parts import Limits


def opening(session: Any, lab: tuple[str, str]) -> str:
    """Return the paragraph before the start; `lab` is its kind and why it was taken."""
    study, missing = session.study, [session.plans[name] for name in session.missing]
    kept = len(session.plans) - len(missing)
    lines = [
        f"Poollab: {study.title}",
        f"Study {session.name}: {counted(len(session.plans), 'cell')} ({shape(study)})"
        + (f", {kept} measured already, {len(missing)} to go." if kept else "."),
        f"Lab: {lab[0]} ({lab[1]}). {_clients(study)}{_limits(study)}.",
        f"Expected: about {minutes(seconds(missing))}. Ctrl-C stops; the same command goes on from there.",
    ]
    found = _calibration(study)
    return "\n".join([*lines[:3], *([found] if found else []), lines[3]])


def shape(study: Study) -> str:
    """Say how a study's cells come about, in words such as `3 workloads x 3 pools x 3 repeats`."""
    workloads, arms = len(study.workloads), counted(len(study.arm_map), "pool" if study.pools else "arm")
    limits, repeats = len(study.limit_map), counted(study.repeats, "repeat")
    if len(conditions(study)) == workloads * len(study.arm_map) * limits:
        levels = f" x {limits} limits" if limits > 1 else ""
        return f"{counted(workloads, 'workload')} x {arms}{levels} x {repeats}"
    levels = f" and {limits} limits" if limits > 1 else ""
    return (
        f"{counted(len(conditions(study)), 'condition')} of {counted(workloads, 'workload')} and {arms}{levels}"
        f" x {repeats}"
    )


def _clients(study: Study) -> str:
    names = dict.fromkeys(study.client_of(label) for label in study.arm_map)
    return f"Client{'s' if len(names) > 1 else ''}: {', '.join(names)}. "


def _limits(study: Study) -> str:
    levels = [f"{label + ': ' if label else ''}{_both(*sides)}" for label, sides in study.limit_map.items()]
    return f"Caps{' compared' if len(levels) > 1 else ''}: {'; '.join(levels)}"


def _both(database: Limits, generator: Limits) -> str:
    sides = caps(database), caps(generator)
    return "none" if sides == ("CPU uncapped",) * 2 else f"database {sides[0]}, load generator {sides[1]}"


def caps(limits: Limits) -> str:
    """Say a cap in words."""
    cpu = "CPU uncapped" if limits.cpus is None else f"{limits.cpus:g} cores ({limits.period_ms:g} ms period)"
    return cpu + ("" if limits.memory_mib is None else f", {limits.memory_mib} MiB")


def _calibration(study: Study) -> str:
    full = [study.workload(name) for name in study.workloads]
    found = []
    if any(workload.arrivals is not None and workload.arrivals.needs_capacity for workload in full):
        found.append(f"the capacity that rates are shares of (a closed loop of {study.calibration.seconds:g} s)")
    args = (arg for workload in full for step in workload.steps for arg in (step.query.args if step.query else []))
    if any(arg.calibrated is not None for arg in args):
        found.append("how large a statement costs the stated CPU time")
    return f"Found once before the first cell, and recorded: {' and '.join(found)}." if found else ""
