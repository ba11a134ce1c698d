"""
Join all cells into the study's tables, after checking that they belong together.

One cell is in memory at a time, and then the intervals of one condition: a study of any length can be joined.
"""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from poollab import __version__
from poollab.data import store, sums
from poollab.data.schemas import ALL_REQUESTS, CONDITIONS, REQUESTS, RUNS, SAMPLES
from poollab.errors import DataError
from poollab.stats import analyses, findings, littles, provenance, series, stimulus, summary
from poollab.stats.requests import Sample
from poollab.stats.rows import NEEDED, OPTIONAL, Rows

Row = dict[str, Any]
#: What is made from the cells; the outputs of the rule.
MADE = (
    "requests.parquet",
    *(f"{table}.{ending}" for table in ("runs", "conditions") for ending in ("parquet", "csv")),
    "environment.json",
    "analysis.json",
    "series.json",
)
#: A planned cell that the study could do without holds a record and no rows.
NOT_NEEDED = "not-needed"


def collect(results: Path) -> None:
    """
    Write requests, runs, conditions (Parquet, the latter two as CSV too), environment.json, analysis.json, series.json.

    Raises:
        DataError: a cell is missing, truncated, foreign, or saw another stimulus than its siblings.
    """
    session = store.read_json(results / "state" / "session.json")
    records = sorted((r for r in _records(results, session) if r["status"] != NOT_NEEDED), key=_executed)
    _same_stimulus(records)
    about = {"study": session["study"]["name"], "settings": session["study_hash"]}
    kept = {record["cell"] for record in records}
    planned = {name: plan for name, plan in session["cells"].items() if name in kept}
    runs, per_run = tables(results, records, planned, session["study"]["model"], **about)
    store.write_json(results / "environment.json", provenance.environment(results, session, records, __version__))
    context = analyses.Context(
        model=session["study"]["model"],
        runs=runs,
        conditions=plain(store.read_parquet(results / "conditions.parquet", CONDITIONS)),
        per_run=per_run,
        records={record["cell"]: record for record in records},
        folder=results,
        study=session["study"]["name"],
    )
    store.write_json(results / "analysis.json", findings.whole(context))
    store.write_json(results / "series.json", series.build(results))
    sums.note(results, "tables", MADE)


def tables(
    results: Path, records: list[Row], planned: dict[str, Row], model: Row, **about: str
) -> tuple[list[Row], dict[str, Row]]:
    """
    Write requests, runs and conditions from the cells of `records` (run.json of each, in the executed order).

    Returns the rows of runs, and for each cell its `littles` and `stimulus`.
    """
    rows, per_run = [], {}
    with store.parquet_writer(results / "requests.parquet", ALL_REQUESTS, **about) as everything:
        for position, record in enumerate(records, start=1):
            row, found = _run(results, record, position, everything)
            rows.append(row)
            per_run[record["cell"]] = found
    run_table = _table(rows, RUNS)
    conditions = _table(list(_conditions(results, records, planned, model, frame(run_table))), CONDITIONS)
    for stem, table in (("runs", run_table), ("conditions", conditions)):
        store.write_parquet(results / f"{stem}.parquet", table, **about)
        store.write_bytes(results / f"{stem}.csv", _csv(table))
    return plain(run_table), per_run


def _run(results: Path, record: Row, position: int, everything: pq.ParquetWriter) -> tuple[Row, Row]:
    """Append a cell's requests to the table of all; return its row of runs, and what its load and Little's law say."""
    folder, origin = results / "cells" / record["cell"], _origin(record)
    table = store.read_parquet(folder / "requests.parquet", REQUESTS, **origin)
    everything.write_table(_labelled(table, record, position), row_group_size=max(1, table.num_rows))
    rows = Rows.of(table)
    row = summary.run_row(
        record, rows, frame(store.read_parquet(folder / "samples.parquet", SAMPLES, **origin)), position
    )
    active = row["server_active_ns"], row["client_active_ns"]
    return row, {
        # The window of a benchmark also holds what lies between its iterations, so a mean over it is of nothing.
        "littles": {} if "benchmark" in record else littles.of_run(rows, record["window_s"], *active),
        "stimulus": stimulus.of_run(
            rows,
            record["settings"]["workload"]["arrivals"],
            record["window_s"],
            (record.get("calibration") or {}).get("capacity_per_s"),
        ),
    }


def _origin(record: Row) -> dict[str, str]:
    return {"study": record["study"], "cell": record["cell"], "settings": record["settings_hash"]}


