"""What the generator's processes wrote, as one run on one clock."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from poollab.load.rows import ABSENT

Ints = npt.NDArray[np.int64]

#: Facts of the generator that stand in a run's record.
KEPT = (
    "plan",
    "prepare_ns",  # to make the threads and the coroutines of the measured window
    "loop",
    "timer",
    "driver",
    "pool",
    "connects",
    "threads",
    "threads_peak",
    "executor",
    "compute",
    "memory",
    "max_rss_bytes",
    "processes",
)
#: How the facts of several processes become one; what is not named is that of the first process.
_SUMS = ("reachable", "connects", "threads", "threads_peak", "executor", "max_rss_bytes")
_ALL = ("warm_up_drained", "finished")


def folders(scratch: Path, processes: int) -> list[Path]:
    """Return where each generator process reads its words and writes its rows."""
    return [scratch / str(number) for number in range(processes)] if processes > 1 else [scratch]


def end(columns: Mapping[str, Ints]) -> Ints:
    """Return when each request ended: at its release, or after what follows it; ABSENT where it did not."""
    ended = columns.get("ended")
    return columns["released"] if ended is None else np.where(ended == ABSENT, columns["released"], ended)


def facts(scratch: Path, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of all processes as one; connections are numbered process by process."""
    each = [json.loads((f / "facts.json").read_text("utf-8")) for f in folders(scratch, spec["processes"])]
    whole: dict[str, Any] = dict(each[0])
    if len(each) == 1:
        return {**whole, "processes": 1}
    plans = {one["plan"] for one in each}
    whole |= {name: _sum([one[name] for one in each]) for name in _SUMS if name in whole}
    whole |= {name: all(one[name] for one in each) for name in _ALL}
    return whole | {
        "plan": plans.pop() if len(plans) == 1 else "mixed",
        "backends": [pid for one in each for pid in one["backends"]],
        "exhausted": any(one["exhausted"] for one in each),
        "memory": _memory([one["memory"] for one in each]),
        "prepare_ns": max(one["prepare_ns"] for one in each),
        "compute": [one["compute"] for one in each] if whole["compute"] else None,
        "processes": len(each),
    }


def _memory(each: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the memory of all processes together; pages that they share are counted in each."""
    flag = "peak_covers_window_only"
    whole: dict[str, Any] = {name: _sum([one[name] for one in each]) for name in each[0] if name != flag}
    return whole | {flag: all(one[flag] for one in each)}


def _sum(values: list[int | None]) -> int | None:
    """Add up; nothing where one is missing."""
    return None if None in values else sum(value for value in values if value is not None)


def rows(scratch: Path, spec: Mapping[str, Any], name: str) -> tuple[dict[str, Ints], dict[str, str]]:
    """
    Return the columns of a window (`measure` or `warm_up`) in the order of the schedule, and errors by row number.

    Columns are those of load/rows.py with `process`. Request i of the schedule was sent by process i % N. In a closed
    loop rows stand in the order of their scheduled times.

    Raises:
        MeasurementError: a process wrote fewer rows than it was given.
    """
    from poollab.run import tables  # noqa: PLC0415 - pyarrow is loaded while nothing is measured

    closed, count, processes = spec["arrivals"]["kind"] == "closed", spec[name]["count"], spec["processes"]
    parts, errors, places = [], {}, []
    for number, folder in enumerate(folders(scratch, processes)):
        due = None if closed else len(range(number, count, processes))
        part = tables.read_columns(folder / f"{name}.bin", due)
        length = len(part["status"])
        parts.append({**part, "process": np.full(length, number, dtype=np.int64)})
        places.append(number + processes * np.arange(length))
        key = "errors" if name == "measure" else "warm_up_errors"
        said = json.loads((folder / "facts.json").read_text("utf-8"))[key]
        errors.update({(number, int(row)): text for row, text in said.items()})
    whole = {column: np.concatenate([part[column] for part in parts]) for column in parts[0]}
    order = np.argsort(whole["scheduled"] if closed else np.concatenate(places), kind="stable")
    offsets = np.cumsum([0, *(len(part["status"]) for part in parts)])
    now_at = np.empty(len(order), dtype=np.int64)
    now_at[order] = np.arange(len(order))
    found = {str(now_at[offsets[number] + row]): text for (number, row), text in errors.items()}
    return {column: values[order] for column, values in whole.items()}, found
