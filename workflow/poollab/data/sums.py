"""
Checksums of what is made from the cells, so that a file that was damaged later is made again and never published.

Each maker notes its files in a file of its own below `state/sums/`: several of them may work at the same time.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from poollab.data import store
from poollab.errors import DataError


def note(results: Path, maker: str, names: Sequence[str]) -> None:
    """Note the SHA-256 of files of a results folder, by their names in it; a data package keeps its own sums."""
    if (results / "state").is_dir():
        store.write_json(_folder(results) / f"{maker}.json", {name: _sha256(results / name) for name in names})


def differing(results: Path) -> list[Path]:
    """List the noted files that are there with other bytes than were written; one that is gone is made again anyway."""
    noted: dict[str, str] = {}
    for path in sorted(_folder(results).glob("*.json")):
        noted |= _read(path)
    paths = {results / name: sha for name, sha in noted.items() if (results / name).is_file()}
    return [path for path, sha in paths.items() if _sha256(path) != sha]


def _folder(results: Path) -> Path:
    return results / "state" / "sums"


def _read(path: Path) -> dict[str, str]:
    """Return what was noted; a note that is itself damaged tells nothing, and is written anew with its files."""
    try:
        data = store.read_json(path)
    except DataError:
        return {}
    return data if isinstance(data, dict) else {}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
