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


def read_columns(path: Path, count: int) -> dict[str, Ints]:
    """
    Read the columns that the generator wrote, each of `count` int64.

    Raises:
        MeasurementError: the file has another length, so rows are missing.
    """
    data = np.fromfile(path, dtype=np.int64)
    if len(data) != count * len(COLUMNS):
        raise MeasurementError(
            f"{path.name} holds {len(data)} values where {count * len(COLUMNS)} are due; rows are missing"
        )
    return dict(zip(COLUMNS, data.reshape(len(COLUMNS), count), strict=True))


def requests(columns: dict[str, Ints], backends: list[int], errors: Mapping[str, str]) -> pa.Table:
    """Build the requests table; connections are numbered in order of establishment, strangers after them."""
    count = len(columns["status"])
    connection = _connection_numbers(columns["backend"], backends)
    arrays: list[Any] = [pa.array(np.arange(count, dtype=np.int32))]
    for name in STAMPS:
        values = columns[name.removesuffix("_ns")]
        arrays.append(pa.array(values, mask=values == ABSENT))
    words = pa.DictionaryArray.from_arrays(pa.array(columns["status"].astype(np.int8)), pa.array(list(STATUSES)))
    arrays += [
        words,
        pa.array([errors.get(str(i)) for i in range(count)] if errors else [None] * count, pa.string()),
        pa.array(connection, mask=connection < 0),
        pa.array(_uses(connection, columns["acquired"]), mask=connection < 0),
    ]
    return pa.Table.from_arrays(arrays, schema=REQUESTS)


def _connection_numbers(backend: Ints, backends: list[int]) -> npt.NDArray[np.int32]:
    known = {pid: number for number, pid in enumerate(backends)}
    for pid in backend.tolist():
        if pid != ABSENT:
            known.setdefault(pid, len(known))
    return np.array([known.get(pid, -1) for pid in backend.tolist()], dtype=np.int32)


def _uses(connection: npt.NDArray[np.int32], acquired: Ints) -> npt.NDArray[np.int32]:
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
