"""Build the two images: from the official ones where a registry answers, else from what this machine has."""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import docker
from docker.errors import BuildError, DockerException, ImageNotFound
from docker.models.images import Image

from poollab.errors import LabError
from poollab.lab import binaries, docker_spec
from poollab.lab.base import OWNER_LABEL
from poollab.lab.docker_errors import cause, connect, plain
from poollab.lab.docker_wheels import copy_server, copy_site, pins

SERVER = ("postgres", "16.13-bookworm")
PYTHON = ("python", "3.11-slim-bookworm")
OFFLINE_BASE = f"{OWNER_LABEL}-base:bookworm"
OFFLINE = "offline"
_PROBE_S = 10
_BUILD_S = 900
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Recipe:
    """One image: its tag, the folder of its Dockerfile, what it stands on and what is copied in."""

    tag: str
    folder: Path
    base: str
    facts: dict[str, str]
    part: str
    fill: Callable[[Path], None] | None

    def labels(self) -> dict[str, str]:
        """Return the image's labels; the last is a hash of all that decides its content."""
        found = {OWNER_LABEL: "1", **self.facts}
        text = "".join(sorted(f"{key}={value};" for key, value in found.items())).encode()
        text += b"".join(path.read_bytes() for path in sorted(self.folder.iterdir()))
        return {**found, "poollab.inputs": hashlib.sha256(text).hexdigest()[:16]}

    def lay_out(self, context: Path) -> None:
        """Write the build's folder: the recipe's files and what this machine adds."""
        shutil.copytree(self.folder, context, dirs_exist_ok=True)
        (context / self.part).mkdir()
        if self.fill is not None:
            self.fill(context / self.part)


#: The project's folder of that name.
CONTAINERS = Path(__file__).resolve().parents[3] / "containers"


def is_stale(image: Image, containers: Path = CONTAINERS) -> bool:
    """
    Tell whether `make images` would build an image anew: its recipe or what this environment puts in has changed.

    Asks no registry: the base is taken to be what the image was built on. A project without that folder
    has nothing to compare with.
    """
    labels = dict(image.labels)
    built_on = str(labels.get("poollab.base"))
    if docker_spec.GENERATOR_IMAGE in image.tags:
        folder, source = containers / "loadgen", " ".join(pins())
    else:
        folder = containers / "postgres"
        source = binaries.source() if built_on == OFFLINE else f"image {':'.join(SERVER)}"
    if not folder.is_dir():
        return False
    facts = {key: value for key, value in labels.items() if key.startswith("poollab.") and key != "poollab.inputs"}
    recipe = Recipe("", folder, "", {**facts, "poollab.source": source}, "", None)
    return recipe.labels()["poollab.inputs"] != labels.get("poollab.inputs")


def build_all(containers: Path, say: Say) -> None:
    """
    Make both images, or find that they are up to date.

    Args:
        containers: The project's folder of that name.
        say: Called with one line for each step.

    Raises:
        LabError: the daemon, a package or a right is missing; says which and the next step.
    """
    with closing(connect(_BUILD_S)) as client:
        server = _server(client, containers, say)
        _build(client, server, say)
        # A registry that did not have the first image is not waited for again.
        base, source = _base(client, containers, PYTHON, say, ask=server.fill is None)
        facts = {"poollab.source": " ".join(pins()), "poollab.base": source}
        _build(client, Recipe(docker_spec.GENERATOR_IMAGE, containers / "loadgen", base, facts, "site", copy_site), say)


def _server(client: docker.DockerClient, containers: Path, say: Say) -> Recipe:
    base, source = _base(client, containers, SERVER, say)
    if source != OFFLINE:
        facts = {"poollab.server_version": SERVER[1].partition("-")[0], "poollab.source": f"image {':'.join(SERVER)}"}
    else:
        version = binaries.version(binaries.install_folder() / "pginstall" / "bin")
        facts = {"poollab.server_version": version, "poollab.source": binaries.source()}
    facts["poollab.base"] = source
    fill = copy_server if source == OFFLINE else None
    return Recipe(docker_spec.DATABASE_IMAGE, containers / "postgres", base, facts, "server", fill)


def _base(
    client: docker.DockerClient, containers: Path, wanted: tuple[str, str], say: Say, *, ask: bool = True
) -> tuple[str, str]:
    """Return the image to build on, and its digest or "offline"."""
    tag = ":".join(wanted)
    image = _local(client, tag) or (_pulled(client, wanted, say) if ask else None)
    if image is not None:
        digests = image.attrs.get("RepoDigests") or [image.id]
        return tag, str(digests[0])
    if _local(client, OFFLINE_BASE) is None:
        say(f"{OFFLINE_BASE}: making it with debootstrap (half a minute)")
        _bootstrap(client, containers / "base" / "build.sh")
    return OFFLINE_BASE, OFFLINE


def _local(client: docker.DockerClient, tag: str) -> Image | None:
    with plain(f"image {tag}"):
        try:
            return client.images.get(tag)
        except ImageNotFound:
            return None


def _pulled(client: docker.DockerClient, wanted: tuple[str, str], say: Say) -> Image | None:
    tag = ":".join(wanted)
    try:
        # Asks only for the digest, so an unreachable registry costs seconds and a slow download is not cut off.
        with closing(docker.from_env(timeout=_PROBE_S)) as probe:
            probe.images.get_registry_data(tag)
        say(f"{tag}: pulling")
        return client.images.pull(wanted[0], tag=wanted[1])
    except (DockerException, OSError) as error:
        say(f"{tag}: no registry gives it here ({cause(error)[:160]}); building offline")
        return None


def _bootstrap(client: docker.DockerClient, script: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="poollab-base-") as folder:
        tar = Path(folder) / "base.tar"
        done = subprocess.run(["sh", script, tar], stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise LabError(done.stderr.strip() or f"{script} failed with {done.returncode}")
        name, _, tag = OFFLINE_BASE.partition(":")
        with plain(f"image {OFFLINE_BASE} cannot be imported"):
            client.api.import_image(str(tar), repository=name, tag=tag)


def _build(client: docker.DockerClient, image: Recipe, say: Say) -> None:
    labels = image.labels()
    source = image.facts["poollab.source"]
    present = _local(client, image.tag)
    if present is not None and present.labels.get("poollab.inputs") == labels["poollab.inputs"]:
        say(f"{image.tag}: up to date ({source})")
        return
    say(f"{image.tag}: building ({source})")
    with (
        tempfile.TemporaryDirectory(prefix="poollab-image-") as folder,
        plain(f"image {image.tag} cannot be built"),
    ):
        image.lay_out(Path(folder))
        arguments = {"BASE": image.base}
        try:
            client.images.build(
                path=folder,
                tag=image.tag,
                buildargs=arguments,
                labels=labels,
                network_mode="none",
                rm=True,
                forcerm=True,
            )
        except BuildError as error:
            raise LabError(f"image {image.tag} cannot be built: {str(error.msg)[:300]}") from None
    _forget(client, image.tag, present)


def _forget(client: docker.DockerClient, tag: str, old: Image | None) -> None:
    """Remove the image that the tag had before; one that a container still uses stays."""
    new = _local(client, tag)
    if old is not None and new is not None and old.id != new.id:
        with suppress(DockerException):
            client.images.remove(str(old.id))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    """Build both images for the project in which this package stands; return an exit code."""
    try:
        build_all(CONTAINERS, _say)
    except LabError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0
