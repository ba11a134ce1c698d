"""SHA256SUMS of a folder, in the form that `sha256sum -c` checks."""

import hashlib
import re
from pathlib import Path, PurePosixPath

from poollab.errors import DataError

NAME = "SHA256SUMS"
_LINE = re.compile(r"([0-9a-f]{64})  (\S.*)")


def files(folder: Path) -> list[str]:
    """
    List every file below a folder by its path in it, in order, without SHA256SUMS itself.

    Raises:
        DataError: there is a link, a pipe or another thing that a package never holds; names it.
    """
    found = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            raise DataError(f"{path} is no plain file; a package holds nothing else, so remove it")
        if path.is_file() and name != NAME:
            found.append(name)
    return found


def sha256(path: Path) -> str:
    """Return a file's SHA-256 as 64 hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_text(folder: Path) -> str:
    """Return the text of SHA256SUMS over a folder's files."""
    return "".join(f"{sha256(folder / name)}  {name}\n" for name in files(folder))


def read(folder: Path) -> dict[str, str]:
    """
    Return the digest of each file that SHA256SUMS names.

    Raises:
        DataError: it is missing, or a line of it is none that we write; says which.
    """
    path = folder / NAME
    try:
        lines = path.read_text("utf-8").splitlines()
    except FileNotFoundError:
        raise DataError(
            f"{folder} is no package: it holds no {NAME}; name one, such as results/pool-size/published"
        ) from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read ({error}); take the package from where it was published") from None
    found: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        match = _LINE.fullmatch(line)
        if match is None or not _inside(match[2]) or match[2] in found:
            raise DataError(f"{path}, line {number}: no digest with the name of a file in the package: {line[:120]!r}")
        found[match[2]] = match[1]
    return found


def _inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and name == path.as_posix()
