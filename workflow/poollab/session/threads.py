"""Refuse a study whose clients need more threads, or more memory for them, than this machine or the study gives."""

import os
import resource
from pathlib import Path
from typing import Any

from poollab.errors import ConfigError

#: Fewer threads than this every machine gives.
ALWAYS = 500
#: Beside the workers of a process: its main thread, the driver's, and a pool of processes for computing.
ROOM = 64
#: What a waiting thread takes of the generator's memory (4,000 took 61 MB), and what the generator takes without them.
THREAD_BYTES, GENERATOR_BYTES = 16 * 1024, 64 << 20


def needed(settings: dict[str, Any]) -> int:
    """Return the most threads and processes that the load generator of a cell has at once."""
    arm = settings["arm"]
    return int(arm["processes"] * ((arm.get("threads") or 0) + (arm.get("executor") or 0) + ROOM))


def refuse_too_many(session: dict[str, Any], room: dict[str, int] | None = None) -> None:
    """
    Compare what every cell needs with what may be had (`room`: what sets the limit, and how many are left).

    Raises:
        ConfigError: with the sum for each arm that does not fit.
    """
    left = free() if room is None else room
    faults: dict[str, None] = {}
    for cell in session["cells"].values():
        count, arm = needed(cell["settings"]), cell["settings"]["arm"]
        at = f"{session['study']['file']}: arms.{cell['arm']} with workloads.{cell['workload']}"
        if count < ALWAYS:
            continue
        each = (arm.get("threads") or 0) + (arm.get("executor") or 0)
        total = f"{arm['processes']} x ({each} threads + {ROOM}) = {count}"
        faults |= {
            f"{at}: needs {total} threads and processes, and {name} leaves {number}; raise it or use fewer": None
            for name, number in left.items()
            if count > number
        }
        memory = cell["settings"]["limits"]["load_generator"]["memory_mib"]
        bytes_needed = count * THREAD_BYTES + arm["processes"] * GENERATOR_BYTES
        if memory is not None and bytes_needed > memory << 20:
            faults[
                f"{at}: {total} threads and processes need about {bytes_needed >> 20} MiB, and "
                f"load_generator.limits.memory_mib is {memory}; raise it or use fewer threads"
            ] = None
    if faults:
        raise ConfigError(list(faults))


def free() -> dict[str, int]:
    """Return how many more threads each limit of this machine allows, by its name."""
    running = int(Path("/proc/loadavg").read_text("utf-8").split()[3].partition("/")[2])
    found = {
        name: int(Path(f"/proc/sys/kernel/{name}").read_text("utf-8")) - running for name in ("threads-max", "pid_max")
    }
    soft = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    if os.geteuid() != 0 and soft != resource.RLIM_INFINITY:
        found["ulimit -u"] = soft - _mine()
    for folder in _pids_folders():
        most, now = (_number(folder / name) for name in ("pids.max", "pids.current"))
        if most is not None and now is not None:
            found[f"{folder}/pids.max"] = most - now
    return found


def _mine() -> int:
    """Count the threads of this user."""
    count = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":", 1) for line in status.read_text("utf-8").splitlines() if ":" in line)
        except OSError:  # it has ended
            continue
        if int(fields["Uid"].split()[0]) == os.getuid():
            count += int(fields["Threads"])
    return count


def _pids_folders() -> list[Path]:
    """List this process's groups that may hold a limit of processes, the nearest first."""
    found = []
    for line in Path("/proc/self/cgroup").read_text("utf-8").splitlines():
        _, controllers, inner = line.split(":", 2)
        if controllers not in {"", "pids"}:
            continue
        root = Path("/sys/fs/cgroup") / controllers
        folder = root / inner.strip("/")
        found += [part for part in (folder, *folder.parents) if part.is_relative_to(root)]
    return found


def _number(path: Path) -> int | None:
    try:
        text = path.read_text("utf-8").strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None
