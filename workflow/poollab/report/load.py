"""Read the files of one study's results; the only module of the report that opens them."""

import hashlib
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from poollab.data.schemas import CONDITIONS, RUNS
from poollab.data.store import read_json, read_parquet
from poollab.errors import DataError
from poollab.report.leftout import left_out

Row = dict[str, Any]

#: What the report reads, in the order in which the data section lists it.
FILES = (
    "requests.parquet",
    "runs.parquet",
    "runs.csv",
    "conditions.parquet",
    "conditions.csv",
    "environment.json",
    "cleanup.json",
    "analysis.json",
    "series.json",
)


#: What the JSON files must hold; a `*` stands for each entry of a list.
ENVIRONMENT_KEYS = (
    *(f"study.{key}" for key in ("name", "file", "title", "model")),
    *(
        f"study.model.{key}"
        for key in ("database", "load_generator", "workloads", "windows", "order", "repeats", "client")
    ),
    *(f"poollab.{key}" for key in ("version", "method", "commit", "dirty")),
    *("study_hash", "lab.kind", "lab.caps_enforced", "lab.caps_note", "planned", "measured_from", "measured_to"),
    *(f"blocks.*.{key}" for key in ("block", "started_at", "ended", "cells", "environment")),
)
ANALYSIS_KEYS = ("headline", *(f"verdicts.*.{key}" for key in ("subject", "sentence", "word")), "drift", "warnings")
CLEANUP_KEYS = tuple(f"blocks.*.{key}" for key in ("block", "at", "removed", "leftovers", "confirmed", "sentence"))


@dataclass(frozen=True, slots=True)
class Results:
    """Everything read from a results folder; numbers in the units of `data.schemas`, null as None."""

    folder: Path
    runs: list[Row]
    conditions: list[Row]
    request_rows: int
    environment: Row
    cleanup: Row
    analysis: Row
    series: Row


def load(folder: Path) -> Results:
    """
    Read a results folder.

    Raises:
        DataError: files are missing, truncated or of another format; names each and the next step.
    """
    elsewhere = left_out(folder)
    spared = {"requests.parquet"} & set(elsewhere)
    missing = [name for name in FILES if name not in spared and not (folder / name).is_file()]
    if missing:
        raise DataError(
            f"{folder}: the report needs {', '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} missing; "
            "run the study's snakemake command again, which makes what is absent"
        )
    return Results(
        folder=folder,
        runs=sorted(_rows(folder / "runs.parquet", RUNS), key=lambda r: r["position"]),
        conditions=_rows(folder / "conditions.parquet", CONDITIONS),
        request_rows=_request_rows(folder, elsewhere),
        environment=_json(folder / "environment.json", ENVIRONMENT_KEYS),
        cleanup=_json(folder / "cleanup.json", CLEANUP_KEYS),
        analysis=_json(folder / "analysis.json", ANALYSIS_KEYS),
        series=_json(folder / "series.json", ("runs", "conditions", "timelines")),
    )


def sha256(path: Path) -> str:
    """Return the file's SHA-256 as 64 hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _request_rows(folder: Path, elsewhere: dict[str, Row]) -> int:
    gone = elsewhere.get("requests.parquet")
    return _row_count(folder / "requests.parquet") if gone is None else int(gone["rows"])


def _row_count(path: Path) -> int:
    """Requests can be millions: the report needs to know how many there are, not to hold them."""
    try:
        return int(pq.read_metadata(path).num_rows)
    except (pa.ArrowException, OSError) as error:
        raise DataError(
            f"{path} is truncated or no Parquet ({str(error).splitlines()[0]}); remove it and run the same command "
            "again"
        ) from None


def _rows(path: Path, schema: pa.Schema) -> list[Row]:
    rows: list[Row] = read_parquet(path, schema).to_pylist()
    return [{key: _no_nan(value) for key, value in row.items()} for row in rows]


def _no_nan(value: Any) -> Any:
    """A NaN would be formatted as a number; what was not measured is None everywhere."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _json(path: Path, keys: tuple[str, ...]) -> Row:
    data = read_json(path)
    if not isinstance(data, dict):
        raise DataError(f"{path}: holds no JSON object; remove it and run the same command again")
    absent = [key for key in keys if not _holds(data, key.split("."))]
    if absent:
        raise DataError(f"{path}: lacks {', '.join(absent)}; remove it and run the same command again")
    return data


def _holds(data: Any, key: list[str]) -> bool:
    if not key:
        return True
    if key[0] == "*":
        return isinstance(data, list) and all(_holds(item, key[1:]) for item in data)
    return isinstance(data, dict) and key[0] in data and _holds(data[key[0]], key[1:])
