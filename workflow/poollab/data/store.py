"""Files that are complete or absent: written beside their place, synced, renamed; checked when read."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from poollab.data.schemas import FORMAT_VERSION
from poollab.errors import DataError


def write_bytes(path: Path, data: bytes) -> None:
    """Write a whole file: after a crash at any moment there is the old one, the new one or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    with part.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def write_json(path: Path, data: Any) -> None:
    """Write plain values as readable JSON; NaN and infinity are refused."""
    write_bytes(path, (json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode())


def read_json(path: Path) -> Any:
    """
    Read JSON.

    Raises:
        DataError: the file is missing or no JSON; names it.
    """
    try:
        return json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path} is missing; run the same command again") from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read ({error}); move it away and run the same command again") from None


def write_parquet(path: Path, table: pa.Table, **about: str) -> dict[str, Any]:
    """Write a table with its origin in the Arrow metadata; return rows, bytes and SHA-256 of the file."""
    meta = {f"poollab_{key}": value for key, value in {"format": str(FORMAT_VERSION), **about}.items()}
    sink = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata(meta), sink, compression="zstd", write_page_checksum=True)
    data = sink.getvalue().to_pybytes()
    write_bytes(path, data)
    return {"rows": table.num_rows, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def read_parquet(path: Path, schema: pa.Schema, **about: str) -> pa.Table:
    """
    Read a table and check that it is ours: format, origin and columns.

    Raises:
        DataError: it is missing, truncated, or of another format, study, cell or settings.
    """
    try:
        table = pq.read_table(path, page_checksum_verification=True)
    except FileNotFoundError:
        raise DataError(f"{path} is missing; delete its cell's folder and run the same command again") from None
    except (OSError, pa.ArrowException) as error:
        raise DataError(
            f"{path} is truncated or no Parquet ({str(error).splitlines()[0]}); its cell must be measured again"
        ) from None
    meta = {k.decode(): v.decode("utf-8", "replace") for k, v in (table.schema.metadata or {}).items()}
    for key, want in {"format": str(FORMAT_VERSION), **about}.items():
        if (got := meta.get(f"poollab_{key}")) != want:
            raise DataError(f"{path} says {key} = {got}, expected {want}; it is not of this study and was not used")
    if not table.schema.equals(schema, check_metadata=False):
        raise DataError(f"{path} has other columns than format {FORMAT_VERSION}; it was not used")
    return table
