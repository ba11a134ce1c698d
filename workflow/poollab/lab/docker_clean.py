"""Removal of what carries our label, and nothing else: a foreign thing with our name is left alone."""

from collections.abc import Collection
from contextlib import closing
from typing import Any

import docker
from docker.errors import APIError, NotFound

from poollab.errors import LabError
from poollab.lab import place
from poollab.lab.base import OWNER_LABEL
from poollab.lab.docker_errors import connect, plain
from poollab.lab.docker_spec import PART_LABEL

_CONFLICT = 409
KINDS = ("container", "volume", "network")


def owned(client: docker.DockerClient, token: str | None = None) -> dict[str, list[Any]]:
    """List containers, volumes and networks of one lab, or of every lab; running or not."""
    # A container that somebody starts from our images inherits their label, but not the part's.
    mine: dict[str, str | list[str] | bool] = {
        "label": [OWNER_LABEL if token is None else f"{OWNER_LABEL}={token}", PART_LABEL]
    }
    with plain("the lab's containers cannot be listed"):
        return {
            # sparse: no inspect of each, which fails when one goes away in between.
            "container": list(client.containers.list(all=True, filters=mine, sparse=True)),
            "volume": list(client.volumes.list(filters=mine)),
            "network": list(client.networks.list(filters=mine)),
        }


def remove(things: dict[str, list[Any]]) -> dict[str, int]:
    """Remove what `owned` listed; return how many of each kind went. Harmless when some are gone already."""
    count = dict.fromkeys(KINDS, 0)
    with plain("the lab's containers cannot be removed"):
        for kind in KINDS:
            for thing in things[kind]:
                count[kind] += _gone(thing, kind)
    return count


def _gone(thing: Any, kind: str) -> bool:
    try:
        if kind == "container":
            # Its volumes are listed by label and removed, and counted, one by one.
            thing.remove(force=True)
        else:
            thing.remove()
    except NotFound:
        return False
    except APIError as error:
        # 409: the daemon is removing it on its own account.
        if error.status_code != _CONFLICT or "removal" not in str(error):
            raise
    return True


def describe(things: dict[str, list[Any]]) -> list[str]:
    """Name what `owned` listed, one line each."""
    return [
        f"{kind} {thing.id[:24] if kind == 'volume' else thing.attrs.get('Names', [thing.id])[0].lstrip('/')}"
        for kind in KINDS
        for thing in things[kind]
    ]


def refuse_foreign(client: docker.DockerClient, name: str) -> None:
    """
    Make room for a container's name, but only when what has it is ours.

    Raises:
        LabError: a container without our label has the name.
    """
    with plain(f"container {name}"):
        try:
            found = client.containers.get(name)
        except NotFound:
            return
        if PART_LABEL not in found.labels:
            raise LabError(f"a container called {name} exists and is not Poollab's; remove or rename it")
        found.remove(force=True, v=True)


def sweep(keep: set[str], dead: Collection[str] = ()) -> dict[str, int]:
    """
    Remove what labs left behind, by label, except the labs whose tokens are in `keep`.

    Labs of another checkout or user on this machine are kept too while their owner runs; `dead` names those whose
    folder has just been removed. Returns how
    many containers, volumes and networks went: none where no daemon answers, since an embedded lab must
    not depend on one, and a docker lab says so itself when it starts.
    """
    living = keep | {token for token, (_, owner) in place.owners().items() if owner is not None and owner.alive()}
    try:
        client = connect(timeout_s=20)
    except LabError:
        return dict.fromkeys(KINDS, 0)
    with closing(client):
        found = owned(client)
        # One that runs and whose folder lies where this process does not look (another TMPDIR) may have a living owner.
        known = {*place.owners(), *dead}
        living |= {token_of(t) for t in found["container"] if t.attrs.get("State") == "running"} - known
        return remove({kind: [t for t in things if token_of(t) not in living] for kind, things in found.items()})


def token_of(thing: Any) -> str:
    """Return the lab's token of a container, volume or network."""
    return str((thing.attrs.get("Labels") or {}).get(OWNER_LABEL, ""))
