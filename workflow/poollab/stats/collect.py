"""Join all cells into the study's tables, after checking that they belong together."""

import io
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from poollab import __version__
from poollab.data import store
from poollab.data.schemas import ALL_REQUESTS, CONDITIONS, REQUESTS, RUNS, SAMPLES
from poollab.errors import DataError
from poollab.stats import provenance, summary


def collect(results: Path) -> None:
    """
    Write requests, runs, conditions (Parquet, the latter two as CSV too) and environment.json.

    Raises:
        DataError: a cell is missing, truncated, foreign, or saw another stimulus than its siblings.
    """
    session = store.read_json(results / "state" / "session.json")
    records = _records(results, session)
    _same_stimulus(records)
    name = session["study"]["name"]
    tables, runs = [], []
    for position, record in enumerate(sorted(records, key=_executed), start=1):
        origin = {"study": name, "cell": record["cell"], "settings": record["settings_hash"]}
        folder = results / "cells" / record["cell"]
        table = store.read_parquet(folder / "requests.parquet", REQUESTS, **origin)
        samples = store.read_parquet(folder / "samples.parquet", SAMPLES, **origin)
        runs.append(summary.run_row(record, frame(table), frame(samples), position))
        tables.append(_labelled(table, record, position))
    everything = pa.concat_tables(tables)
    about = {"study": name, "settings": session["study_hash"]}
    store.write_parquet(results / "requests.parquet", everything, **about)
    run_table = _table(runs, RUNS)
    conditions = _table(_conditions(session, run_table, everything), CONDITIONS)
    for stem, table in (("runs", run_table), ("conditions", conditions)):
        store.write_parquet(results / f"{stem}.parquet", table, **about)
        store.write_bytes(results / f"{stem}.csv", _csv(table))
    store.write_json(results / "environment.json", provenance.environment(results, session, records, __version__))


def _executed(record: dict[str, Any]) -> tuple[int, int]:
    """Order runs as they were executed; by the monotonic clock within a block, since wall clocks are stepped."""
    return record["block"], record["zero_ns"]


def frame(table: pa.Table) -> pd.DataFrame:
    """Return a frame whose integers stay integers where values are missing."""
    if "status" in table.column_names:
        table = table.set_column(table.schema.get_field_index("status"), "status", table["status"].cast(pa.string()))
    made: pd.DataFrame = table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype(), pa.int32(): pd.Int32Dtype()}.get)
    return made


def _records(results: Path, session: dict[str, Any]) -> list[dict[str, Any]]:
    records = []
    for cell in session["planned"]:
        record = store.read_json(results / "cells" / cell / "run.json")
        if record["settings_hash"] != session["cells"][cell]["settings_hash"] or record["cell"] != cell:
            raise DataError(f"{results / 'cells' / cell} was measured with other settings; it was not used")
        records.append(record)
    return records


def _same_stimulus(records: list[dict[str, Any]]) -> None:
    """Arms are compared in pairs, so a workload's repeat must have sent the same schedule and arguments to each."""
    seen: dict[tuple[str, int], dict[str, Any]] = {}
    for record in records:
        other = seen.setdefault((record["workload"], record["repeat"]), record)
        if other["schedule_hash"] != record["schedule_hash"]:
            raise DataError(
                f"cells {other['cell']} and {record['cell']} were sent different schedules or arguments "
                f"({other['schedule_hash']} and {record['schedule_hash']}); they cannot be compared. "
                f"Remove both folders and run the same command again"
            )


def _labelled(table: pa.Table, record: dict[str, Any], position: int) -> pa.Table:
    labels = {key: record[key] for key in ("cell", "workload", "arm", "limits", "repeat", "block")} | {
        "position": position
    }
    columns = [
        pa.array([labels[f.name]] * table.num_rows, f.type) if f.name in labels else table[f.name] for f in ALL_REQUESTS
    ]
    return pa.Table.from_arrays(columns, schema=ALL_REQUESTS)


def _conditions(session: dict[str, Any], runs: pa.Table, everything: pa.Table) -> list[dict[str, Any]]:
    frames, found = frame(runs), []
    planned: dict[tuple[str, ...], int] = {}
    for plan in session["cells"].values():
        key = tuple(plan[k] for k in summary.KEYS)
        planned[key] = planned.get(key, 0) + 1
    model = session["study"]["model"]
    for key in sorted(planned, key=lambda k: _file_order(model, k)):
        mine = frames[(frames[list(summary.KEYS)] == list(key)).all(axis=1)]
        rows = frame(everything.filter(pc.is_in(everything["cell"], pa.array(mine["cell"].tolist()))))
        found.append(summary.complete(summary.condition_row(planned[key], mine, rows)))
    return found


def _file_order(model: dict[str, Any], key: tuple[str, ...]) -> tuple[int, ...]:
    workload, arm, limits = key
    arms = list(model["arms"] or [f"pool-{size}" for size in model["pools"]])
    levels = list(model["limits"] or [""])
    return list(model["workloads"]).index(workload), levels.index(limits), arms.index(arm)


def _table(rows: list[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    plain = [{k: (None if _missing(v) else v) for k, v in row.items()} for row in rows]
    return pa.Table.from_pylist([{name: row.get(name) for name in schema.names} for row in plain], schema=schema)


def _missing(value: Any) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and value != value)  # noqa: PLR0124 - NaN


def _csv(table: pa.Table) -> bytes:
    text = io.StringIO()
    frame(table).to_csv(text, index=False, lineterminator="\n")
    return text.getvalue().encode()
