"""Files are complete or absent, and one that is not ours is named and refused."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from poollab.data import store
from poollab.data.schemas import CONDITIONS, FORMAT_VERSION, READABLE, RUNS, SAMPLES
from poollab.errors import DataError

ABOUT = {"study": "pool-size", "cell": "light.pool-5.r1", "settings": "0123456789abcdef"}
PUBLISHED = Path(__file__).resolve().parents[2] / "reports" / "published"
SCHEMA = pa.schema([pa.field("n", pa.int64(), nullable=False), pa.field("word", pa.string())])

#: Dies by a real SIGKILL where the file's content is to be synced: after the write, before the rename.
CRASH = """
import os, signal, sys
from pathlib import Path
from poollab.data import store
store.os.fsync = lambda _fd: os.kill(os.getpid(), signal.SIGKILL)
store.write_json(Path(sys.argv[1]), {"n": "new" * 1000})
"""


def _table() -> pa.Table:
    return pa.table({"n": list(range(1000)), "word": [str(i) for i in range(1000)]}, schema=SCHEMA)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A good file."""
    store.write_parquet(tmp_path / "cells" / "requests.parquet", _table(), **ABOUT)
    return tmp_path / "cells" / "requests.parquet"


@pytest.mark.parametrize("existing", [True, False])
def test_a_crash_leaves_the_old_file(tmp_path: Path, existing: bool) -> None:  # noqa: FBT001
    """Killed between writing and renaming, the old file (or none) is there: never half a new one."""
    path = tmp_path / "run.json"
    if existing:
        store.write_json(path, {"n": "old"})
    done = subprocess.run([sys.executable, "-c", CRASH, str(path)], env=_env(), check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.exists() == existing
    if existing:
        assert store.read_json(path) == {"n": "old"}
    # What is left beside it does not stand in the way of the next attempt.
    store.write_json(path, {"n": "third"})
    assert store.read_json(path) == {"n": "third"}
    assert [p.name for p in tmp_path.iterdir()] == ["run.json"]


def _env() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(store.__file__).resolve().parents[2])}


def test_what_is_written_is_read(written: Path) -> None:
    """A good file gives its rows, and its hash and size are those that the writer reported."""
    facts = store.write_parquet(written, _table(), **ABOUT)
    assert store.read_parquet(written, SCHEMA, **ABOUT).to_pydict() == _table().to_pydict()
    assert (facts["rows"], facts["bytes"]) == (1000, written.stat().st_size)
    assert len(facts["sha256"]) == 64


def test_the_file_says_where_it_comes_from(written: Path) -> None:
    """Format, study, cell and settings hash stand in the Parquet file itself."""
    meta = pq.read_schema(written).metadata
    assert meta[b"poollab_format"] == str(FORMAT_VERSION).encode()
    assert {key: meta[f"poollab_{key}".encode()].decode() for key in ABOUT} == ABOUT


def test_the_same_rows_make_the_same_bytes(written: Path, tmp_path: Path) -> None:
    """Two writes of one table differ in no byte."""
    store.write_parquet(tmp_path / "again.parquet", _table(), **ABOUT)
    assert (tmp_path / "again.parquet").read_bytes() == written.read_bytes()


@pytest.mark.parametrize("keep", [-8, -1, 4, 0, 500])
def test_a_truncated_file_is_named(written: Path, keep: int) -> None:
    """A file that lost its end, even 8 bytes of it, is refused by name and never averaged in."""
    data = written.read_bytes()
    written.write_bytes(data[:keep])
    with pytest.raises(DataError, match=r"requests\.parquet is truncated or no Parquet.*measured again"):
        store.read_parquet(written, SCHEMA, **ABOUT)


@pytest.mark.parametrize(
    ("key", "other"), [("study", "smoke"), ("cell", "light.pool-5.r2"), ("settings", "f" * 16), ("format", "1")]
)
def test_a_foreign_file_is_named_with_the_key(written: Path, key: str, other: str) -> None:
    """A file of another study, cell, settings or format is refused, with the key and both values."""
    store.write_parquet(written, _table(), **{**ABOUT, key: other})
    with pytest.raises(DataError) as refused:
        store.read_parquet(written, SCHEMA, **ABOUT)
    wanted = {**ABOUT, "format": str(FORMAT_VERSION)}[key]
    assert str(written) in str(refused.value)
    assert f"says {key} = {other}, expected {wanted}" in str(refused.value)


def test_a_stranger_without_origin_is_refused(tmp_path: Path) -> None:
    """A Parquet file that some other program wrote is not ours, whatever its columns."""
    pq.write_table(_table(), tmp_path / "x.parquet")
    with pytest.raises(DataError, match="says format = None"):
        store.read_parquet(tmp_path / "x.parquet", SCHEMA)


