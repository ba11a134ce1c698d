"""One container's caps and counters: from the host's cgroup files, else from Docker's own stats."""

import time
from typing import Any

from docker.models.containers import Container

from poollab.errors import LabError
from poollab.lab import docker_spec
from poollab.lab.base import Caps, Counters, CounterSource
from poollab.lab.cgroup import Group
from poollab.lab.docker_errors import plain


def group_of(container: Container) -> Group | None:
    """
    Return the container's cgroup, found through its first process.

    None where this host's files do not show it: the daemon lives in another machine or a virtual one.
    """
    pid = int(container.attrs["State"].get("Pid") or 0)
    group = Group.of_pid(pid) if pid else None
    # The pid counts on the daemon's machine; here it may be anybody's, so the group must name the container.
    return group if group and container.id and container.id in str(group.dirs["cpu"]) else None


def caps_of(container: Container) -> Caps:
    """Return the caps as the kernel holds them, else as inspect shows them."""
    group = group_of(container)
    return group.read_caps() if group else docker_spec.read_back(container.attrs)


def counters_of(container: Container) -> CounterSource:
    """Return the cheapest reader that works here."""
    group = group_of(container)
    return group.counters() if group else DockerStatsCounters(container)


class DockerStatsCounters:
    """A CounterSource over `docker stats`: one request to the daemon, some milliseconds, for each reading."""

    def __init__(self, container: Container) -> None:
        self._id, self._api = str(container.id), container.client.api  # type: ignore[union-attr]

    def read(self) -> Counters:
        """Return the present values; what the daemon does not say is None."""
        with plain("the counters of a container cannot be read"):
            stats: dict[str, Any] = self._api.stats(self._id, stream=False, one_shot=True)
        if not stats.get("cpu_stats", {}).get("cpu_usage", {}).get("total_usage"):
            raise LabError("the counters of a container cannot be read: it does not run any more")
        return parse(stats, time.monotonic_ns())

    def read_cpu(self) -> int | None:
        """Return CPU use so far in nanoseconds."""
        return self.read().cpu_ns

    def pids(self) -> list[int]:
        """Return nothing: where Docker's own figures are needed, this machine does not show the processes."""
        return []


def parse(stats: dict[str, Any], at_ns: int) -> Counters:
    """Make counters from a reply of the stats call; its memory names differ between cgroup v1 and v2."""
    cpu, memory = stats.get("cpu_stats", {}), stats.get("memory_stats", {})
    throttling, detail = cpu.get("throttling_data", {}), memory.get("stats", {})

    def first(*names: str) -> int | None:
        return next((detail[n] for n in names if n in detail), None)

    return Counters(
        at_ns=at_ns,
        cpu_ns=cpu.get("cpu_usage", {}).get("total_usage"),
        periods=throttling.get("periods"),
        throttled=throttling.get("throttled_periods"),
        throttled_ns=throttling.get("throttled_time"),
        memory_bytes=memory.get("usage"),
        anon_bytes=first("anon", "total_rss", "rss"),
        file_bytes=first("file", "total_cache", "cache"),
        shmem_bytes=first("shmem", "total_shmem"),
        kernel_bytes=first("kernel"),
        inactive_file_bytes=first("total_inactive_file", "inactive_file"),
    )
