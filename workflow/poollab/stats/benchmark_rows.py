"""The cells of one benchmark row as its analysis reads them: each pass of both arms, with times, waits and proof."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from poollab.data import store
from poollab.data.schemas import ITERATIONS
from poollab.stats import reuse, speedup
from poollab.stats.analyses import Context
from poollab.stats.benchmark_arms import FRESH
from poollab.stats.rows import Rows
from poollab.stats.speedup import Ints

Row = dict[str, Any]

#: What a record says whose cell needed no measurement.
NOT_NEEDED = "not-needed"
#: Settings of a pool that its row decides.
SIZES = frozenset({"max_size", "pool_size"})


@dataclass(frozen=True, slots=True)
class Run:
    """One measured cell: its record, and the measured iterations by column."""

    record: Row
    iterations: dict[str, list[Any]]

    @property
    def counts(self) -> bool:
        """Whether its times take part in the comparison."""
        return bool(self.record["status"] == "ok")

    @property
    def times(self) -> Ints:
        """Durations of the measured iterations, in ns."""
        return np.array(self.iterations["duration_ns"], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Cells:
    """All passes of one arm for one row; None where a pass was not needed or is missing."""

    runs: list[Run | None]
    words: list[str]
    """Status of each pass: that of its run, `not-needed`, or `missing`."""

    @property
    def good(self) -> list[Run]:
        """The runs that count."""
        return [run for run in self.runs if run is not None and run.counts]


def read(context: Context, workload: str, arm: str, limits: str, passes: int) -> Cells:
    """Read every pass of an arm for a row."""
    runs: list[Run | None] = []
    words: list[str] = []
    for number in range(1, passes + 1):
        name = ".".join(part for part in (workload, arm, limits, f"r{number}") if part)
        record = _record(context, name)
        words.append("missing" if record is None else str(record["status"]))
        runs.append(None if record is None or record["status"] == NOT_NEEDED else _run(context, record))
    return Cells(runs, words)


def _record(context: Context, name: str) -> Row | None:
    if name in context.records:
        return dict(context.records[name])
    path = context.folder / "cells" / name / "run.json"
    return dict(store.read_json(path)) if path.exists() else None


def _run(context: Context, record: Row) -> Run:
    origin = {"study": context.study, "cell": record["cell"], "settings": record["settings_hash"]}
    path = context.folder / "cells" / record["cell"] / "iterations.parquet"
    table = store.read_parquet(path, ITERATIONS, **origin)
    kept = [row for row in table.to_pylist() if not row["warm_up"]]
    return Run(record, {name: [row[name] for row in kept] for name in ITERATIONS.names})


def arm(context: Context, cells: Cells, both: Sequence[bool]) -> Row:
    """
    Return what the report says of one arm of a row: times, waits, connections, memory and CPU.

    `both` says of each pass whether both arms have a run that counts: numbers are over these passes alone, since a
    ratio of runs of different passes would compare times of different hours.
    """
    good = [run for run, counts in zip(cells.runs, both, strict=True) if run is not None and counts]
    requests = [context.requests(run.record["cell"]) for run in good]
    operations = sum(sum(run.iterations["operations"]) for run in good)
    return {
        "statuses": cells.words,
        "passes_ns": [None if run is None else run.times.tolist() for run in cells.runs],
        "times": speedup.summary([run.times for run in good]),
        "wait": speedup.summary([_wait_ns(rows) for rows in requests]),
        "use": speedup.summary([_total_ns(rows) for rows in requests]),
        "release": speedup.summary([_release_ns(rows) for rows in requests]),
        "concurrency": _concurrency(good, requests),
        "unhurried_share": _unhurried_share(good),
        "connects_timed": [int(sum(run.iterations["connects"])) for run in good],
        "connects": [int(run.record["benchmark"]["connects"]) for run in good],
        "connections_used": [len(np.unique(rows.connection[rows.connection >= 0])) for rows in requests],
        "generator_cpu_per_operation_ns": _per(good, operations, "generator_cpu_ns"),
        "database_cpu_per_operation_ns": _database_cpu(good, operations),
        "rss_max_bytes": max((max(run.iterations["rss_bytes"]) for run in good), default=None),
        "reuse": _reuse([rows for rows, run in zip(requests, good, strict=True) if _tells(run)], _size(good)),
    }


def _wait_ns(rows: Rows) -> Ints:
    """From when a check-out was due to its connection: a task that has not run yet waits as well."""
    done = rows.where(rows.ok)
    return done.acquired_ns - done.scheduled_ns


def _total_ns(rows: Rows) -> Ints:
    """From when a check-out was due to its release."""
    done = rows.where(rows.ok)
    return done.released_ns - done.scheduled_ns


def _concurrency(good: Sequence[Run], requests: Sequence[Rows]) -> float | None:
    """Return how many check-outs were under way at once on average, from asking the pool to having given back."""
    done = [rows.where(rows.ok) for rows in requests]
    lasted = sum(int(run.times.sum()) for run in good)
    return sum(int((rows.released_ns - rows.asking_ns).sum()) for rows in done) / lasted if lasted else None


def _unhurried_share(good: Sequence[Run]) -> float | None:
    """Return the share of the clock that drawn holds and stated pauses alone take; None where a run does not say."""
    known = [run.record["benchmark"].get("unhurried_ns") for run in good]
    lasted = sum(int(run.times.sum()) for run in good)
    return sum(known) / lasted if lasted and None not in known else None


def _release_ns(rows: Rows) -> Ints:
    done = rows.where(rows.ok)
    return done.released_ns - done.result_ns


def _per(good: Sequence[Run], operations: int, name: str) -> float | None:
    return sum(sum(run.iterations[name]) for run in good) / operations if operations else None


def _database_cpu(good: Sequence[Run], operations: int) -> float | None:
    """CPU of the server's processes over the measured iterations and what lies between them, for each check-out."""
    pairs = [run.record["counters"]["database"] for run in good]
    if not operations or any(reading["cpu_ns"] is None for pair in pairs for reading in pair):
        return None
    return float(sum(end["cpu_ns"] - start["cpu_ns"] for start, end in pairs)) / operations