def test_other_columns_are_refused(written: Path) -> None:
    """Right origin and wrong columns is no file of this format."""
    store.write_parquet(written, _table().rename_columns(["m", "word"]), **ABOUT)
    with pytest.raises(DataError, match=f"has other columns than format {FORMAT_VERSION}"):
        store.read_parquet(written, SCHEMA, **ABOUT)


def test_damage_in_the_middle_is_noticed(written: Path) -> None:
    """A flipped stretch of bytes inside the data is an error that names the file, not another number."""
    data = bytearray(written.read_bytes())
    at = len(data) // 3
    data[at : at + 64] = bytes(64)
    written.write_bytes(data)
    with pytest.raises(DataError, match=r"requests\.parquet"):
        store.read_parquet(written, SCHEMA, **ABOUT)


def test_missing_files_are_named(tmp_path: Path) -> None:
    """What is not there is named, with the next step."""
    with pytest.raises(DataError, match=r"x\.parquet is missing"):
        store.read_parquet(tmp_path / "x.parquet", SCHEMA)
    with pytest.raises(DataError, match=r"x\.json is missing"):
        store.read_json(tmp_path / "x.json")


@pytest.mark.parametrize("content", [b"{", b"", b"\xff\xfe", b'{"a": 1} x'])
def test_broken_records_are_named(tmp_path: Path, content: bytes) -> None:
    """A record that is no JSON is refused by name."""
    (tmp_path / "run.json").write_bytes(content)
    with pytest.raises(DataError, match=r"run\.json cannot be read"):
        store.read_json(tmp_path / "run.json")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"a": [float("-inf")]}])
def test_no_record_holds_what_json_does_not_know(tmp_path: Path, value: Any) -> None:
    """A number that is none never gets into a record, and the old record stays."""
    store.write_json(tmp_path / "r.json", 1)
    with pytest.raises(ValueError, match="JSON"):
        store.write_json(tmp_path / "r.json", value)
    assert store.read_json(tmp_path / "r.json") == 1


def _as_of(schema: pa.Schema, later: frozenset[str], rows: int = 3) -> pa.Table:
    fields = [field for field in schema if field.name not in later]
    arrays = [
        pa.nulls(rows, f.type) if f.nullable else pa.array(["" if pa.types.is_string(f.type) else 0] * rows, f.type)
        for f in fields
    ]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


@pytest.mark.parametrize("schema", [RUNS, SAMPLES], ids=["runs", "samples"])
@pytest.mark.parametrize("form", sorted(READABLE))
def test_a_table_of_an_earlier_format_is_read(tmp_path: Path, schema: pa.Schema, form: str) -> None:
    """Results of before are read with the columns that came later as null, in their places."""
    store.write_parquet(tmp_path / "t.parquet", _as_of(schema, READABLE[form]), format=form)
    table = store.read_parquet(tmp_path / "t.parquet", schema)
    assert table.column_names == schema.names
    assert all(table[name].null_count == 3 for name in READABLE[form] & set(schema.names))
    wanted = [schema.names[0], "driver"] if schema is RUNS else ["at_ns", "database_sessions"]
    assert store.read_parquet(tmp_path / "t.parquet", schema, columns=wanted).column_names == wanted


def test_an_earlier_format_has_no_later_columns(tmp_path: Path) -> None:
    """A file that says format 2 and holds columns of format 3 is not what it says."""
    store.write_parquet(tmp_path / "t.parquet", _as_of(RUNS, frozenset()), format="2")
    with pytest.raises(DataError, match="has other columns"):
        store.read_parquet(tmp_path / "t.parquet", RUNS)


def test_a_studys_table_is_made_again_and_not_measured(tmp_path: Path) -> None:
    """Damage to a table of the whole study costs no cell, and the message does not say so."""
    (tmp_path / "runs.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataError, match=r"runs\.parquet is truncated or no Parquet.*remove it") as caught:
        store.read_parquet(tmp_path / "runs.parquet", RUNS)
    assert "measured again" not in str(caught.value)


@pytest.mark.parametrize("folder", sorted(PUBLISHED.iterdir()), ids=lambda path: path.name)
def test_published_packages_are_still_read(folder: Path) -> None:
    """Their reports can be made again by the present version, whatever columns came since."""
    rows = store.read_parquet(folder / "runs.parquet", RUNS)
    assert rows.num_rows > 0
    assert store.read_parquet(folder / "conditions.parquet", CONDITIONS).num_rows > 0
