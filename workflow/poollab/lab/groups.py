"""Find a place in the machine's control groups where this user may cap two sides."""

import contextlib
import os
import time

from poollab.lab import procs
from poollab.lab.base import Counters
from poollab.lab.cgroup import Group
from poollab.lab.place import PREFIX

SIDES = ("database", "generator")
#: Where the processes of a delegated group go to make room; never as long as a token, so no sweep takes it for a lab.
SESSION = f"{PREFIX}session"


def make(token: str) -> tuple[Group | None, str]:
    """
    Make the lab's group with a child for each side.

    Returns the group (None where this user may not) and one line that says where, or why not.
    On v2 a group that holds processes cannot hand controllers down, so the search goes upwards from
    this process's own group to the first ancestor that can. Where none can and the own group was handed
    to this user (a service with Delegate=yes), its processes move into a child of it first.
    """
    own = Group.of_pid("self")
    if own is None:
        return None, "this machine shows no cgroup cpu and memory controllers"
    group, where = _search(own, token)
    if group is None and _make_room(own):
        group, where = _search(own, token)
    return group, where


def _search(own: Group, token: str) -> tuple[Group | None, str]:
    reason = "no cgroup of this user's own"
    for parent in parents(own):
        group = parent.child(f"{PREFIX}{token}")
        try:
            if parent.version == 2 and "cpu" not in _subtree(parent):
                parent.delegate()
            group.create()
            group.delegate()
            for side in SIDES:
                group.child(side).create()
        except OSError as error:
            reason = f"{error.filename}: {error.strerror}"
            remove(group)
            continue
        return group, f"cgroup v{group.version} below {parent.dirs['cpu']}"
    return None, f"caps need a writable cgroup ({reason}); run as root, or as `systemd-run --user --scope make study`"


def _make_room(own: Group) -> bool:
    """Move the processes of this user's own v2 group into a child of it; tell whether that emptied it."""
    folder = own.dirs["cpu"]
    if own.version == 1 or os.geteuid() == 0 or folder.name == SESSION or folder.stat().st_uid != os.geteuid():
        return False
    session = own.child(SESSION)
    try:
        session.create()
        for _ in range(10):  # a process may have been forked meanwhile
            for pid in own.procs():
                with contextlib.suppress(ProcessLookupError):  # it has ended
                    session.enter(pid)
            if not own.procs():
                return True
    except OSError:
        pass
    return False


def parents(own: Group) -> list[Group]:
    """List the groups below which a lab's group may hang: on v2 this process's own and all above it."""
    if own.version == 1:
        return [own]
    found, here = [], own
    if here.dirs["cpu"].name == SESSION:
        here = Group(here.version, {k: v.parent for k, v in here.dirs.items()})
    while (here.dirs["cpu"] / "cgroup.controllers").exists():
        found.append(here)
        here = Group(here.version, {k: v.parent for k, v in here.dirs.items()})
    return found


def _subtree(group: Group) -> str:
    return (group.dirs["cpu"] / "cgroup.subtree_control").read_text()


def find(token: str) -> Group | None:
    """Find a lab's group by its name: a lab that was stopped while it made it could not record it any more."""
    own = Group.of_pid("self")
    for parent in parents(own) if own else []:
        group = parent.child(f"{PREFIX}{token}")
        if group.exists():
            return group
    return None


def remove(group: Group) -> int:
    """Remove the lab's group and its children; return how many folders went."""
    count = 0
    for part in (*(group.child(side) for side in SIDES), group):
        if part.exists():
            count += part.remove()
    return count


class TreeCounters:
    """
    A CounterSource for a side without a group: CPU of a process and all below it.

    Resolution is one clock tick (10 ms as a rule); memory and throttling are unknown here.
    """

    def __init__(self, root: int) -> None:
        self._root = root

    def read(self) -> Counters:
        """Return CPU use; everything else is None."""
        return Counters(at_ns=time.monotonic_ns(), cpu_ns=self.read_cpu())

    def read_cpu(self) -> int | None:
        """Return CPU use so far in nanoseconds, ended children included."""
        return procs.cpu_ns(procs.descendants(self._root)) or None

    def pids(self) -> list[int]:
        """List the process and all below it."""
        return procs.descendants(self._root)
