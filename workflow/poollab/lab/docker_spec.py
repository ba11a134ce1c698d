"""What each container of the lab is allowed and given: plain data for the SDK, no call to the daemon."""

import json
import os
from pathlib import Path
from typing import Any

from docker.types import LogConfig, Mount

from poollab.lab.base import OWNER_LABEL, Caps

DATABASE_IMAGE = "poollab-postgres:16"
GENERATOR_IMAGE = "poollab-loadgen:1"
PART_LABEL = f"{OWNER_LABEL}.part"
#: Paths inside the containers.
SOCKET = "/run/poollab/socket"
CELL = "/run/poollab/cell"
PACKAGE = "/opt/poollab/poollab"
DATA = "/var/lib/postgresql/data"
#: A forgotten container ends by itself after this time.
LIFETIME_S = 24 * 3600
#: Shared memory for parallel queries; Docker's own 64 MiB fails them as "No space left on device". It
#: counts within the memory cap.
SHM_BYTES = 256 * 2**20
NO_MEMORY_LIMIT = 2**63 - 4096
_ROOM = 64
#: Threads count as processes here, and a threaded client may have one for each request that waits.
GENERATOR_PIDS = 2048
_LOG = LogConfig(type=LogConfig.types.JSON, config={"max-size": "4m", "max-file": "1"})


def name(token: str, part: str) -> str:
    """Return the name of one of the lab's containers."""
    return f"{OWNER_LABEL}-{token}-{part}"


def labels(token: str, part: str) -> dict[str, str]:
    """Return the labels that make a container or volume ours; the sweep looks for nothing else."""
    return {OWNER_LABEL: token, PART_LABEL: part}


def limits(caps: Caps) -> dict[str, Any]:
    """
    Return caps as container arguments: quota and period apart, never NanoCpus, which hides the period.

    Memory and swap together get the memory cap, so that nothing is swapped.
    """
    found: dict[str, Any] = {}
    if caps.quota_us is not None:
        found |= {"cpu_quota": caps.quota_us, "cpu_period": caps.period_us or 100_000}
    if caps.memory_bytes is not None:
        found |= {"mem_limit": caps.memory_bytes, "memswap_limit": caps.memory_bytes}
    return found


def update(caps: Caps) -> dict[str, Any]:
    """Return the same for a live container, where a cap that is not asked for must be lifted."""
    quota = -1 if caps.quota_us is None else caps.quota_us
    found: dict[str, Any] = {"cpu_quota": quota, "cpu_period": caps.period_us or 100_000}
    if caps.memory_bytes is None:
        # The daemon refuses -1 for memory, and runc -1 for swap beside this size, which the kernel takes as none.
        return found | {"mem_limit": NO_MEMORY_LIMIT, "memswap_limit": NO_MEMORY_LIMIT}
    return found | {"mem_limit": caps.memory_bytes, "memswap_limit": caps.memory_bytes}


def read_back(attributes: dict[str, Any]) -> Caps:
    """Return the caps that `docker inspect` shows; used where the host's cgroup files cannot be seen."""
    config = attributes["HostConfig"]
    quota, period, memory = (config.get(key) or 0 for key in ("CpuQuota", "CpuPeriod", "Memory"))
    return Caps(quota if quota > 0 else None, period or None, memory if 0 < memory < NO_MEMORY_LIMIT else None)


def hardened(pids: int) -> dict[str, Any]:
    """Return what both sides are denied: network, capabilities, new privileges, a writable root, many processes."""
    return {
        "network_mode": "none",
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "read_only": True,
        "tmpfs": {"/tmp": "size=64m,mode=1777"},  # noqa: S108 - inside the container
        "pids_limit": pids,
        "shm_size": SHM_BYTES,
        "log_config": _LOG,
        "detach": True,
    }


def database(token: str, socket: Path, caps: Caps, settings: dict[str, str]) -> dict[str, Any]:
    """Return the arguments of the server's container; `socket` is the host folder of its socket."""
    fixed = {
        "listen_addresses": "",
        "unix_socket_directories": SOCKET,
        "unix_socket_permissions": "0777",
        "port": "5432",
        "autovacuum": "off",
        "dynamic_shared_memory_type": "posix",
    }
    mine = labels(token, "database")
    return {
        **hardened(2 * int(settings.get("max_connections", 100)) + _ROOM),
        **limits(caps),
        "image": DATABASE_IMAGE,
        "name": name(token, "database"),
        "labels": mine,
        "command": [word for key, value in {**settings, **fixed}.items() for word in ("-c", f"{key}={value}")],
        "environment": {"POOLLAB_LIFETIME_S": str(LIFETIME_S), "TZ": "UTC"},
        "mounts": [Mount(DATA, None, labels=mine), Mount(SOCKET, str(socket), type="bind")],
    }


def generator_pids(scratch: Path) -> int:
    """Return how many processes and threads the load generator of a cell may have: room for its arm's threads."""
    file = scratch / "spec.json"
    # Without a spec it is a burn of CPU that proves the caps.
    spec = json.loads(file.read_text("utf-8")) if file.exists() else {}
    arm = spec.get("pool", {})
    threads: int = (arm.get("threads") or 0) + (arm.get("executor") or 0)
    processes: int = spec.get("processes", 1)
    return max(GENERATOR_PIDS, processes * (threads + _ROOM))


def generator(token: str, socket: Path, scratch: Path, caps: Caps, command: tuple[str, ...]) -> dict[str, Any]:
    """
    Return the arguments of the load generator's container.

    It runs as the user who will own the results, and `timeout` ends it should everything else be gone.
    """
    package = Path(__file__).resolve().parents[1]
    return {
        **hardened(generator_pids(scratch)),
        **limits(caps),
        "image": GENERATOR_IMAGE,
        "name": name(token, f"generator-{scratch.name}"),
        "labels": labels(token, "generator"),
        "command": ["timeout", "--kill-after=10", str(LIFETIME_S), *command],
        "user": f"{os.getuid()}:{os.getgid()}",
        "working_dir": CELL,
        "environment": {
            "PYTHONPATH": f"/opt/site:{Path(PACKAGE).parent}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "HOME": "/tmp",  # noqa: S108 - inside the container
        },
        "mounts": [
            Mount(SOCKET, str(socket), type="bind"),
            Mount(PACKAGE, str(package), type="bind", read_only=True),
            Mount(CELL, str(scratch), type="bind"),
        ],
    }


def burn(loops: int, seconds: float) -> list[str]:
    """Return a shell command that keeps a number of CPUs busy for a number of seconds."""
    loop = f"timeout {seconds:.1f} sh -c 'while :; do :; done' &"
    return ["sh", "-c", f"{loop} " * loops + "wait"]
