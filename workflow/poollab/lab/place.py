"""The private folder of a lab, who owns it, and the ways of telling what is still in use."""

import json
import os
import secrets
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from poollab.errors import LabError
from poollab.lab import procs

PREFIX = "poollab-"
#: struct sockaddr_un holds 108 bytes with the closing zero; the server adds /.s.PGSQL.5432 to the folder.
SOCKET_PATH_MAX = 107
_SOCKET_FILE = "/.s.PGSQL.5432"


@dataclass(frozen=True, slots=True)
class Owner:
    """The process on whose behalf a lab exists; when it is gone the lab is a leftover."""

    pid: int
    started: int | None

    @classmethod
    def this_process(cls) -> "Owner":
        """Return the calling process."""
        return cls(os.getpid(), procs.start_time(os.getpid()))

    def alive(self) -> bool:
        """Tell whether the owner still runs."""
        return procs.alive(self.pid, self.started)


def new_token() -> str:
    """Return a short unique name for one block's lab; short, since it is part of a socket's path."""
    return secrets.token_hex(4)


def base_folder() -> Path:
    """
    Return where lab folders go: the system's temporary folder, or /tmp where its name is too long.

    Raises:
        LabError: neither leaves room for a socket path of 107 bytes.
    """
    for folder in (Path(tempfile.gettempdir()), Path("/tmp")):  # noqa: S108 - mkdir below fails if the name is taken
        full = folder.resolve() / f"{PREFIX}12345678" / "socket"
        if len(os.fsencode(str(full) + _SOCKET_FILE)) <= SOCKET_PATH_MAX:
            return folder.resolve()
    raise LabError(
        f"TMPDIR = {tempfile.gettempdir()} is too long for a socket ({SOCKET_PATH_MAX} bytes); set a shorter TMPDIR"
    )


def make(token: str, kind: str, owner: Owner, mode: int) -> Path:
    """Make a lab's private folder with the note that names its owner."""
    folder = base_folder() / f"{PREFIX}{token}"
    folder.mkdir(mode=0o700)
    note = {"token": token, "kind": kind, "pid": owner.pid, "started": owner.started}
    (folder / "owner.json").write_text(json.dumps(note), "utf-8")
    folder.chmod(mode)
    return folder


def owners() -> dict[str, tuple[Path, Owner | None]]:
    """Map the token of each lab folder on this machine to its folder and, where it says so, its owner."""
    found: dict[str, tuple[Path, Owner | None]] = {}
    for folder in sorted({base_folder(), Path("/tmp")}):  # noqa: S108
        for path in folder.glob(f"{PREFIX}????????"):
            found[path.name[len(PREFIX) :]] = (path, _owner(path))
    return found


def is_ours(folder: Path) -> bool:
    """Tell whether a folder is a real one of this user's: anybody may make one of that name in /tmp."""
    try:
        about = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid()


def _owner(folder: Path) -> Owner | None:
    """Read a lab's note; None for anything that is not exactly one (a pipe, say, would never end)."""
    try:
        file = os.open(folder / "owner.json", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            text = os.read(file, 4096) if stat.S_ISREG(os.fstat(file).st_mode) else b""
        finally:
            os.close(file)
        note = json.loads(text)
        pid, started = note["pid"], note["started"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return Owner(pid, started) if isinstance(pid, int) and (started is None or isinstance(started, int)) else None


def files(folder: Path) -> list[Path]:
    """List what lies below a folder and is none; somebody else (keeper, sweep) may be removing it meanwhile."""
    return [Path(where, name) for where, _, names in os.walk(folder) for name in names]


def inside(folder: Path) -> list[int]:
    """List the processes that work inside a folder; servers and generators of a lab always do."""
    found = []
    for pid in procs.numbers():
        try:
            here = Path(f"/proc/{pid}/cwd").readlink()
        except OSError:
            continue
        if here.is_relative_to(folder) and procs.alive(pid, None):
            found.append(pid)
    return found