def _executed(record: Row) -> tuple[int, int]:
    """Order runs as they were executed; by the monotonic clock within a block, since wall clocks are stepped."""
    return record["block"], record["zero_ns"]


def frame(table: pa.Table) -> pd.DataFrame:
    """Return a frame whose integers stay integers where values are missing."""
    if "status" in table.column_names:
        table = table.set_column(table.schema.get_field_index("status"), "status", table["status"].cast(pa.string()))
    whole = {pa.int64(): pd.Int64Dtype(), pa.int32(): pd.Int32Dtype(), pa.int16(): pd.Int16Dtype()}
    made: pd.DataFrame = table.to_pandas(types_mapper=whole.get)
    return made


def plain(table: pa.Table) -> list[Row]:
    """Return rows of plain values, None where missing."""
    rows: list[Row] = table.to_pylist()
    return [{key: None if _missing(value) else value for key, value in row.items()} for row in rows]


def _records(results: Path, session: Row) -> list[Row]:
    records = []
    for cell in session["planned"]:
        record = store.read_json(results / "cells" / cell / "run.json")
        if record["settings_hash"] != session["cells"][cell]["settings_hash"] or record["cell"] != cell:
            raise DataError(f"{results / 'cells' / cell} was measured with other settings; it was not used")
        records.append(record)
    return records


def _same_stimulus(records: list[Row]) -> None:
    """Arms are compared in pairs, so a workload's repeat must have sent the same schedule and arguments to each."""
    seen: dict[tuple[str, int], Row] = {}
    for record in records:
        other = seen.setdefault((record["workload"], record["repeat"]), record)
        if other["schedule_hash"] != record["schedule_hash"]:
            raise DataError(
                f"cells {other['cell']} and {record['cell']} were sent different schedules or arguments "
                f"({other['schedule_hash']} and {record['schedule_hash']}); they cannot be compared. "
                f"Remove both folders and run the same command again"
            )


def _labelled(table: pa.Table, record: Row, position: int) -> pa.Table:
    labels = {key: record[key] for key in ("cell", "workload", "arm", "limits", "repeat", "block")} | {
        "position": position
    }
    columns = [
        pa.repeat(pa.scalar(labels[f.name], f.type), table.num_rows) if f.name in labels else table[f.name]
        for f in ALL_REQUESTS
    ]
    return pa.Table.from_arrays(columns, schema=ALL_REQUESTS)


def _conditions(
    results: Path, records: list[Row], planned: dict[str, Row], model: Row, runs: pd.DataFrame
) -> Iterator[Row]:
    """Give a row for each planned condition, in the order of the study file."""
    counts: dict[tuple[str, ...], int] = {}
    for plan in planned.values():
        key = tuple(plan[k] for k in summary.KEYS)
        counts[key] = counts.get(key, 0) + 1
    for key in sorted(counts, key=lambda k: _file_order(model, k)):
        mine = runs[(runs[list(summary.KEYS)] == list(key)).all(axis=1)]
        good = [r for r in records if tuple(r[k] for k in summary.KEYS) == key and r["status"] == "ok"]
        samples = [_sample(results, record) for record in good]
        yield summary.complete(summary.condition_row(counts[key], mine, Sample.join(samples) if samples else None))


def _sample(results: Path, record: Row) -> Sample:
    path = results / "cells" / record["cell"] / "requests.parquet"
    wanted = [name for name in (*NEEDED, *OPTIONAL) if name in REQUESTS.names]
    table = store.read_parquet(path, REQUESTS, columns=wanted, **_origin(record))
    return Sample.of(Rows.of(table), summary.own_pool(record))


def _file_order(model: Row, key: tuple[str, ...]) -> tuple[int, ...]:
    workload, arm, limits = key
    arms = list(model["arms"] or [f"pool-{size}" for size in model["pools"]])
    levels = list(model["limits"] or [""])
    return list(model["workloads"]).index(workload), levels.index(limits), arms.index(arm)


def _table(rows: list[Row], schema: pa.Schema) -> pa.Table:
    filled = [{k: (None if _missing(v) else v) for k, v in row.items()} for row in rows]
    return pa.Table.from_pylist([{name: row.get(name) for name in schema.names} for row in filled], schema=schema)


def _missing(value: Any) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and value != value)  # noqa: PLR0124 - NaN


def _csv(table: pa.Table) -> bytes:
    text = io.StringIO()
    frame(table).to_csv(text, index=False, lineterminator="\n")
    return text.getvalue().encode()
