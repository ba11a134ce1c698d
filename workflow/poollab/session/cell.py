"""A cell's job: find its plan and its block, measure, and print its one line."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from poollab.data import store
from poollab.errors import LabError, MeasurementError, SafetyStop
from poollab.lab import choose
from poollab.lab.base import Lab
from poollab.quantiles import beyond
from poollab.run import benchmark
from poollab.run.cell import Plan, measure
from poollab.run.guard import Guard, Thresholds
from poollab.session import confirm, terminal
from poollab.session.entry import die_with_parent
from poollab.session.paths import Paths
from poollab.session.plan_file import window_s
from poollab.session.terminal import EACH_S


def measure_cell(run_record: Path, block_record: Path) -> None:
    """
    Measure the cell that `run_record` belongs to, in the block of `block_record`.

    Raises:
        SafetyStop: the block is over; the same command begins another one.
        MeasurementError: this run failed and nothing of it was kept.
    """
    die_with_parent()
    paths, block = Paths.around(run_record), store.read_json(block_record)
    session, cell = store.read_json(paths.session), run_record.parent.name
    if (block_record.parent / "stopped.json").exists():
        raise SafetyStop("")
    plan = Plan.load(session, cell)
    if (decided := confirm.not_needed(paths, session, plan, block["block"])) is not None:
        # Why stands in the record; here it would stand in every second line.
        _progress(paths, session, {**decided, "reasons": ""})
        return
    lab = choose.attach(block["lab"])
    plan, measured = _prepared(paths, plan)
    try:
        guard = _guard(lab, session, paths)
        guard.wait_until_calm(terminal.say)
        enforced = all(proof["enforced"] for proof in block["proof"].values())
        record = measured(lab, plan, run_record.parent, block["block"], guard, enforced=enforced)
    except SafetyStop as stop:
        _keep_attempt(paths, plan, stop, block["block"])
        _stop(block_record.parent, f"Safety stop: {stop}", stop.exit_code, cell)
        raise SafetyStop("") from None
    except LabError as error:
        _stop(block_record.parent, f"Safety stop: {error}", SafetyStop.exit_code, cell)
        raise SafetyStop("") from None
    except MeasurementError as error:
        _stop(block_record.parent, f"Cell {cell} could not be measured: {error}", error.exit_code, cell)
        raise MeasurementError("") from None
    _progress(paths, session, record)


def _prepared(paths: Paths, plan: Plan) -> tuple[Plan, Callable[..., dict[str, Any]]]:
    """Return a cell's plan with what calibration found for it, and what measures it."""
    if "benchmark" in plan.settings["workload"]:
        return plan, benchmark.measure
    from poollab.session import calibrate  # noqa: PLC0415 - takes 0.2 s, which a benchmark's many cells are spared

    return calibrate.of_plan(paths, plan), measure


def _guard(lab: Lab, session: dict[str, Any], paths: Paths) -> Guard:
    return Guard(Thresholds.of(session["safety"]), [lab.database_counters()], [paths.results, Path(lab.record.folder)])


def _keep_attempt(paths: Paths, plan: Plan, stop: SafetyStop, block: int) -> None:
    from poollab.run import keep  # noqa: PLC0415 - pyarrow, for this case only

    keep.keep_attempt(paths.attempt(f"{plan.cell}.block-{block}"), plan, stop, block)


def _stop(folder: Path, reason: str, code: int, cell: str) -> None:
    content = {"reason": Paths.portable(reason), "exit_code": code, "cell": cell, "pid": os.getpid()}
    store.write_json(folder / "stopped.json", content)


def _progress(paths: Paths, session: dict[str, Any], record: dict[str, Any]) -> None:
    planned = session["planned"]
    waiting = [name for name in planned if not paths.run_record(name).exists()]
    done = len(planned) - len(waiting)
    left = sum(window_s(session["cells"][name]["settings"]) + EACH_S for name in waiting) + 5
    terminal.say(terminal.cell_line(done, len(planned), record, _beyond_p99(paths, record), left))


def _beyond_p99(paths: Paths, record: dict[str, Any]) -> int:
    """Return how many requests with status ok lie beyond the run's p99; of a benchmark none is shown."""
    if record["overall_p99_ns"] is None or "benchmark" in record:
        return 0
    import pyarrow.compute as pc  # noqa: PLC0415 - loaded with the files that were just written
    import pyarrow.parquet as pq  # noqa: PLC0415

    with pq.ParquetFile(paths.cell(record["cell"]) / "requests.parquet") as file:
        status = file.read(columns=["status"])["status"].cast("string")
    return beyond(pc.sum(pc.equal(status, "ok")).as_py() or 0, 0.99)
