"""Which lab a study runs in, and a lab from its record in another process."""

import re
from pathlib import Path
from typing import Any

from poollab.errors import DataError, LabError
from poollab.lab import place
from poollab.lab.base import Lab, LabRecord
from poollab.lab.embedded import EmbeddedLab


def choose(asked: str) -> tuple[str, str]:
    """
    Return the kind of lab and one line that says why.

    `auto` takes Docker where a daemon answers and its images are built, else the embedded server.

    Raises:
        LabError: the lab that was asked for cannot be had.
    """
    if asked == "embedded":
        return "embedded", "as configured"
    from poollab.lab import docker  # noqa: PLC0415 - the SDK takes 0.2 s to import, for this kind only

    ready, why = docker.availability()
    if ready:
        return "docker", why if asked == "auto" else "as configured"
    if asked == "docker":
        raise LabError(f"lab = docker: {why}")
    # What to do about it is for those who asked for Docker.
    return "embedded", f"chosen, since {why.partition(';')[0].partition(': run')[0]}"


def new(kind: str, owner: place.Owner) -> Lab:
    """Make a lab that is not started yet; its record exists from here on."""
    if kind == "embedded":
        return EmbeddedLab.new(owner)
    from poollab.lab.docker import DockerLab  # noqa: PLC0415

    return DockerLab.new(owner)


def _refuse_foreign(record: LabRecord) -> None:
    """See that a record names a lab: results may come from anywhere, and what a record names is removed."""
    name = f"{place.PREFIX}{record.token}"
    places = [record.folder, *((record.detail.get("group") or {}).get("dirs") or {}).values()]
    if not re.fullmatch(r"[0-9a-f]{8}", record.token) or any(
        Path(p).name != name or ".." in Path(p).parts for p in places
    ):
        raise DataError(
            f"the record of lab {record.token!r} names {', '.join(places)}, which no lab makes; it was not used"
        )


def attach(data: dict[str, Any]) -> Lab:
    """Rebuild a lab from its record's JSON."""
    record = LabRecord(**{key: value for key, value in data.items() if key != "owner"})
    _refuse_foreign(record)
    if record.kind == "embedded":
        return EmbeddedLab(record)
    from poollab.lab.docker import DockerLab  # noqa: PLC0415

    return DockerLab(record)