def _size(good: Sequence[Run]) -> int:
    return int(good[0].record["settings"]["workload"]["benchmark"]["pool"]) if good else 0


def _tells(run: Run) -> bool:
    """
    Tell whether a run shows the order of reuse.

    A connection made inside the clock says nothing of it, nor do two pools whose connections have one numbering.
    """
    mixed = run.record["settings"]["workload"]["benchmark"].get("mode") == "mixed"
    return not mixed and not sum(run.iterations["connects"])


def _reuse(requests: Sequence[Rows], size: int) -> dict[str, int]:
    total = {"newest": 0, "oldest": 0, "between": 0}
    for rows in requests:
        done = rows.where(rows.ok)
        stamps = done.connection.astype(np.int64), done.asking_ns, done.acquired_ns, done.released_ns
        for key, value in reuse.order(*stamps, size).items():
            total[key] += value
    return total


def proofs(runs: Sequence[Run]) -> list[Row]:
    """
    Return the distinct implementations that ran, each once, in the order of the runs.

    Sizes differ by row and stand there; the least size is a setting where an arm names one.
    """
    found: dict[str, Row] = {}
    for run in runs:
        told = run.record["settings"]
        least = told.get("arm", {}).get("min_size") is not None and told["workload"]["benchmark"]["family"] == FRESH
        sizes = SIZES if least else SIZES | {"min_size"}
        for mode, proof in run.record["benchmark"]["implementations"].items():
            shown = {"mode": mode, **{k: v for k, v in proof.items() if k != "settings"}}
            settings = {k: v for k, v in proof["settings"].items() if k not in sizes}
            found.setdefault(repr((shown, settings)), {**shown, "settings": settings})
    return list(found.values())


def placement(runs: Sequence[Run]) -> list[Row]:
    """Return the distinct ways in which the two sides were kept to CPUs, each with the number of its runs."""
    found: dict[str, Row] = {}
    for run in runs:
        cpus = run.record["benchmark"]["cpus"]
        known = found.setdefault(repr(cpus), {**cpus, "runs": 0})
        known["runs"] += 1
    return list(found.values())
