"""
The docker lab: server and load generator in two capped, networkless containers on one Unix socket.

The socket's folder is a private folder of the host, mounted into both containers, and not a named
volume: seeding and proving run in this process, and a volume's files lie below Docker's own folder,
which only root may enter. A folder of ours works for root, for a member of the group docker and for a
rootless daemon alike, its path is known to be short enough, and its parent (mode 0700) keeps everyone
else out, so trust is all the authentication that is needed. The folder itself is open to all, since
the server's user inside the container has a uid that means nothing here.
"""

import shutil
import time
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import docker
from docker.errors import ImageNotFound
from docker.models.containers import Container
from docker.models.images import Image

from poollab.errors import LabError
from poollab.lab import burn, docker_burn, docker_clean, docker_images, docker_spec, place, procs, seeding
from poollab.lab.base import Announce, Caps, CounterSource, LabRecord, Proof
from poollab.lab.docker_counters import caps_of, counters_of, group_of
from poollab.lab.docker_errors import connect, plain
from poollab.lab.docker_generator import DockerGenerator, launch

READY_WITHIN_S = 60.0
SOCKET_FILE = ".s.PGSQL.5432"
#: Another machine's daemon, one in a virtual machine, or this process in a container with the host's daemon.
UNSEEN = "the server runs, but the daemon does not share {}; use a daemon on this machine itself, or lab: embedded"
_CALL_S = 60
_LATE_LOOKS = 4
#: Longer than all that is done besides burning while the caps are proven.
_IDLE_S = 60.0


