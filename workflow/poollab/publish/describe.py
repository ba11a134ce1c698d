"""datapackage.json (Frictionless Data Package 2): every file with size, digest and, for tables, its columns."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from poollab.data import store
from poollab.publish import checksums
from poollab.publish.dictionary import Column, columns
from poollab.report.datafiles import WHAT
from poollab.report.words import parse_time

NAME = "datapackage.json"
PROFILE = "https://datapackage.org/profiles/2.0/datapackage.json"
LICENCE = {
    "name": "Apache-2.0",
    "title": "Apache License 2.0",
    "path": "https://www.apache.org/licenses/LICENSE-2.0",
}
#: What the files hold that the report does not read; the others stand in its data section.
HOLDS = {
    "index.html": "the report as one page that fetches nothing",
    "report.pdf": "the same report on paper, with tables and environment attached",
    "study.yaml": "the study as it was declared",
    "FIELDS.md": "what every file and every column holds",
    NAME: "the same for programs, with sizes and digests",
    checksums.NAME: "SHA-256 of every file",
}
_MEDIA = {
    "html": "text/html",
    "pdf": "application/pdf",
    "csv": "text/csv",
    "json": "application/json",
    "yaml": "application/yaml",
    "md": "text/markdown",
    "parquet": "application/vnd.apache.parquet",
}
_TEXTS = {"html", "csv", "json", "yaml", "md"}


def tables(folder: Path) -> dict[str, list[Column]]:
    """Return the columns of every Parquet table of a folder by its name without ending."""
    return {path.stem: columns(path.stem, pq.read_schema(path)) for path in sorted(folder.glob("*.parquet"))}


def holds(name: str) -> str:
    """Say in a few words what a file holds."""
    table = WHAT.get(f"{name.removesuffix('.csv')}.parquet") if name.endswith(".csv") else None
    return HOLDS.get(name) or (f"{table}, as text" if table else WHAT.get(name)) or "part of the report's data"


def left_out(path: Path, name: str) -> dict[str, Any]:
    """Describe a file that a package does not hold for its size: path, bytes, hash and, for a table, rows."""
    rows = {"rows": int(pq.read_metadata(path).num_rows)} if path.suffix == ".parquet" else {}
    return {"path": name, "bytes": path.stat().st_size, "hash": f"sha256:{checksums.sha256(path)}", **rows}


def descriptor(folder: Path, environment: Mapping[str, Any], missing: list[dict[str, Any]]) -> dict[str, Any]:
    """
    Return the content of datapackage.json for the files that lie in a folder now.

    `environment` is environment.json's content: title and moment are the measurement's, so the same
    measurement gives the same bytes. `missing` lists what was left out for its size.
    """
    study, known = environment["study"], tables(folder)
    skip = {NAME}
    return {
        "$schema": PROFILE,
        "name": f"poollab-{study['name']}",
        "title": study["title"],
        "description": "Report and data of one Poollab study: FIELDS.md explains every file and every column.",
        "created": parse_time(environment["measured_to"]).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "licenses": [LICENCE],
        "poollab": {**environment["poollab"], "study_hash": environment["study_hash"], "left_out": missing},
        "resources": [_resource(folder, name, known) for name in checksums.files(folder) if name not in skip],
    }


def write(folder: Path, environment: Mapping[str, Any], missing: list[dict[str, Any]]) -> None:
    """Write datapackage.json, and after it SHA256SUMS over everything."""
    store.write_json(folder / NAME, descriptor(folder, environment, missing))
    store.write_bytes(folder / checksums.NAME, checksums.write_text(folder).encode())


def _resource(folder: Path, name: str, known: Mapping[str, list[Column]]) -> dict[str, Any]:
    path, kind = folder / name, Path(name).suffix[1:].lower()
    found: dict[str, Any] = {
        "name": name.lower().replace("/", "-"),
        "path": name,
        "description": holds(name),
        "format": kind,
        "mediatype": _MEDIA.get(kind, "application/octet-stream"),
        "bytes": path.stat().st_size,
        "hash": f"sha256:{checksums.sha256(path)}",
    }
    if kind in _TEXTS:
        found["encoding"] = "utf-8"
    described = known.get(path.stem) if kind in {"csv", "parquet"} else None
    if described:
        found |= {"type": "table", "schema": _schema(described)}
    return found


def _schema(described: list[Column]) -> dict[str, Any]:
    return {"fields": [_field(column) for column in described], "missingValues": [""]}


def _field(column: Column) -> dict[str, Any]:
    # A text that is there and empty (no limits, no reasons) cannot be told from a missing one in a CSV.
    required = not column.nullable and column.frictionless["type"] != "string"
    return {
        "name": column.name,
        **column.frictionless,
        "description": column.meaning,
        **({"unit": column.unit} if column.unit else {}),
        **({"constraints": {"required": True}} if required else {}),
    }
