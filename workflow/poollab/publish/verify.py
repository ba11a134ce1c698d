"""Whether a package is as it was published: every file there, none beside them, each with its digest."""

from pathlib import Path
from typing import Any

from poollab.data import store
from poollab.errors import DataError
from poollab.publish import checksums, describe

_MEND = "take the package anew from where it was published, or make it again (make study)"


def verify(folder: Path) -> str:
    """
    Check a package and say in one sentence what was found good.

    Raises:
        DataError: it is no package, or a file is missing, differs or does not belong; names all of them.
    """
    if not folder.is_dir():
        raise DataError(f"{folder} is no folder; name a package, such as results/pool-size/published")
    stated, there = checksums.read(folder), checksums.files(folder)
    faults = [f"{name} is missing" for name in stated if name not in there]
    faults += [f"{name} does not belong to it" for name in there if name not in stated]
    faults += [
        f"{name} differs from its checksum" for name in there if stated.get(name, "") not in {"", _sum(folder, name)}
    ]
    if not faults:
        faults = _undescribed(folder, stated)
    if faults:
        raise DataError(f"{folder} is not as it was published: {'; '.join(faults)}; {_MEND}")
    size = sum((folder / name).stat().st_size for name in there)
    return f"{folder}: {len(there)} files, {size / 1e6:.1f} MB, all as SHA256SUMS and datapackage.json say."


def _sum(folder: Path, name: str) -> str:
    return checksums.sha256(folder / name)


def _undescribed(folder: Path, stated: dict[str, str]) -> list[str]:
    """Compare datapackage.json with SHA256SUMS; both must say the same of the same files."""
    if describe.NAME not in stated:
        return [f"{describe.NAME} is missing (packages had none before it was introduced)"]
    resources = _resources(folder)
    names = set(stated) - {describe.NAME}
    faults = [f"{describe.NAME} does not name {name}" for name in sorted(names - set(resources))]
    faults += [f"{describe.NAME} names {name}, which is not there" for name in sorted(set(resources) - names)]
    for name in sorted(names & set(resources)):
        said = (resources[name].get("hash"), resources[name].get("bytes"))
        if said != (f"sha256:{stated[name]}", (folder / name).stat().st_size):
            faults.append(f"{describe.NAME} gives another size or hash of {name}")
    return faults


def _resources(folder: Path) -> dict[str, dict[str, Any]]:
    data = store.read_json(folder / describe.NAME)
    try:
        return {str(one["path"]): dict(one) for one in data["resources"]}
    except (KeyError, TypeError, ValueError):
        raise DataError(f"{folder / describe.NAME} lists no resources; {_MEND}") from None
