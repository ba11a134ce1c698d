"""From a benchmark's raw stamps and facts to the tables that are kept."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from poollab.data.schemas import ITERATIONS, REQUESTS, STATUSES
from poollab.errors import MeasurementError
from poollab.load.families.stamps import COLUMNS
from poollab.load.rows import ABSENT, OK
from poollab.run.tables import connection_numbers, uses

Ints = npt.NDArray[np.int64]


def read_stamps(path: Path, operations: int) -> dict[str, Ints]:
    """
    Read the columns of all check-outs, and say when each was due.

    A caller's first check-out of a wave is due when the wave begins, every further one when its connection of before
    was given back.

    Args:
        path: the generator's stamps.bin.
        operations: check-outs in all iterations together.

    Raises:
        MeasurementError: the file has another length, so rows are missing.
    """
    data = np.fromfile(path, dtype=np.int64)
    if len(data) != operations * len(COLUMNS):
        wanted = operations * len(COLUMNS)
        raise MeasurementError(f"{path.name} holds {len(data)} values where {wanted} are due; rows are missing")
    columns = dict(zip(COLUMNS, data.reshape(len(COLUMNS), operations), strict=True))
    before = np.concatenate([[ABSENT], columns["released"][:-1]]) if operations else columns["released"]
    # Where nothing was done with a connection no clock was read after it was taken.
    unused = (columns["result"] == ABSENT) & (columns["status"] == OK)
    columns["result"] = np.where(unused, columns["acquired"], columns["result"])
    due = np.where(before == ABSENT, columns["started"], before)
    columns["scheduled"] = np.where(columns["scheduled"] == ABSENT, due, columns["scheduled"])
    return columns


def requests(columns: Mapping[str, Ints], chosen: npt.NDArray[np.bool_], facts: Mapping[str, Any]) -> pa.Table:
    """Build the requests table of the chosen check-outs; `step` is the iteration, and all are of a closed loop."""
    numbers = np.flatnonzero(chosen)
    count, picked = len(numbers), {name: column[chosen] for name, column in columns.items()}
    connection = connection_numbers(picked["backend"], [pid for _, pid in facts["connects"]])
    words = pa.DictionaryArray.from_arrays(pa.array(picked["status"].astype(np.int8)), pa.array(list(STATUSES)))
    errors = facts["errors"]
    known: dict[str, Any] = {
        "request": pa.array(np.arange(count, dtype=np.int32)),
        **{f"{n}_ns": _stamps(picked[n]) for n in ("scheduled", "started", "acquired", "result", "released")},
        "status": words,
        "error_class": pa.array([errors.get(str(i)) for i in numbers] if errors else [None] * count, pa.string()),
        "connection": pa.array(connection, mask=connection < 0),
        "connection_use": pa.array(uses(connection, picked["acquired"]), mask=connection < 0),
        "process": pa.array(np.zeros(count, dtype=np.int16)),
        "step": pa.array(picked["iteration"].astype(np.int16)),
        "closed": pa.array(np.ones(count, dtype=bool)),
    }
    arrays = [known.get(f.name, pa.nulls(count, f.type)) for f in REQUESTS]
    return pa.Table.from_arrays(arrays, schema=REQUESTS)


def _stamps(column: Ints) -> pa.Array:
    return pa.array(column, mask=column == ABSENT)


def iterations(columns: Mapping[str, Ints], facts: Mapping[str, Any], warm_up: int) -> pa.Table:
    """Build the table of iterations."""
    rows = []
    for found in facts["iterations"]:
        mine = columns["iteration"] == found["iteration"]
        rows.append(
            {
                **found,
                "warm_up": found["iteration"] < warm_up,
                "began_ns": found["began_ns"] - facts["zero_ns"],
                "operations": int(mine.sum()),
                "failed": int((columns["status"][mine] != OK).sum()),
            }
        )
    return pa.Table.from_pylist(rows, schema=ITERATIONS)
