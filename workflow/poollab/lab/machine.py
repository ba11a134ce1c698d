"""The machine, its software and its clock, as they stand in a block's record."""

import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from poollab import METHOD_VERSION
from poollab.lab import cgroup

#: Distributions whose code lies on a request's way; one version of them is one thing that was measured.
DRIVERS = ("asyncpg", "uvloop", "psycopg", "psycopg-binary", "psycopg-pool", "sqlalchemy")


def describe() -> dict[str, Any]:
    """Return what a reader needs to judge or repeat the numbers; None where the system does not say."""
    return {
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "system": _os_name(),
        "cpu_model": _cpu_model(),
        "cpus": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "cgroup_version": 1 if "cpu" in cgroup.mounts() else 2,
        "cfs_slice_us": _number("/proc/sys/kernel/sched_cfs_bandwidth_slice_us"),
        "clocksource": _text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "governor": _text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "python": platform.python_version(),
        "drivers": {name: _version(name) for name in DRIVERS},
        "own_caps": _own_caps(),
        "project": _commit(),
        "method": METHOD_VERSION,
    }


#: Keys of a block's environment that must be equal in every block of a study.
IDENTITY = (
    "lab",
    "server_version",
    "server_source",
    "server_settings",
    "kernel",
    "architecture",
    "cpu_model",
    "cpus",
    "drivers",
    "python",
    "generator_source",
    "cgroup_version",
    "own_caps",
    "caps_enforced",
    "method",
)


def identity(environment: dict[str, Any]) -> dict[str, Any]:
    """Return the part of an environment that may not differ between blocks."""
    return {key: environment.get(key) for key in IDENTITY}


def _version(distribution: str) -> str | None:
    """Return the version of an installed distribution, None where it is not there."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _own_caps() -> dict[str, Any]:
    """Say whether this process is itself below a cap (a container's, say), which binds its children too."""
    group = cgroup.Group.of_pid("self")
    caps = group.tightest_caps() if group else None
    return {"cores": caps.cores if caps else None, "memory_bytes": caps.memory_bytes if caps else None}


def _text(path: str) -> str | None:
    try:
        return Path(path).read_text("utf-8").strip()
    except OSError:
        return None


def _number(path: str) -> int | None:
    text = _text(path)
    return int(text) if text and text.isdigit() else None


def _cpu_model() -> str | None:
    lines = [line.partition(":") for line in (_text("/proc/cpuinfo") or "").splitlines()]
    facts = {key.strip(): value.strip() for key, _, value in lines}
    # ARM kernels give no model name; boards say what they are in the device tree.
    return (
        facts.get("model name") or (_text("/proc/device-tree/model") or facts.get("Model") or "").rstrip("\0") or None
    )


def _os_name() -> str | None:
    for line in (_text("/etc/os-release") or "").splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip('"')
    return None


def _commit() -> dict[str, Any]:
    """Return the project's commit, None outside a checkout."""
    root = Path(__file__).resolve().parents[3]
    try:
        where = ["git", "-c", f"safe.directory={root}", "-C", str(root)]
        head = subprocess.run(
            [*where, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True
        ).stdout.strip()
        changed = subprocess.run(
            [*where, "status", "--porcelain", "--untracked-files=no"], capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return {"commit": None, "dirty": None}
    return {"commit": head, "dirty": bool(changed.strip())}
