"""
Analyses: what a study's `analysis` chooses, one module each (pool-size is pool_size.py).

Each module has `build(context) -> dict` of plain JSON values with at least

    headline   one sentence that ends with a full stop, for the terminal and page one
    verdicts   [{"subject", "sentence", "word", ...}], one for each thing that the study asks

It may name as `outside` the section of its report that uses runs which are not ok all the same. The rest of
analysis.json (`comparisons`, `drift`, `warnings`, `littles`, `stimulus`) is the same for all. A new
analysis is one new file here, its name in the study's model, and one module and template in the report.
"""

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from poollab.data import store
from poollab.data.schemas import REQUESTS, SAMPLES
from poollab.errors import DataError
from poollab.stats.rows import Rows

Row = dict[str, Any]
#: Workload, arm, limits (empty where the study names no levels).
Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Context:
    """Everything an analysis may read; rows of requests come cell by cell, so that memory stays bounded."""

    model: Mapping[str, Any]
    """The study as plain JSON values."""
    runs: Sequence[Row]
    """Rows of RUNS of all measured runs, whatever their status, in the executed order; None where absent."""
    conditions: Sequence[Row]
    """Rows of CONDITIONS in the order of the study file."""
    per_run: Mapping[str, Row] = field(default_factory=dict)
    """For each cell `littles` and `stimulus`, as in analysis.json."""
    records: Mapping[str, Row] = field(default_factory=dict)
    """For each cell its run.json."""
    folder: Path = Path()
    """The results; read through `requests` and `samples`."""
    study: str = ""
    """The study's name."""

    @property
    def margin(self) -> float:
        """Equality margin as a share: differences within it are called the same."""
        return float(self.model.get("margin", 0.05))

    def ok_runs(self, key: Key) -> list[Row]:
        """Return the runs of a condition whose status is ok, by repeat."""
        mine = [r for r in self.runs if (r["workload"], r["arm"], r["limits"]) == key and r["status"] == "ok"]
        return sorted(mine, key=lambda r: int(r["repeat"]))

    def requests(self, cell: str) -> Rows:
        """Read a cell's measured requests; raises DataError for a file that is not ours."""
        return Rows.of(self._table(cell, "requests.parquet", REQUESTS))

    def samples(self, cell: str) -> Any:
        """Read a cell's samples (an Arrow table with the columns of SAMPLES)."""
        return self._table(cell, "samples.parquet", SAMPLES)

    def pooled(self, key: Key) -> Iterator[Rows]:
        """Give the requests of a condition's ok runs, one run after another."""
        for run in self.ok_runs(key):
            yield self.requests(run["cell"])

    def _table(self, cell: str, name: str, schema: Any) -> Any:
        origin = {"study": self.study, "cell": cell, "settings": self.records[cell]["settings_hash"]}
        return store.read_parquet(self.folder / "cells" / cell / name, schema, **origin)


def build(context: Context) -> Row:
    """
    Run the analysis that the study names (`pool-size` where it names none).

    Raises:
        DataError: no such analysis, or it lacks what every analysis gives.
    """
    name = str(context.model.get("analysis") or "pool-size")
    found = _builder(name)(context)
    if lacking := {"headline", "verdicts"} - set(found):
        raise DataError(f"analysis {name} gave no {' and no '.join(sorted(lacking))}; this is a fault of Poollab")
    return {"analysis": name, **found}


def _builder(name: str) -> Callable[[Context], Row]:
    module = f"poollab.stats.analyses.{name.replace('-', '_')}"
    try:
        found: Callable[[Context], Row] = importlib.import_module(module).build
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise DataError(f"analysis {name}: there is no such analysis; name another in the study file") from None
    return found
