"""The one System V shared memory segment of a Postgres server: found, and removed when orphaned."""

import ctypes
from pathlib import Path

_IPC_RMID = 0


def of_server(data_folder: Path) -> int | None:
    """Return the segment's id from postmaster.pid (line 7: key and id), None when there is none."""
    try:
        line = (data_folder / "postmaster.pid").read_text().splitlines()[6]
    except (OSError, IndexError):
        return None
    words = line.split()
    return int(words[1]) if len(words) == 2 else None


def exists(segment: int) -> bool:
    """Tell whether a segment is there."""
    return any(int(fields[1]) == segment for fields in _table())


def remove_orphan(segment: int) -> bool:
    """Remove a segment to which no process is attached; tell whether it was removed."""
    for fields in _table():
        if int(fields[1]) == segment and int(fields[6]) == 0:
            libc = ctypes.CDLL(None, use_errno=True)
            return int(libc.shmctl(segment, _IPC_RMID, None)) == 0
    return False


def _table() -> list[list[str]]:
    try:
        return [line.split() for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
    except OSError:
        return []
