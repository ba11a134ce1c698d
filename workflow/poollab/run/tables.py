"""From the generator's raw columns to the tables that are kept."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from poollab.data.schemas import REQUESTS, SAMPLES, STAMPS, STATUSES
from poollab.errors import MeasurementError
from poollab.load.rows import ABSENT, COLUMNS

Ints = npt.NDArray[np.int64]


def read_columns(path: Path, count: int | None) -> dict[str, Ints]:
    """
    Read the columns that the generator wrote, each of `count` int64 (None: as many as there are).

    Raises:
        MeasurementError: the file has another length, so rows are missing.
    """
    data = np.fromfile(path, dtype=np.int64)
    if count is None:
        count = len(data) // len(COLUMNS)
    if len(data) != count * len(COLUMNS):
        raise MeasurementError(
            f"{path.name} holds {len(data)} values where {count * len(COLUMNS)} are due; rows are missing"
        )
    return dict(zip(COLUMNS, data.reshape(len(COLUMNS), count), strict=True))


def requests(
    columns: Mapping[str, Ints],
    backends: list[int],
    errors: Mapping[str, str],
    steps: npt.NDArray[np.int16] | None = None,
    *,
    closed: bool = False,
) -> pa.Table:
    """
    Build the requests table; connections are numbered in order of establishment, strangers after them.

    `steps` is the arrivals step of each request, where the schedule has steps.
    """
    count = len(columns["status"])
    never = np.full(count, ABSENT)
    connection = connection_numbers(columns["backend"], backends)
    arrays: list[Any] = [pa.array(np.arange(count, dtype=np.int32))]
    for name in STAMPS:
        values = columns[name.removesuffix("_ns")]
        arrays.append(pa.array(values, mask=values == ABSENT))
    words = pa.DictionaryArray.from_arrays(pa.array(columns["status"].astype(np.int8)), pa.array(list(STATUSES)))
    arrays += [
        words,
        pa.array([errors.get(str(i)) for i in range(count)] if errors else [None] * count, pa.string()),
        pa.array(connection, mask=connection < 0),
        pa.array(uses(connection, columns["acquired"]), mask=connection < 0),
        *[pa.array(values, mask=values == ABSENT) for values in (columns.get(n, never) for n in ("asked", "ended"))],
        pa.array(columns.get("process", np.zeros(count)).astype(np.int16)),
        pa.nulls(count, pa.int16()) if steps is None else pa.array(steps),
        pa.repeat(pa.scalar(closed), count),
    ]
    return pa.Table.from_arrays(arrays, schema=REQUESTS)


def connection_numbers(backend: Ints, backends: list[int]) -> npt.NDArray[np.int32]:
    """Number connections by their server processes, in order of establishment, strangers after them; -1 for none."""
    known = {pid: number for number, pid in enumerate(backends)}
    for pid in backend.tolist():
        if pid != ABSENT:
            known.setdefault(pid, len(known))
    return np.array([known.get(pid, -1) for pid in backend.tolist()], dtype=np.int32)


def uses(connection: npt.NDArray[np.int32], acquired: Ints) -> npt.NDArray[np.int32]:
    """Count for each request how often its connection had been taken so far, itself included."""
    uses, seen = np.zeros(len(connection), dtype=np.int32), dict[int, int]()
    for i in np.argsort(acquired, kind="stable").tolist():
        if (number := int(connection[i])) >= 0:
            seen[number] = seen.get(number, 0) + 1
            uses[i] = seen[number]
    return uses


def samples(columns: dict[str, list[int | None]], zero_ns: int) -> pa.Table:
    """Build the samples table with times since the first scheduled arrival."""
    shifted = {**columns, "at_ns": [at - zero_ns for at in columns["at_ns"] if at is not None]}
    return pa.Table.from_pydict(shifted, schema=SAMPLES)
