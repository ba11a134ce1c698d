"""A run with all that was kept of it, as the studies' analyses read it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from poollab.data import store
from poollab.stats.analyses import Context, Key
from poollab.stats.rows import ABSENT, Ints, Rows

Row = dict[str, Any]


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

    def cpu_per_request_s(self, side: str) -> float | None:
        """CPU seconds of a side (`database`, `generator`) for each request that ended ok, over the observed time."""
        cores, done = self.row[f"{side}_cpu_cores"], int(self.rows.ok.sum())
        return None if cores is None or not done else float(cores) * float(self.row["observed_s"]) / done


def read(context: Context, key: Key, also: Collection[str] = ()) -> list[Run]:
    """Read the runs of a condition that ended ok, or with nothing but these words as well, by repeat."""
    mine = [
        row
        for row in context.runs
        if (row["workload"], row["arm"], row["limits"]) == key and {"ok", *also}.issuperset(row["status"].split("+"))
    ]
    return [
        Run(
            context.records[row["cell"]],
            row,
            context.requests(row["cell"]),
            context.samples(row["cell"]).to_pydict(),
        )
        for row in sorted(mine, key=lambda row: int(row["repeat"]))
    ]


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
