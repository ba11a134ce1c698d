"""How to do it again, and which data the report was made from."""

import base64
import shlex
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from poollab.data.schemas import ALL_REQUESTS, CONDITIONS, RUNS
from poollab.report import cells, words
from poollab.report.cells import Table, column
from poollab.report.leftout import left_out
from poollab.report.load import FILES, Results, sha256
from poollab.report.studyview import StudyView

#: A file up to this size is put into the page for download; a larger one is only named.
EMBED_BYTES = 1_000_000

WHAT = {
    "requests.parquet": "one row for each scheduled request: five stamps, status, connection",
    "runs.parquet": "one row for each run",
    "runs.csv": "the same as text",
    "conditions.parquet": "one row for each condition, over its runs with status ok",
    "conditions.csv": "the same as text",
    "environment.json": "study, plan, blocks, server and machine as read back, proof of the caps",
    "cleanup.json": "what the teardown of each block removed and confirmed",
    "analysis.json": "comparisons, verdicts, drift, Little's law and the delivered load",
    "series.json": "what the figures draw besides the tables",
}


def reproduce(results: Results, study: StudyView) -> dict[str, Any]:
    """Return {commands, minutes, least_minutes, seed, remake}: how to measure the same study again."""
    usual = study.file == f"config/studies/{study.name}.yaml"
    name = shlex.quote(study.name if usual else study.file)
    spent = [
        (words.parse_time(b["ended_at"]) - words.parse_time(b["started_at"])).total_seconds()
        for b in results.environment["blocks"]
        if b.get("ended_at")
    ]
    return {
        "commands": [f"make study STUDY={name}", f"snakemake --cores 1 --config study={name}"],
        "minutes": words.number(sum(spent) / 60, 0 if sum(spent) >= 600 else 1) if spent else None,
        "least_minutes": words.number(study.least_s(results.environment["planned"]) / 60, 1),
        "cells": words.plural(len(results.environment["planned"]), "cell"),
        "seconds": study.windows_text(),
        "seed": study.model["order"]["seed"],
        "remake": f"make clean-results STUDY={name}",
    }


def build(results: Results) -> dict[str, Any]:
    """Return {table, adds_up, downloads, columns}: the files with rows, bytes and checksum."""
    scheduled = sum(r["requests"] for r in results.runs)
    same = results.request_rows == scheduled
    return {
        "table": _table(results.folder),
        "adds_up": (
            f"requests.parquet holds {results.request_rows:,} rows, {'as many as' if same else 'but NOT as many as'} "
            f"the {scheduled:,} requests that the runs scheduled."
        ),
        "downloads": [d for name in ("runs.csv", "conditions.csv") if (d := _download(results.folder / name))],
        "columns": {"requests": ALL_REQUESTS.names, "runs": RUNS.names, "conditions": CONDITIONS.names},
    }


def _row_count(path: Path) -> int | None:
    if path.suffix == ".parquet":
        return int(pq.read_metadata(path).num_rows)
    twin = path.with_suffix(".parquet")
    return _row_count(twin) if path.suffix == ".csv" and twin.is_file() else None


def _about(path: Path, elsewhere: dict[str, dict[str, Any]]) -> tuple[int | None, int, str]:
    """Return rows, bytes and SHA-256 of a file, or what its package says of one that it left out."""
    if gone := elsewhere.get(path.name):
        return gone.get("rows"), int(gone["bytes"]), str(gone["hash"]).removeprefix("sha256:")
    return _row_count(path), path.stat().st_size, sha256(path)


def _table(folder: Path) -> Table:
    rows, elsewhere = [], left_out(folder)
    for name in FILES:
        count, size, digest = _about(folder / name, elsewhere)
        shown = [cells.number(count, missing="no rows"), cells.number(size), cells.code(digest)]
        rows.append(cells.row(name, [cells.text(WHAT[name]), *shown]))
    columns = [column("file"), column("holds"), column("rows"), column("size", "bytes"), column("SHA-256")]
    return cells.table("files", f"The {len(rows)} files from which this report was made", columns, [("", rows)])


def _download(path: Path) -> dict[str, str] | None:
    data = path.read_bytes()
    if len(data) > EMBED_BYTES:
        return None
    return {"name": path.name, "uri": f"data:text/csv;base64,{base64.b64encode(data).decode()}"}
