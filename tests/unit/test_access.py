"""What an earlier run by another user left: whose it is and what to do, and never a traceback."""

import errno
import os
from pathlib import Path

import pytest

from poollab.errors import ConfigError
from poollab.session import access, lock
from poollab.session.open import open_session


def _said(path: Path, error: OSError) -> str:
    with pytest.raises(ConfigError) as caught, access.writable(path):
        raise error
    assert caught.value.exit_code == 2
    (fault,) = caught.value.faults
    return fault


def test_a_foreign_file_is_named_with_its_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Path, owner and the command that gives it back stand in one message."""
    folder = tmp_path / "my results"
    folder.mkdir()
    owner = access._user(os.geteuid())
    monkeypatch.setattr(access, "_me", lambda: 4_000_000_000)
    said = _said(folder, PermissionError(errno.EACCES, "Permission denied", str(folder / "state" / ".session.part")))
    assert (
        f"{folder}/state/.session.part: Permission denied; {folder} belongs to {owner}, and this is 4000000000" in said
    )
    assert f"sudo chown -R 4000000000 '{folder}'" in said


def test_ones_own_read_only_folder(tmp_path: Path) -> None:
    """A folder of one's own that may not be written is allowed again, not given back."""
    said = _said(tmp_path, PermissionError(errno.EACCES, "Permission denied", str(tmp_path / "x")))
    assert f"it is yours and may not be written; allow it with `chmod -R u+rwX {tmp_path}`" in said


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    """Where a plain file lies in the place of a folder it is that file which has to go."""
    (tmp_path / "tiny").write_text("", "utf-8")
    with pytest.raises(ConfigError, match=rf"{tmp_path}/tiny is no folder"), access.writable(tmp_path / "tiny"):
        (tmp_path / "tiny" / "state").mkdir(parents=True)


def test_a_full_disk_is_no_question_of_rights(tmp_path: Path) -> None:
    """Other refusals are said in the system's words."""
    said = _said(tmp_path, OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "x")))
    assert "No space left on device; the disk must have room" in said


def test_a_lock_that_root_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock file that this user may not open ends with a fault that names .snakemake."""
    (tmp_path / "config" / "studies").mkdir(parents=True)
    (tmp_path / "config" / "config.yaml").write_text("study: mine\n", "utf-8")
    (tmp_path / "config" / "studies" / "mine.yaml").write_text(STUDY, "utf-8")

    def refused(root: Path) -> bool:
        raise PermissionError(errno.EACCES, "Permission denied", str(root / ".snakemake" / "poollab.lock"))

    monkeypatch.setattr(lock, "clear_stale", refused)
    with pytest.raises(ConfigError, match=r"poollab\.lock: Permission denied"):
        open_session(tmp_path, {"study": "mine"})


STUDY = """
title: Does it work?
database: {tables: {t: {rows: 10}}}
workloads: {w: {sql: SELECT 1, arrivals: {uniform: {every_ms: 10}}}}
pools: [1]
"""
