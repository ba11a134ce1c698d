"""The session file: a resolved study with every cell's settings, so that a cell needs no model to run."""

from pathlib import Path
from typing import Any

from poollab import __version__
from poollab.data import store
from poollab.plan import ordered_cells, settings, settings_hash
from poollab.run.cell import Plan
from poollab.session.terminal import EACH_S, FIXED_S
from poollab.study.model import Study

#: What a plan holds in the session file; calibration is found later and lies in a file of its own.
SLOTS = tuple(slot for slot in Plan.__slots__ if slot != "calibration")


def cells(study: Study, name: str) -> dict[str, Plan]:
    """Return every cell's plan by name, in the order of execution."""
    made = {}
    for cell in ordered_cells(study):
        values = settings(study, cell.condition)
        c = cell.condition
        made[cell.name] = Plan(name, cell.name, c.workload, c.arm, c.limits, cell.repeat, values, settings_hash(values))
    return made


def seconds(plans: list[Plan]) -> float:
    """Estimate how long cells take, from their windows, and what is found by calibration before the first of them."""
    found = {plan.workload: plan.settings["calibration"]["seconds"] for plan in plans if "calibration" in plan.settings}
    return FIXED_S + float(sum(found.values())) + sum(window_s(plan.settings) + EACH_S for plan in plans)


def window_s(settings: dict[str, Any]) -> float:
    """Return how long a cell's windows take; a batch is over when its last request is, as a rule long before."""
    warm_up_s, measure_s = (float(settings["windows"][key]) for key in ("warm_up_s", "measure_s"))
    return (
        min(warm_up_s, 1.0) + min(measure_s, 1.5)
        if "batch" in settings["workload"]["arrivals"]
        else warm_up_s + measure_s
    )


def study_hash(plans: dict[str, Plan]) -> str:
    """Return a hash over all cells' settings, whatever their order."""
    return settings_hash({name: plan.settings_hash for name, plan in plans.items()})


def renew(path: Path, study: Study, name: str, file: str, plans: dict[str, Plan]) -> None:
    """Bring title, plan and order up to date where nothing is left to measure; the rest stays as it was measured."""
    if path.exists():
        old = store.read_json(path)
        kept = ("block", "lab", "safety", "limits_required", "owner")
        write(path, study, name, file, plans, **{key: old[key] for key in kept})


def write(path: Path, study: Study, name: str, file: str, plans: dict[str, Plan], **more: Any) -> None:
    """Write the session file."""
    model = study.model_dump(mode="json", by_alias=True)
    if study.limits is not None:
        # As they are in force: what a level does not name comes from database and load_generator.
        model["limits"] = {
            label: {"database": one.model_dump(mode="json"), "load_generator": two.model_dump(mode="json")}
            for label, (one, two) in study.limit_map.items()
        }
    content = {
        # Of a file outside the project only the name: its folders are this machine's, and records are published.
        "study": {
            "name": name,
            "file": Path(file).name if file.startswith("..") else file,
            "title": study.title,
            "model": model,
        },
        "poollab": __version__,
        "study_hash": study_hash(plans),
        "planned": list(plans),
        "cells": {key: {slot: getattr(plan, slot) for slot in SLOTS} for key, plan in plans.items()},
        **more,
    }
    store.write_json(path, content)
