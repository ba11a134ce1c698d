"""
One study at a time on a machine, whoever starts it and wherever its folder lies.

A lock on one file that every user can open, from before a lab is provisioned until this process ends,
in whatever way: the kernel takes it back. Nothing is ever written into the file, so nobody's can be
damaged; who holds it is read from the kernel's own list.
"""

import errno
import fcntl
import os
import stat
import time
from datetime import UTC, datetime
from pathlib import Path

from poollab.errors import LockedError

NAME = "poollab.lock"
#: Where every user may make a file; the same choice for all users, so it goes by the folder and not by our rights.
FOLDERS = (Path("/run/lock"), Path("/tmp"))  # noqa: S108 - opened without following links, never written
_SHARED = stat.S_ISVTX | stat.S_IRWXO
#: Readable by all is enough to lock it; writable by nobody, so that nobody fills it.
_MODE = 0o444
_TRIES = 5
#: The same for every user, so the next folder may be tried.
_READ_ONLY = os.strerror(errno.EROFS)
_GONE = "it was removed while it was opened"


def take(folders: tuple[Path, ...] = FOLDERS) -> str:
    """
    Take the machine until this process ends; return why that could not be done, empty where it was.

    A file that cannot be made or is no plain file keeps nobody from measuring. The first folder for all users
    decides, unless it is mounted read-only.

    Raises:
        LockedError: another process has it; says which, whose and since when.
    """
    reason = f"none of {', '.join(map(str, folders))} is a folder for all users"
    for folder in folders:
        if _shared(folder):
            reason = _take(folder / NAME)
            if not reason.endswith(_READ_ONLY):
                break
    return reason


def _take(path: Path) -> str:
    reason = ""
    for _ in range(_TRIES):
        try:
            # Stays open, and thereby locked, until this process ends; programs that it starts do not inherit it.
            file = _open(path)
        except OSError as error:
            reason = f"{path}: {os.strerror(error.errno or 0)}"
            if error.errno not in (errno.EACCES, errno.EEXIST):
                break
            # Made by another user this very moment, perhaps.
            time.sleep(0.05)
            continue
        reason = _lock(file, path)
        if not reason:
            break
        os.close(file)
        if reason != _GONE:
            break
    return reason


def _shared(folder: Path) -> bool:
    try:
        mode = folder.lstat().st_mode
    except OSError:
        return False
    return stat.S_ISDIR(mode) and mode & _SHARED == _SHARED


def _open(path: Path) -> int:
    """Open the file without following a link, waiting on a pipe or emptying it; make it where there is none."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        # Without O_CREAT, with which the kernel refuses another user's file in a folder for all.
        return os.open(path, flags)
    except FileNotFoundError:
        file = os.open(path, flags | os.O_CREAT | os.O_EXCL, _MODE)
        os.fchmod(file, _MODE)  # whatever the umask is
        return file


def _lock(file: int, path: Path) -> str:
    about = os.fstat(file)
    if not stat.S_ISREG(about.st_mode):
        return f"{path} is no plain file"
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        raise LockedError(_refusal(about)) from None
    except OSError as error:
        return f"{path} cannot be locked ({error.strerror})"
    try:
        now = path.lstat()
    except OSError:
        return _GONE
    return "" if (now.st_dev, now.st_ino) == (about.st_dev, about.st_ino) else _GONE


def _refusal(about: os.stat_result) -> str:
    holder = _holder(about)
    who = f"process {holder} measures another study" if holder else "another study is being measured"
    return (
        f"Nothing was started: {who} on this machine{_details(holder)}, and two would disturb each other. "
        "Run the same command when it has ended."
    )


def _holder(about: os.stat_result) -> int | None:
    """Find who locked the file in /proc/locks; None where the kernel does not show it (another container's)."""
    try:
        lines = Path("/proc/locks").read_text("utf-8").splitlines()
    except OSError:
        return None
    # A line: 1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF; who waits for the lock has an arrow and another shape.
    rows = [line.split() for line in lines]
    locks = [(row[4], row[5].split(":")) for row in rows if len(row) == 8 and row[1] == "FLOCK"]
    mine = [(int(pid), place) for pid, place in locks if place[2] == str(about.st_ino) and int(pid) > 0]
    here = [os.major(about.st_dev), os.minor(about.st_dev)]
    exact = [pid for pid, place in mine if [int(part, 16) for part in place[:2]] == here]
    return next(iter([*exact, *(pid for pid, _ in mine)]), None)


def _details(pid: int | None) -> str:
    import psutil  # noqa: PLC0415 - only where a study is refused

    if pid is None:
        return ""
    try:
        process = psutil.Process(pid)
        since = datetime.fromtimestamp(process.create_time(), UTC).strftime("%Y-%m-%d %H:%M UTC")
        return f" (user {process.username()}, {process.name()}, since {since})"
    except (psutil.Error, OSError, KeyError):
        return ""
