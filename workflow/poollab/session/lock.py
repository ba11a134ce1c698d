"""
Snakemake's lock on the project's folder, with an owner.

Snakemake's own lock says nothing about who holds it, so after kill -9 it stays for ever. Beside it we note
process id and start time; when that process is gone, lock and incomplete markers are removed (what our rules
write is complete or absent, so no marker tells us anything).
"""

import fcntl
import json
import os
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from poollab.errors import LockedError
from poollab.lab import place, procs
from poollab.lab.place import Owner


def _folder(root: Path) -> Path:
    return root / ".snakemake"


def claim(root: Path, study: str) -> None:
    """Note that this process holds the folder's lock."""
    note = {**asdict(Owner.this_process()), "study": study, "since": datetime.now(UTC).isoformat(timespec="seconds")}
    (_folder(root) / "poollab.json").write_text(json.dumps(note), "utf-8")


def holder(root: Path) -> tuple[Owner, str] | None:
    """Return who holds the lock and a sentence about it; None where nobody noted anything."""
    try:
        note = json.loads((_folder(root) / "poollab.json").read_text("utf-8"))
        owner = Owner(note["pid"], note["started"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return owner, f"process {owner.pid} has been working on study {note.get('study')} here since {note.get('since')}"


def refuse_another_study() -> None:
    """
    See that no other study measures on this machine: each would be the other's disturbance.

    Raises:
        LockedError: one does; says which process.
    """
    for _, owner in place.owners().values():
        if owner is None or not owner.alive() or owner == Owner.this_process():
            continue
        if "snakemake" in procs.title(owner.pid):
            raise LockedError(
                f"Nothing was started: process {owner.pid} measures another study on this machine, and two would "
                "disturb each other. Run the same command when it has ended."
            )


def clear_stale(root: Path) -> bool:
    """
    Take this folder until this process ends, and remove the lock of one that is gone; tell whether there was one.

    The kernel gives the folder to one process only and takes it back at its end, so there is no moment in which a
    lock that was just taken could be mistaken for a stale one.

    Raises:
        LockedError: its holder still runs.
    """
    _folder(root).mkdir(exist_ok=True)
    # Stays open, and thereby locked, until this process ends; children do not inherit it.
    mine = os.open(_folder(root) / "poollab.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    held = holder(root)
    try:
        fcntl.flock(mine, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(mine)
        owner, sentence = held or (None, "another process is at work in this folder")
        raise LockedError(
            f"Nothing was started: {sentence}. Two studies at once would disturb each other; "
            f"wait for it{f', or end it with `kill {owner.pid}`' if owner else ''}."
        ) from None
    locks = list((_folder(root) / "locks").glob("*"))
    if not locks or held is None or (held[0].alive() and held[0] != Owner.this_process()):
        return False
    for path in [*locks, *(_folder(root) / "incomplete").glob("*")]:
        path.unlink(missing_ok=True)
    return True
