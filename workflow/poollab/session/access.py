"""Files that cannot be written, as an earlier run by root leaves them: said with owner and remedy before the start."""

import os
import pwd
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from poollab.errors import ConfigError


@contextmanager
def writable(folder: Path) -> Iterator[None]:
    """
    Turn what the system refuses inside a `with` block into a fault that the user can mend.

    Raises:
        ConfigError: names the path, whose it is, and what to do; `folder` is what would be given back.
    """
    try:
        yield
    except OSError as error:
        path = Path(error.filename) if isinstance(error.filename, str) else folder
        raise ConfigError([f"{path}: {error.strerror or error}; {_remedy(path, folder, error)}"]) from error


def in_the_way(path: Path) -> Path | None:
    """Return the part of a path that is there and is no folder, so that nothing can lie below it."""
    return next((part for part in (path, *path.parents) if _there(part) and not part.is_dir()), None)


def _remedy(path: Path, folder: Path, error: OSError) -> str:
    if isinstance(error, NotADirectoryError | FileExistsError):
        return f"{in_the_way(path) or path} is no folder; move it away, or name another one (--config results=NAME)"
    if not isinstance(error, PermissionError):
        return "the disk must have room and take files here; then run the same command again"
    mine, there = _user(_me()), next(part for part in (path, *path.parents) if _there(part))
    owner, named = _user(there.stat().st_uid), shlex.quote(str(folder))
    if owner == mine:
        return f"it is yours and may not be written; allow it with `chmod -R u+rwX {named}`"
    return f"{there} belongs to {owner}, and this is {mine}; give it back with `sudo chown -R {mine} {named}`"


def _me() -> int:
    return os.geteuid()


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _there(path: Path) -> bool:
    """Tell whether a path is there; where a folder above may not be entered nothing is known of it."""
    try:
        return path.exists()
    except OSError:
        return False