class DockerLab:
    """See `Lab` in base.py; `record.detail` holds the wanted caps, container id, pid and image labels."""

    #: What the generator's container runs; tests put a stand-in here.
    GENERATOR_COMMAND: tuple[str, ...] = ("python3", "-m", "poollab.load.generator", docker_spec.CELL)

    def __init__(self, record: LabRecord) -> None:
        self.record = record
        self._folder = Path(record.folder)
        self._connected: docker.DockerClient | None = None

    @classmethod
    def new(cls, owner: place.Owner) -> "DockerLab":
        """Make the private folder of a lab that is not started yet."""
        token = place.new_token()
        folder = place.make(token, "docker", owner, 0o700)
        return cls(LabRecord("docker", token, str(folder), docker_spec.SOCKET))

    # --- start -----------------------------------------------------------------------------------

    def start(self, announce: Announce, settings: dict[str, str], major: int) -> None:
        """Start the server's container and return when its final postmaster answers."""
        image = self._image(docker_spec.DATABASE_IMAGE, major)
        self.record.detail |= {"image": image.id, "labels": dict(image.labels)}
        announce(self.record)
        try:
            for name, mode in (("socket", 0o777), ("cells", 0o700)):
                (self._folder / name).mkdir(exist_ok=True)
                (self._folder / name).chmod(mode)
            arguments = docker_spec.database(self.record.token, self._folder / "socket", self._wanted()[0], settings)
            container = launch(self._client, arguments)
            pid = int(container.attrs["State"].get("Pid") or 0)
            self.record.detail |= {
                "container": container.id,
                "postmaster": [pid, procs.start_time(pid) if pid else None],
            }
            announce(self.record)
            seeding.wait_ready(self.admin_dsn(), READY_WITHIN_S, lambda: self._death(container))
        except BaseException:
            self.remove()
            raise

    def _image(self, tag: str, major: int) -> Image:
        with plain(f"image {tag}"):
            image = self._client.images.get(tag)
        version = str(image.labels.get("poollab.server_version", "?"))
        if version.partition(".")[0] != str(major):
            raise LabError(
                f"database.major = {major}, and image {tag} holds {version}; set major accordingly or build that image"
            )
        return image

    def _death(self, container: Container) -> str | None:
        with plain("the server's container"):
            container.reload()
            state = container.attrs["State"]
            unseen = not (self._folder / "socket" / SOCKET_FILE).exists()
            if state["Running"] and not unseen:
                return None
            text = container.logs(tail=3).decode("utf-8", "replace").strip().splitlines()
        if state["Running"]:
            return UNSEEN.format(self._folder) if any("ready to accept" in line for line in text) else None
        code = state["ExitCode"]
        return f"the server ended with {code}: {' | '.join(text)[-400:]}; check database.settings and limits"

    # --- use -------------------------------------------------------------------------------------

    def admin_dsn(self) -> str:
        """Return the superuser's connection string over the host's side of the socket folder."""
        return f"host={self._folder / 'socket'} port=5432 user=postgres dbname=postgres"

    def set_caps(self, database: Caps, generator: Caps) -> tuple[Caps, Caps]:
        """
        Set the live server's caps, and keep the generator's for its next start.

        The generator has no container between cells: its caps are read back when it starts (see
        `DockerGenerator.caps`) and are returned here as they were asked for.
        """
        self.record.detail["wanted"] = [asdict(database), asdict(generator)]
        if "container" not in self.record.detail:
            return database, generator
        container = self._running()
        with plain("the server's caps cannot be set"):
            container.update(**docker_spec.update(database))
            container.reload()
        return caps_of(container), generator

    def prove(self, seconds: float) -> tuple[Proof, Proof]:
        """Burn CPU in the server's container and in one with the generator's caps, together where CPUs suffice."""
        wanted, cpus = self._wanted(), self._cpus()
        rounds, database = burn.rounds(wanted, cpus), self._running()
        scratch = self._folder / "cells" / "proof"
        scratch.mkdir(exist_ok=True)
        # It only holds the caps; the loops are put into it as they are into the server's.
        idle = ("sleep", f"{_IDLE_S + 2 * seconds * len(rounds):.0f}")
        generator = launch(
            self._client, docker_spec.generator(self.record.token, self._folder / "socket", scratch, wanted[1], idle)
        )
        sides, burnt = (database, generator), dict[int, burn.Readings]()
        try:
            caps = [caps_of(side) for side in sides]
            for together in rounds:
                loops = [(sides[i], burn.burners(wanted[i], cpus)) for i in together]
                burnt |= zip(together, docker_burn.burn(loops, seconds), strict=True)
        finally:
            DockerGenerator(generator).stop()
            scratch.rmdir()
        one, two = (burn.judge(caps[i], wanted[i], burnt.get(i), cpus) for i in range(len(caps)))
        return one, two

    def _cpus(self) -> int:
        """Return how many CPUs the daemon's machine has; this process may be kept to fewer."""
        with plain("the daemon's CPUs cannot be read"):
            return int(self._client.info().get("NCPU") or burn.usable())

    def database_counters(self) -> CounterSource:
        """Read the cgroup of the server's container, else Docker's own figures."""
        return counters_of(self._running())

    def sessions(self) -> int | None:
        """Count client sessions by the titles of the container's processes."""
        container = self._container()
        group = group_of(container)
        return procs.client_backends(group.procs()) if group else None

    def pin_database(self, cpus: list[int]) -> str:
        """Keep the server's container to some CPUs."""
        try:
            with plain("the server's container cannot be kept to some CPUs"):
                self._container().update(cpuset_cpus=",".join(map(str, cpus)))
        except LabError as error:
            return str(error)
        return ""

    def start_generator(self, scratch: Path) -> DockerGenerator:
        """Start the load generator in its own container, capped from its first instruction."""
        arguments = docker_spec.generator(
            self.record.token, self._folder / "socket", scratch, self._wanted()[1], self.GENERATOR_COMMAND
        )
        return DockerGenerator(launch(self._client, arguments))

    def alive(self) -> bool:
        """Tell whether the container still runs the server that was started, and is not paused."""
        pid, started = self.record.detail["postmaster"]
        if started is not None and not procs.alive(pid, started):
            return False
        state = self._container().attrs["State"]
        return bool(state["Running"]) and not state["Paused"]

    def environment(self) -> dict[str, Any]:
        """Name the image, where its server comes from, the engine and the shared memory."""
        with plain("the daemon's version cannot be read"):
            info = self._client.info()
        labels = self.record.detail["labels"]
        return {
            "lab": "docker",
            "server_source": labels.get("poollab.source"),
            "generator_source": self._generator_source(),
            "image": self.record.detail["image"],
            "image_base": labels.get("poollab.base"),
            "engine": info["ServerVersion"],
            "storage": info["Driver"],
            "shm_bytes": docker_spec.SHM_BYTES,
        }

    def _generator_source(self) -> str | None:
        """Name what the generator's image holds, which is not what this environment holds once that was renewed."""
        with plain(f"image {docker_spec.GENERATOR_IMAGE}"):
            source = self._client.images.get(docker_spec.GENERATOR_IMAGE).labels.get("poollab.source")
        return None if source is None else str(source)

    # --- removal ---------------------------------------------------------------------------------

    def remove(self) -> dict[str, int]:
        """Remove containers and volumes by label, then the folder."""
        count = dict.fromkeys(
            ("process", "container", "volume", "network", "cgroup", "socket", "shared_memory", "file"), 0
        )
        count |= docker_clean.remove(docker_clean.owned(self._client, self.record.token))
        if "container" not in self.record.detail:
            # Killed while it started: the daemon may still be making what it was last asked for, and a busy one
            # takes seconds; a volume can come to light after its container was taken back.
            for _ in range(_LATE_LOOKS):
                time.sleep(1.0)
                for kind, number in docker_clean.remove(docker_clean.owned(self._client, self.record.token)).items():
                    count[kind] += number
        for entry in place.files(self._folder):
            count["socket" if entry.is_socket() else "file"] += 1
        shutil.rmtree(self._folder, ignore_errors=True)
        return count

    def leftovers(self) -> list[str]:
        """List containers, volumes, networks and the folder, as far as they still exist."""
        found = docker_clean.describe(docker_clean.owned(self._client, self.record.token))
        return found + ([f"folder {self._folder}"] if self._folder.exists() else [])

    def close(self) -> None:
        """Close the connection to the daemon; the next call opens another one."""
        if self._connected is not None:
            self._connected.close()
            self._connected = None

    # --- small helpers ---------------------------------------------------------------------------

    @property
    def _client(self) -> docker.DockerClient:
        if self._connected is None:
            self._connected = connect(_CALL_S)
        return self._connected

    def _container(self) -> Container:
        with plain("the server's container"):
            return self._client.containers.get(self.record.detail["container"])

    def _running(self) -> Container:
        container = self._container()
        if not container.attrs["State"]["Running"]:
            code = container.attrs["State"]["ExitCode"]
            raise LabError(f"the server's container has ended with {code}; run the same command again for a new block")
        return container

    def _wanted(self) -> tuple[Caps, Caps]:
        both = [Caps(**caps) for caps in self.record.detail.get("wanted", [])] or [Caps(None, None, None)] * 2
        return both[0], both[1]


def availability() -> tuple[bool, str]:
    """Tell whether the docker lab can be used now, and why (not), in one line; takes two seconds at most."""
    try:
        with closing(connect(timeout_s=2)) as client, plain("Docker cannot be used"):
            found = {tag: _image(client, tag) for tag in (docker_spec.DATABASE_IMAGE, docker_spec.GENERATOR_IMAGE)}
            version = client.version()["Version"]
    except LabError as error:
        return False, str(error)
    if None in found.values():
        return False, "Docker answers but its images are missing: run `make images`"
    stale = [tag for tag, image in found.items() if image is not None and docker_images.is_stale(image)]
    if stale:
        return (
            False,
            f"Docker answers but {' and '.join(stale)} was built from older files or packages: run `make images`",
        )
    return True, f"Docker {version} answers and both images are here"


def _image(client: docker.DockerClient, tag: str) -> Image | None:
    try:
        return client.images.get(tag)
    except ImageNotFound:
        return None
