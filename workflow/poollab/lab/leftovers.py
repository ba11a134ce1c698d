"""Labs whose owner is gone: found by folder, group and container label, and removed."""

import os
import shutil
from collections import Counter
from pathlib import Path

from poollab.lab import groups, place, procs, sysv
from poollab.lab.cgroup import Group


def sweep() -> dict[str, int]:
    """
    Remove every lab on this machine whose owner no longer runs; return how many things of each kind.

    Only what carries our name and belongs to a dead owner is touched; another user's files are skipped.
    """
    count: Counter[str] = Counter()
    living, dead = set(), set()
    for token, (folder, owner) in place.owners().items():
        if owner is None or owner.alive() or not place.is_ours(folder):
            # Without a readable note the folder is another user's, or is being made this moment.
            living.add(token)
            continue
        dead.add(token)
        segment = sysv.of_server(folder / "data")
        count["process"] += procs.end([(pid, procs.start_time(pid)) for pid in place.inside(folder)], 0.2)
        if segment is not None and sysv.remove_orphan(segment):
            # A server that had to be killed leaves its shared memory.
            count["shared_memory"] += 1
        count["file"] += len(place.files(folder))
        shutil.rmtree(folder, ignore_errors=True)
    count["cgroup"] += _sweep_groups(living, dead)
    count["container"] += _sweep_docker(living, dead)
    return {kind: number for kind, number in count.items() if number}


def _sweep_groups(living: set[str], dead: set[str]) -> int:
    own, removed = Group.of_pid("self"), 0
    for parent in groups.parents(own) if own else []:
        tokens = {
            path.name[len(place.PREFIX) :]
            for folder in parent.folders
            for path in folder.glob(f"{place.PREFIX}????????")
        }
        # Looked at again, since a lab may have been made meanwhile.
        for token in tokens - living - (set(place.owners()) - dead):
            group = parent.child(f"{place.PREFIX}{token}")
            try:
                inside = [pid for side in groups.SIDES for pid in group.child(side).procs()]
                if inside and token not in dead:
                    # Its folder lies where this process does not look (another TMPDIR), so its owner may live.
                    continue
                procs.end([(pid, procs.start_time(pid)) for pid in inside], 0.2)
                removed += groups.remove(group)
            except OSError:
                # Another user's group: not ours to remove.
                continue
    return removed


def _sweep_docker(living: set[str], dead: set[str]) -> int:
    if not (Path("/var/run/docker.sock").exists() or os.environ.get("DOCKER_HOST")):
        return 0
    from poollab.lab import docker_clean  # noqa: PLC0415 - the SDK takes 0.2 s to import

    return sum(docker_clean.sweep(living, dead).values())
