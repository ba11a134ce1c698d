"""The load generator in a container of its own."""

from typing import Any

import docker
from docker.errors import NotFound
from docker.models.containers import Container

from poollab.lab import docker_clean, procs
from poollab.lab.base import Caps, CounterSource
from poollab.lab.child import signals_held
from poollab.lab.docker_counters import caps_of, counters_of, group_of
from poollab.lab.docker_errors import plain


def launch(client: docker.DockerClient, arguments: dict[str, Any]) -> Container:
    """
    Create and start a container and return it as inspected while it runs.

    Raises:
        LabError: a foreign container has its name, or the daemon refuses.
    """
    docker_clean.refuse_foreign(client, arguments["name"])
    # A Ctrl-C in mid-request would leave a container that the daemon makes and nobody here knows of.
    with plain(f"container {arguments['name']} cannot be started"), signals_held():
        container = client.containers.create(**arguments)
        try:
            container.start()
            container.reload()
        except BaseException:
            container.remove(force=True, v=True)
            raise
    return container


class DockerGenerator:
    """See `GeneratorProcess` in base.py."""

    def __init__(self, container: Container) -> None:
        self._container = container
        self._errors = ""
        self._exit: int | None = None
        pid = int(container.attrs["State"].get("Pid") or 0)
        # Seen from here the process can be watched without a request to the daemon, which costs CPU.
        self._watched = (pid, procs.start_time(pid)) if pid and group_of(container) else None
        self._caps = caps_of(container)

    @property
    def counters(self) -> CounterSource:
        """Counters of the container's cgroup, else Docker's own."""
        return counters_of(self._container)

    @property
    def caps(self) -> Caps:
        """Caps as the kernel held them when it started."""
        return self._caps

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        if self._exit is None and not (self._watched and procs.alive(*self._watched)):
            with plain("the load generator's container"):
                self._container.reload()
            state = self._container.attrs["State"]
            self._exit = None if state["Running"] else int(state["ExitCode"])
        return self._exit

    def killed_for_memory(self) -> bool:
        """Tell what the daemon says of the end of the container, which is its own: it died for no other cell."""
        with plain("the load generator's container"):
            try:
                self._container.reload()
            except NotFound:
                return False
        return bool(self._container.attrs["State"].get("OOMKilled"))

    def stop(self) -> None:
        """Kill it and remove its container; what it wrote is kept for `errors`."""
        self._errors = self.errors()
        self._exit = -9 if self._exit is None else self._exit
        with plain("the load generator's container cannot be removed"):
            try:
                self._container.remove(force=True, v=True)
            except NotFound:
                return

    def errors(self) -> str:
        """Return the end of its standard error."""
        with plain("the load generator's output cannot be read"):
            try:
                text = self._container.logs(stdout=False, stderr=True, tail=40)
            except NotFound:
                return self._errors
        return text.decode("utf-8", "replace")[-2000:]
