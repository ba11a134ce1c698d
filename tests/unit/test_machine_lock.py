"""One study at a time on a machine: the lock, whoever holds it and whatever lies in its place."""

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from poollab.errors import LockedError
from poollab.session import machine_lock

WORKFLOW = Path(__file__).resolve().parents[2] / "workflow"
HOLD = """
import sys, time
from pathlib import Path
from poollab.session import machine_lock
print(machine_lock.take((Path(sys.argv[1]),)) or "held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A folder as /tmp: everybody may make a file in it and nobody may remove another's."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


@contextmanager
def holder(folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """Another process that holds the lock."""
    environment = {"PYTHONPATH": str(WORKFLOW), "PATH": os.defpath}
    command = [sys.executable, "-c", HOLD, str(folder)]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "held"
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_second_one_is_refused_with_who_holds_it(shared: Path) -> None:
    """The message names the process, its user and since when; the command can simply be run again later."""
    with holder(shared) as process, pytest.raises(LockedError) as caught:
        machine_lock.take((shared,))
    text = str(caught.value)
    assert f"process {process.pid} measures another study on this machine" in text
    assert "user " in text
    assert "UTC" in text
    assert "Run the same command when it has ended" in text


def test_any_death_gives_it_back(shared: Path) -> None:
    """After kill -9 of the holder the next one gets it at once."""
    with holder(shared) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert machine_lock.take((shared,)) == ""


def test_children_do_not_keep_it(shared: Path) -> None:
    """A program that the holder started and that outlives it does not hold the machine."""
    code = (
        "import sys, subprocess\nfrom pathlib import Path\nfrom poollab.session import machine_lock\n"
        "assert machine_lock.take((Path(sys.argv[1]),)) == ''\n"
        "print(subprocess.Popen(['sleep', '30'], stdout=-3, stderr=-3).pid)\n"
    )
    environment = {"PYTHONPATH": str(WORKFLOW), "PATH": os.defpath}
    done = subprocess.run(
        [sys.executable, "-c", code, str(shared)], env=environment, capture_output=True, text=True, check=True
    )
    try:
        assert machine_lock.take((shared,)) == ""
    finally:
        os.kill(int(done.stdout), signal.SIGKILL)


def test_what_lies_there_is_neither_emptied_nor_written(shared: Path) -> None:
    """Somebody's file of that name keeps its content and its mode."""
    (shared / machine_lock.NAME).write_text("mine", "utf-8")
    (shared / machine_lock.NAME).chmod(0o644)
    assert machine_lock.take((shared,)) == ""
    assert (shared / machine_lock.NAME).read_text("utf-8") == "mine"
    assert (shared / machine_lock.NAME).stat().st_mode & 0o777 == 0o644


def test_a_link_is_not_followed(shared: Path, tmp_path: Path) -> None:
    """A link in its place locks nothing, makes nothing and is said; the study may go on."""
    (shared / machine_lock.NAME).symlink_to(tmp_path / "victim")
    reason = machine_lock.take((shared,))
    assert machine_lock.NAME in reason
    assert not (tmp_path / "victim").exists()


def test_a_pipe_or_a_folder_in_its_place_hangs_nobody(shared: Path) -> None:
    """What is no plain file is said within a moment."""
    os.mkfifo(shared / machine_lock.NAME)
    begun = time.monotonic()
    assert "no plain file" in machine_lock.take((shared,))
    assert time.monotonic() - begun < 2
    (shared / machine_lock.NAME).unlink()
    (shared / machine_lock.NAME).mkdir()
    assert machine_lock.take((shared,)) != ""


def test_without_a_folder_for_all_it_says_so(tmp_path: Path) -> None:
    """A folder that others cannot use is not taken, since the others would look elsewhere."""
    tmp_path.chmod(0o700)
    assert "is a folder for all users" in machine_lock.take((tmp_path, tmp_path / "none"))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_mounted_read_only_is_passed_over(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hardened container's read-only folder is the same for every user, so the next one serves all of them."""
    other = tmp_path / "other"
    other.mkdir()
    other.chmod(0o1777)
    really = machine_lock._open

    def opened(path: Path) -> int:
        if path.parent == shared:
            raise OSError(errno.EROFS, "Read-only file system", str(path))
        return really(path)

    monkeypatch.setattr(machine_lock, "_open", opened)
    assert machine_lock.take((shared, other)) == ""
    with pytest.raises(LockedError):
        machine_lock.take((shared, other))


def test_the_file_is_for_everybody(shared: Path) -> None:
    """Whatever the umask, everybody may open it to lock it and nobody may write into it."""
    before = os.umask(0o077)
    try:
        assert machine_lock.take((shared,)) == ""
    finally:
        os.umask(before)
    assert (shared / machine_lock.NAME).stat().st_mode & 0o777 == 0o444


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
def test_another_users_study_is_refused_too(shared: Path, tmp_path: Path) -> None:
    """A user who may write nothing of ours is kept out by the same file."""
    if not all(folder.stat().st_mode & 0o001 for folder in shared.parents):
        shared = Path("/tmp") / f"p1-{os.getpid()}"  # noqa: S108 - where another user can get to
        shared.mkdir()
        shared.chmod(0o1777)
    try:
        with holder(shared) as process:
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    os.setuid(65534)
                    machine_lock.take((shared,))
                except LockedError as error:
                    code = 0 if f"process {process.pid} " in str(error) else 2
                finally:
                    os._exit(code)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        if shared.parent != tmp_path:
            (shared / machine_lock.NAME).unlink(missing_ok=True)
            shared.rmdir()
