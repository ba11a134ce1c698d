"""The requests of one cell as numpy columns: what every statistic of requests is made from."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from poollab.data.schemas import INTERVALS, STAMPS, STATUSES

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

#: Stands for "never reached"; no clock shows it.
ABSENT: Final = np.iinfo(np.int64).min

#: Columns that `Rows.of` needs of a table; the others may be absent (then: never, process 0, no step, open).
NEEDED: Final = (*STAMPS, "status", "connection")
OPTIONAL: Final = ("asked_ns", "ended_ns", "process", "step", "closed")

#: Intervals in the order in which a request passes them; `before` and `after` exist only where a workload has steps
#: without a connection.
PARTS: Final = ("scheduling_delay", "before", "acquisition_wait", "query_round_trip", "release", "after")


@dataclass(frozen=True, slots=True)
class Rows:
    """
    One value for each scheduled request, in the order of the schedule.

    Stamps are int64 nanoseconds since the first scheduled arrival, ABSENT where never reached. `asked_ns` and
    `ended_ns` are as recorded: ABSENT where nothing precedes the acquisition or follows the release.
    """

    scheduled_ns: Ints
    started_ns: Ints
    asked_ns: Ints
    acquired_ns: Ints
    result_ns: Ints
    released_ns: Ints
    ended_ns: Ints
    status: npt.NDArray[np.int8]
    """Index into STATUSES; 0 is ok."""
    connection: npt.NDArray[np.int32]
    """Number of the connection, -1 without one."""
    process: npt.NDArray[np.int16]
    step: npt.NDArray[np.int16]
    """Number of the arrivals step, -1 without steps."""
    closed: Flags
    """Whether the request was sent by a worker in a loop."""

    def __len__(self) -> int:
        return len(self.scheduled_ns)

    @classmethod
    def of(cls, table: pa.Table) -> "Rows":
        """Take the columns of a table with those of REQUESTS; one without the optional columns is as good."""
        count, names = table.num_rows, table.column_names

        def ints(name: str, kind: Any, missing: int) -> Any:
            return _numpy(table[name], missing, kind) if name in names else np.full(count, missing, dtype=kind)

        stamps = {name: ints(name, np.int64, ABSENT) for name in (*STAMPS, "asked_ns", "ended_ns")}
        closed = _numpy(table["closed"], missing=False, kind=np.bool_) if "closed" in names else np.zeros(count, bool)
        return cls(
            **stamps,
            status=_statuses(table["status"]),
            connection=ints("connection", np.int32, -1),
            process=ints("process", np.int16, 0),
            step=ints("step", np.int16, -1),
            closed=closed,
        )

    def where(self, chosen: Flags) -> "Rows":
        """Return the chosen requests."""
        if chosen.all():
            return self
        return Rows(**{f.name: getattr(self, f.name)[chosen] for f in fields(self)})

    @property
    def ok(self) -> Flags:
        """Which requests ended ok."""
        return np.asarray(self.status == 0)

    @property
    def asking_ns(self) -> Ints:
        """When a connection was asked for: the start, where nothing precedes that."""
        return np.where(self.asked_ns == ABSENT, self.started_ns, self.asked_ns)

    @property
    def end_ns(self) -> Ints:
        """When the whole request ended: the release, where nothing follows it."""
        return np.where(self.ended_ns == ABSENT, self.released_ns, self.ended_ns)


def parts(rows: Rows) -> dict[str, Ints | None]:
    """
    Return the intervals (PARTS) of requests that ended ok, in ns; they add up to the overall time of each.

    None where an interval does not exist for these requests. A request that took no connection among others that
    did has spent all its time before one.
    """
    if not len(rows):
        return dict.fromkeys(PARTS)
    asking, end = rows.asking_ns, rows.end_ns
    late = rows.started_ns - rows.scheduled_ns
    took = rows.acquired_ns != ABSENT
    if not took.any():
        return {**dict.fromkeys(PARTS), "scheduling_delay": late, "before": end - rows.started_ns}
    with_before, with_after = (bool((c != ABSENT).any()) for c in (rows.asked_ns, rows.ended_ns))
    found: dict[str, Ints | None] = {
        "scheduling_delay": late,
        "before": asking - rows.started_ns if with_before else None,
        "acquisition_wait": rows.acquired_ns - asking,
        "query_round_trip": rows.result_ns - rows.acquired_ns,
        "release": rows.released_ns - rows.result_ns,
        "after": end - rows.released_ns if with_after else None,
    }
    if not took.all():
        found = {k: None if v is None else np.where(took, v, 0) for k, v in found.items()} | {"scheduling_delay": late}
        found["before"] = np.where(took, 0 if not with_before else asking - rows.started_ns, end - rows.started_ns)
    return found


def overall(rows: Rows) -> Ints:
    """Return the overall time of requests that ended ok, in ns."""
    return rows.end_ns - rows.scheduled_ns


def tables(rows: Iterable[pa.RecordBatch]) -> Iterator[Rows]:
    """Return the rows of record batches, one batch in memory at a time."""
    for batch in rows:
        yield Rows.of(pa.Table.from_batches([batch]))


def _numpy(column: pa.ChunkedArray, missing: Any, kind: Any) -> Any:
    whole = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if whole.null_count:
        whole = whole.fill_null(missing)
    return np.asarray(whole.to_numpy(zero_copy_only=False), dtype=kind)


def _statuses(column: pa.ChunkedArray) -> npt.NDArray[np.int8]:
    """Return the index of each status in STATUSES, whatever dictionary the column has."""
    whole = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if not pa.types.is_dictionary(whole.type):
        whole = whole.dictionary_encode()
    places = np.array([STATUSES.index(word) for word in whole.dictionary.to_pylist()] or [0], dtype=np.int8)
    return np.asarray(places[whole.indices.to_numpy(zero_copy_only=False)])


#: Names of the intervals whose sum is the overall time in an ordinary study.
ORDINARY: Final = tuple(name for name, _, _ in INTERVALS)
