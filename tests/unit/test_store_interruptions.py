"""An interruption at any point of a write leaves the old file or the new one, never a mixture."""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from poollab.data import store

STEPS = ("open", "write", "flush", "fsync", "close", "rename", "renamed")


@dataclass(frozen=True)
class Break:
    """Where a write is broken off: at a step, in `write` after some bytes, by an error or by a signal."""

    step: str
    after: int
    error: type[BaseException]

    def now(self) -> None:
        """Raise it."""
        raise self.error(errno.ENOSPC, "broken off here")


class Torn:
    """A file that breaks at one step of its use."""

    def __init__(self, file: Any, at: Break) -> None:
        self._file, self._at = file, at

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_about: object) -> None:
        self._file.close()
        self._maybe("close")

    def _maybe(self, step: str) -> None:
        if self._at.step == step:
            self._at.now()

    def write(self, data: bytes) -> int:
        """Write all, or some bytes only."""
        if self._at.step == "write":
            self._file.write(data[: self._at.after])
            self._file.flush()
            self._at.now()
        return int(self._file.write(data))

    def flush(self) -> None:
        """Flush, unless this is the step."""
        self._maybe("flush")
        self._file.flush()

    def fileno(self) -> int:
        """Return the real file's number."""
        return int(self._file.fileno())


@contextmanager
def broken(at: Break) -> Iterator[None]:
    """Break every write of a file at one step."""
    real_open, real_replace, real_sync = Path.open, Path.replace, os.fsync

    def torn_open(path: Path, *words: Any, **more: Any) -> Torn:
        if at.step == "open":
            at.now()
        return Torn(real_open(path, *words, **more), at)

    def sync(number: int) -> None:
        if at.step == "fsync":
            at.now()
        real_sync(number)

    def replace(path: Path, target: Path) -> Path:
        if at.step == "rename":
            at.now()
        found = real_replace(path, target)
        if at.step == "renamed":
            at.now()
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "open", torn_open)
        patch.setattr(Path, "replace", replace)
        patch.setattr(store.os, "fsync", sync)
        yield


BREAKS = st.builds(
    Break, st.sampled_from(STEPS), st.integers(0, 300), st.sampled_from([OSError, KeyboardInterrupt, MemoryError])
)
CONTENT = st.binary(max_size=200)


@given(old=st.none() | CONTENT, attempts=st.lists(st.tuples(CONTENT, BREAKS), min_size=1, max_size=5), last=CONTENT)
@example(old=b"old", attempts=[(b"newer", Break(step, 2, OSError)) for step in STEPS], last=b"last")
def test_a_broken_write_leaves_the_old_file_or_the_new_one(
    old: bytes | None, attempts: list[tuple[bytes, Break]], last: bytes
) -> None:
    """However often and wherever writes are broken off, the file is whole, and a later write succeeds."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.json"
        if old is not None:
            path.write_bytes(old)
        there = old
        for new, at in attempts:
            # From the moment of the rename, and not before, the new one is the file.
            there = new if at.step == "renamed" else there
            with broken(at), pytest.raises(at.error, match="broken off here"):
                store.write_bytes(path, new)
            assert (path.read_bytes() if path.exists() else None) == there
        store.write_bytes(path, last)
        assert path.read_bytes() == last
        assert [item.name for item in Path(folder).iterdir()] == ["run.json"]


@given(at=BREAKS)
@pytest.mark.parametrize("old", [{"n": "old"}, None])
def test_a_broken_record_is_never_half_a_record(old: dict[str, str] | None, at: Break) -> None:
    """What reads a record after a broken write finds valid JSON of one of the two, or no file where there was none."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state" / "run.json"
        if old is not None:
            store.write_json(path, old)
        new = {"n": "new" * 50}
        with broken(at), suppress(at.error):
            store.write_json(path, new)
        found = store.read_json(path) if path.exists() else None
        assert found == (new if at.step == "renamed" else old)
