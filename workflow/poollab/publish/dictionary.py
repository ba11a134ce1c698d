"""The data dictionary: every column of a schema with type, unit and meaning."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from poollab.publish import meanings

UNDESCRIBED = "not described"

_UNITS = (
    (r"_ns$", "nanoseconds"),
    (r"_ms$", "milliseconds"),
    (r"_bytes$", "bytes"),
    (r"_cores$", "CPU cores"),
    (r"_of_cap$", "share of the CPU cap"),
    (r"_per_s$", "per second"),
    (r"_(ratio|share)$", "share, 0 to 1"),
    (r"_s$", "seconds"),
)
#: Frictionless types; what is not named here is text.
_TYPES = (
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_integer, "integer"),
    (pa.types.is_floating, "number"),
    (pa.types.is_timestamp, "datetime"),
    (pa.types.is_list, "array"),
    (pa.types.is_struct, "object"),
)


@dataclass(frozen=True, slots=True)
class Column:
    """One column: `kind` is its Arrow type in words, `unit` is empty for labels and counts."""

    name: str
    kind: str
    unit: str
    meaning: str
    nullable: bool
    frictionless: dict[str, Any]


def columns(table: str, schema: pa.Schema) -> list[Column]:
    """Describe every column of a table; a column that nobody described says so (a test finds it)."""
    return [
        Column(
            name=field.name,
            kind=_kind(field.type),
            unit=unit(field.name),
            meaning=_meaning(table, field) or UNDESCRIBED,
            nullable=field.nullable,
            frictionless=_frictionless(field.type),
        )
        for field in schema
    ]


def unknown(table: str, schema: pa.Schema) -> Iterator[str]:
    """Give the names of columns whose meaning nobody has said."""
    return (field.name for field in schema if not _meaning(table, field))


def _meaning(table: str, field: pa.Field) -> str | None:
    """Take what the field itself says under `meaning`, else what is known of its name."""
    own: bytes | None = (field.metadata or {}).get(b"meaning")
    return own.decode() if own else meanings.meaning(table, field.name)


def unit(name: str) -> str:
    """Return the unit that a column's name ends in; empty for labels and counts."""
    return next((text for pattern, text in _UNITS if re.search(pattern, name)), "")


def _plain(kind: pa.DataType) -> pa.DataType:
    """A dictionary is how text is stored, not what it is."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _kind(kind: pa.DataType) -> str:
    return str(_plain(kind))


def _frictionless(kind: pa.DataType) -> dict[str, Any]:
    word = next((word for test, word in _TYPES if test(_plain(kind))), "string")
    # CSV writers differ in how they write a moment, and none is in doubt for a reader.
    return {"type": word, "format": "any"} if word == "datetime" else {"type": word}
