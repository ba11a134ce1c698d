"""Which lab a study runs in, and a lab from its record in another process."""

from typing import Any

from poollab.errors import LabError
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


def attach(data: dict[str, Any]) -> Lab:
    """Rebuild a lab from its record's JSON."""
    record = LabRecord(**{key: value for key, value in data.items() if key != "owner"})
    if record.kind == "embedded":
        return EmbeddedLab(record)
    from poollab.lab.docker import DockerLab  # noqa: PLC0415

    return DockerLab(record)
