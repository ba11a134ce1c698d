"""What the load generator is told: spec.json and schedule.bin, drawn outside its cap."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poollab.errors import MeasurementError
from poollab.lab.base import ROLE
from poollab.load import draw

if TYPE_CHECKING:
    from poollab.run.cell import Plan

PORT = 5432
DATABASE = "postgres"


def write_spec(folder: Path, plan: "Plan", socket: str) -> tuple[dict[str, Any], draw.Stimulus]:
    """
    Write spec.json and schedule.bin, and return the spec and what is drawn for the measurement.

    schedule.bin holds the warm-up's columns and then the measurement's, each as int64 one after another.

    Raises:
        MeasurementError: a quantity that calibration finds was not found.
    """
    workload, (warm_s, measure_s) = plan.settings["workload"], plan.windows
    try:
        warm, main = (
            draw.draw(plan.study, workload, plan.repeat, phase, seconds, plan.calibration)
            for phase, seconds in (("warm-up", warm_s), ("measure", measure_s))
        )
    except ValueError as error:
        raise MeasurementError(str(error)) from error
    spec = {
        "client": plan.settings["client"],
        "socket": socket,
        "port": PORT,
        "user": ROLE,
        "database": DATABASE,
        "pool": plan.settings["arm"],
        "processes": plan.settings["arm"]["processes"],
        "steps": main.steps,
        "arrivals": _arrivals(workload["arrivals"], warm_s, measure_s),
        "trace_memory": workload["trace_memory"],
        "timeouts": plan.settings["timeouts"],
        "warm_up": {"count": len(warm.times), "columns": len(warm.args)},
        "measure": {"count": len(main.times), "columns": len(main.args)},
    }
    (folder / "spec.json").write_text(json.dumps(spec), "utf-8")
    with (folder / "schedule.bin").open("wb") as file:
        for column in (warm.times, *warm.args, main.times, *main.args):
            file.write(column.astype("<i8").tobytes())
    return spec, main


def _arrivals(declared: dict[str, Any], warm_s: float, measure_s: float) -> dict[str, Any]:
    """Say how the generator paces itself: by the schedule, or by its own workers."""
    closed = declared.get("closed")
    length = {"window_ns": {"warm_up": round(warm_s * 1e9), "measure": round(measure_s * 1e9)}}
    if closed is None:
        return {"kind": "open", **length}
    return {"kind": "closed", "workers": closed["workers"], "think_ns": round(closed["think_ms"] * 1e6), **length}
