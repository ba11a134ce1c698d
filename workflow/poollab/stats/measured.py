"""A run with all that was kept of it, as the studies' analyses read it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from poollab.data import store
from poollab.stats.analyses import Context, Key
from poollab.stats.rows import ABSENT, Ints, Rows

Row = dict[str, Any]

#: The client whose requests start in a thread while their callers wait on an event loop.
EXECUTOR: Final = "psycopg-executor"


@dataclass(frozen=True, slots=True)
class Run:
    """One run: its record (run.json), its row of runs.parquet, its requests, and its samples by column."""

    record: Row
    row: Row
    rows: Rows
    samples: dict[str, Any]

    @property
    def workload(self) -> Row:
        """The workload's settings, with what it takes from another filled in."""
        return dict(self.record["settings"]["workload"])

    @property
    def steps(self) -> list[Row]:
        """What a request does, step by step, each {kind: values}; one query where the workload is in short form."""
        found = self.workload.get("steps") or self.workload.get("request")
        short = [{"query": {"sql": self.workload.get("sql"), "args": self.workload.get("args") or []}}]
        return [{k: v for k, v in step.items() if v is not None} for step in found or short]

    @property
    def arrivals(self) -> Row:
        """The arrival schedule's settings by kind, without the kinds that it is not."""
        return {k: v for k, v in (self.workload.get("arrivals") or {}).items() if v is not None}

    @property
    def arm(self) -> Row:
        """The arm's settings."""
        return dict(self.record["settings"]["arm"])

    @property
    def client(self) -> str:
        """Driver, execution model and pool class."""
        return str(self.row["client"])

    @property
    def size(self) -> int:
        """Connections in the pool of one process."""
        return int(self.arm["size"])

    @property
    def processes(self) -> int:
        """Generator processes, each with a pool of its own."""
        return int(self.arm.get("processes") or 1)

    @property
    def window_ns(self) -> int:
        """Length of the measurement window."""
        return round(float(self.record["window_s"]) * 1e9)

    @property
    def done(self) -> Rows:
        """The requests that ended ok."""
        return self.rows.where(self.rows.ok)

    @property
    def seen(self) -> Rows:
        """
        The requests as their callers see them: a caller of psycopg-executor asks when its request is due.

        Such a request starts in a thread, so from its start on the wait for a free thread would be gone. What comes
        before the connection is in there too, as nothing marks where it ends and that wait begins.
        """
        if self.client != EXECUTOR:
            return self.rows
        never = np.full(len(self.rows), ABSENT, dtype=np.int64)
        return replace(self.rows, started_ns=self.rows.scheduled_ns, asked_ns=never)

    def cpu_per_request_s(self, side: str) -> float | None:
        """CPU seconds of a side (`database`, `generator`) for each request that ended ok, over the observed time."""
        cores, done = self.row[f"{side}_cpu_cores"], int(self.rows.ok.sum())
        return None if cores is None or not done else float(cores) * float(self.row["observed_s"]) / done


def read(context: Context, key: Key, also: Collection[str] = ()) -> list[Run]:
    """
    Read the runs of a condition that ended ok, or with nothing but these words as well, by repeat.

    A run in which no request ended ok (where the study allows that) has nothing to be counted, and is none of them.
    """
    mine = [row for row in _of(context, key) if {"ok", *also}.issuperset(row["status"].split("+"))]
    runs = [
        Run(
            context.records[row["cell"]],
            row,
            context.requests(row["cell"]),
            context.samples(row["cell"]).to_pydict(),
        )
        for row in sorted(mine, key=lambda row: int(row["repeat"]))
    ]
    return [run for run in runs if run.rows.ok.any()]


def uncounted(context: Context, key: Key) -> Row:
    """Return a condition of which no run counts, with how each of its runs `ended`."""
    mine = sorted(_of(context, key), key=lambda row: int(row["repeat"]))
    ended = [str(row["status"]) if row["requests_ok"] else f"{row['status']}, no request ok" for row in mine]
    return {**dict(zip(("workload", "arm", "limits"), key, strict=True)), "ended": ended}


def _of(context: Context, key: Key) -> list[Row]:
    """Return the rows of a condition's runs, whatever their status."""
    return [row for row in context.runs if (row["workload"], row["arm"], row["limits"]) == key]


def keys(context: Context) -> list[Key]:
    """Return all conditions in the order of the study file."""
    return [(c["workload"], c["arm"], c["limits"]) for c in context.conditions]


def wait_ns(rows: Rows) -> Ints:
    """Return the acquisition wait of those requests (that ended ok) that took a connection."""
    return _of_takers(rows, rows.acquired_ns - rows.asking_ns)


def hold_ns(rows: Rows) -> Ints:
    """Return the hold time of those requests (that ended ok) that took a connection."""
    return _of_takers(rows, rows.released_ns - rows.acquired_ns)


def wait_and_query_ns(rows: Rows) -> Ints:
    """Return acquisition wait and query together, without the release, of those requests that took a connection."""
    return _of_takers(rows, rows.result_ns - rows.asking_ns)


def _of_takers(rows: Rows, values: Ints) -> Ints:
    found: Ints = values[rows.acquired_ns != ABSENT]
    return found


def mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of what is known; None where nothing is."""
    found = [float(value) for value in values if value is not None]
    return sum(found) / len(found) if found else None


def pooled_mean(parts: Sequence[Ints]) -> float | None:
    """Return the mean over the values of several runs together; None for none."""
    count = sum(len(part) for part in parts)
    return sum(float(part.sum()) for part in parts) / count if count else None


def machine(context: Context) -> Row:
    """Return {cpus, max_connections}: the host's CPUs and the server's limit as the blocks recorded them, or None."""
    blocks = sorted({int(record["block"]) for record in context.records.values()})
    folder = context.folder / "state" / "blocks"
    found = [store.read_json(folder / str(number) / "block.json")["environment"] for number in blocks]
    cpus = {environment.get("cpus") for environment in found}
    limits = {(environment.get("server_settings") or {}).get("max_connections") for environment in found}
    return {"cpus": _only(cpus), "max_connections": _whole(_only(limits))}


def _only(values: set[Any]) -> Any:
    """Return the one value that all blocks agree on; None where they do not."""
    return next(iter(values)) if len(values) == 1 else None


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)
