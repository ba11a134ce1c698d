"""Files that are complete or absent: written beside their place, synced, renamed; checked when read."""

import hashlib
import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from poollab.data.schemas import FORMAT_VERSION, READABLE
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
    sink = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata(_origin(about)), sink, compression="zstd", write_page_checksum=True)
    data = sink.getvalue().to_pybytes()
    write_bytes(path, data)
    return {"rows": table.num_rows, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


@contextmanager
def parquet_writer(path: Path, schema: pa.Schema, **about: str) -> Iterator[pq.ParquetWriter]:
    """
    Give a writer for a table of any length, which is written piece by piece and never held as a whole.

    The file takes its place when the block ends without an error; until then there is the old one or none.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    # Stamps hardly repeat, and to look for repetitions in them costs more than all the rest.
    repeated = [f.name for f in schema if not pa.types.is_integer(f.type)]
    try:
        with part.open("wb") as file:
            with pq.ParquetWriter(
                file,
                schema.with_metadata(_origin(about)),
                compression="zstd",
                write_page_checksum=True,
                use_dictionary=repeated,
            ) as writer:
                yield writer
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _origin(about: dict[str, str]) -> dict[str, str]:
    return {f"poollab_{key}": value for key, value in {"format": str(FORMAT_VERSION), **about}.items()}


def read_parquet(path: Path, schema: pa.Schema, *, columns: Sequence[str] | None = None, **about: str) -> pa.Table:
    """
    Read a table, or some columns of it, and check that it is ours: format, origin and columns.

    Columns that came after the file's format are null.

    Raises:
        DataError: it is missing, truncated, or of another format, study, cell or settings.
    """
    try:
        file = pq.ParquetFile(path, page_checksum_verification=True)
        table = file.read(None if columns is None else list(columns))
    except FileNotFoundError:
        raise DataError(f"{path} is missing; {_mend(path)}") from None
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{path} is truncated or no Parquet ({str(error).splitlines()[0]}); {_mend(path)}") from None
    later = _later(path, file.schema_arrow.metadata or {}, about)
    if not file.schema_arrow.equals(pa.schema([f for f in schema if f.name not in later]), check_metadata=False):
        raise DataError(f"{path} has other columns than format {FORMAT_VERSION}; it was not used")
    return _completed(table, schema, schema.names if columns is None else columns, later)


def _mend(path: Path) -> str:
    """Say what to do about a damaged table: a cell's own is measured again, others are made again from those."""
    if "cells" in path.parts:
        return "its cell must be measured again: run the same command, which sees to that"
    return "remove it if it is there, and run the same command again"


def _later(path: Path, metadata: Mapping[bytes, bytes], about: Mapping[str, str]) -> frozenset[str]:
    """Return the columns that came after a file's format, and refuse a file of another format or origin."""
    said = {k.decode(): v.decode("utf-8", "replace") for k, v in metadata.items()}
    form = said.get("poollab_format")
    if form not in READABLE:
        raise _foreign(path, "format", form, str(FORMAT_VERSION))
    for key, want in about.items():
        if (got := said.get(f"poollab_{key}")) != want:
            raise _foreign(path, key, got, want)
    return READABLE[form]


def _foreign(path: Path, key: str, got: str | None, want: str) -> DataError:
    return DataError(f"{path} says {key} = {got}, expected {want}; it is not of this study and was not used")


def _completed(table: pa.Table, schema: pa.Schema, names: Sequence[str], later: Collection[str]) -> pa.Table:
    """Add the columns that a file of an earlier format lacks, each in its place."""
    if not set(names) & set(later):
        return table
    fields = [schema.field(name) for name in names]
    made = [pa.nulls(table.num_rows, f.type) if f.name in later else table[f.name] for f in fields]
    return pa.Table.from_arrays(made, schema=pa.schema(fields))
