"""What exists on this machine, seen with code of its own and not with what is under test."""

import os
from pathlib import Path


def processes_in(folder: str | Path) -> list[int]:
    """List processes whose working folder is, or was, below a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            here = str((entry / "cwd").readlink())
        except OSError:
            continue
        if here.removesuffix(" (deleted)") == str(folder) or here.startswith(f"{folder}/"):
            found.append(int(entry.name))
    return found


def programs_in(folder: str | Path, program: str) -> list[int]:
    """List processes below a folder that have a program as one whole word of their command line."""
    found = []
    for pid in processes_in(folder):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")
        except OSError:
            continue
        if program in words:
            found.append(pid)
    return found


def cgroups_of(token: str) -> list[str]:
    """List control group folders that carry a lab's name."""
    return [
        os.path.join(here, name)  # noqa: PTH118 - os.walk gives text
        for here, folders, _ in os.walk("/sys/fs/cgroup")
        for name in folders
        if token in name
    ]


def segments() -> set[int]:
    """Return the ids of all System V shared memory segments."""
    return {int(line.split()[1]) for line in Path("/proc/sysvipc/shm").read_text("utf-8").splitlines()[1:]}


def labs() -> set[str]:
    """Return the folders of all labs on this machine."""
    return {str(path) for path in Path("/tmp").glob("poollab-????????")}  # noqa: S108 - looked at, not written
