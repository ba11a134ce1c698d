"""Finished cells as they lie on disk: ours and whole, ours and damaged, or somebody else's."""

import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from poollab.data import sums
from poollab.errors import IdentityError
from poollab.plan import differing_keys
from poollab.run.cell import Plan
from poollab.session import confirm
from poollab.session.paths import Paths


def finished(paths: Paths, plans: dict[str, Plan], model: Mapping[str, Any]) -> tuple[dict[str, int], dict[str, str]]:
    """
    Look at every planned cell that has results; `model` is the study as plain values.

    Returns the block of each whole cell, and for each damaged one what is wrong with it.

    Raises:
        IdentityError: results of other settings or of another study stand where this study's should.
    """
    whole: dict[str, int] = {}
    damaged: dict[str, str] = {}
    for name, plan in plans.items():
        if not paths.cell(name).is_dir() or not any(paths.cell(name).iterdir()):
            continue
        if not paths.run_record(name).exists():
            # A kill between two files of a cell; its record would have come last.
            damaged[name] = "run.json is missing"
            continue
        fault, record = _fault(paths, name, plan)
        # First passes come first, so what is damaged among them is known here.
        fault = fault or confirm.stale(paths, record, damaged, confirm.rule(model, plan))
        if fault:
            damaged[name] = fault
        else:
            whole[name] = int(record["block"])
    return whole, damaged


def _fault(paths: Paths, name: str, plan: Plan) -> tuple[str, dict[str, Any]]:
    path = paths.run_record(name)
    try:
        record = json.loads(path.read_text("utf-8"))
        theirs, files, _block = record["settings"], record["files"], int(record["block"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"run.json is truncated or no record of a run ({type(error).__name__})", {}
    if record.get("settings_hash") != plan.settings_hash or (record.get("study"), record.get("cell")) != (
        plan.study,
        name,
    ):
        raise _refusal(path, plan, record, theirs)
    for file, about in files.items():
        fault = _file_fault(paths.cell(name) / file, about)
        if fault == "foreign":
            raise IdentityError(
                f"{paths.cell(name) / file} is not the file that was measured for this cell: "
                "its checksum differs, yet it is whole. "
                f"Nothing was started; put the measured file back, or move the folder away to measure the cell again."
            )
        if fault:
            return f"{file} {fault}", {}
    return "", record


def _file_fault(path: Path, about: dict[str, Any]) -> str:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    if hashlib.sha256(data).hexdigest() == about["sha256"]:
        return ""
    import pyarrow as pa  # noqa: PLC0415 - takes 0.2 s, for this case only
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        pq.read_table(pa.BufferReader(data), page_checksum_verification=True)
    except (OSError, pa.ArrowException):
        return "is truncated"
    return "foreign"


def _refusal(path: Path, plan: Plan, record: dict[str, Any], theirs: Any) -> IdentityError:
    lines = differing_keys(plan.settings, theirs)
    lines += [
        f"{k}: {record.get(k)!r} in the results, {getattr(plan, k)!r} now"
        for k in ("study", "cell")
        if record.get(k) != getattr(plan, k)
    ]
    return IdentityError(
        f"{path.parent} was measured with other settings than the study has now; "
        f"they are never averaged together.\n  " + "\n  ".join(lines or ["settings_hash"]) + "\n"
        f"Nothing was started. Put the settings back, use a new results folder (--config results=NAME), "
        f"or remove the old results with `make clean-results STUDY={plan.study}`."
    )


def set_aside(paths: Paths, damaged: dict[str, str]) -> list[str]:
    """Move damaged cells to attempts/, so that they are measured again; say where each went."""
    lines = []
    for name, fault in damaged.items():
        target = paths.attempt(f"{name}.damaged")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(paths.cell(name), target)
        lines.append(f"{paths.cell(name)}: {fault}; moved to {target}, and the cell is measured again.")
    return lines


def drop_damaged(paths: Paths) -> list[str]:
    """Remove tables and pages that are not as they were made, so that they are made again; say which."""
    lines, damaged = [], sums.differing(paths.results)
    if damaged:
        # Snakemake misses nothing that only leads to what is there already, so the end of the way goes first.
        paths.package.unlink(missing_ok=True)
    for path in damaged:
        path.unlink(missing_ok=True)
        lines.append(f"{path}: is not as it was made (its checksum differs); removed, and made again from the cells.")
    return lines
