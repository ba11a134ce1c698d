"""End a block: remove its lab, confirm that nothing remains, and record it; safe to call at any time, twice too."""

import fcntl
import os
import signal
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from poollab.data import store
from poollab.lab import choose
from poollab.lab.place import Owner
from poollab.session.paths import Paths

CONFIRMED = "removed; confirmed that no container, volume, process, cgroup, socket or file of the lab remains"


def end_block(folder: Path, ended: str) -> dict[str, Any] | None:
    """
    Remove a block's lab and write teardown.json; return its content, None where there was no lab.

    `ended` says why the block ended; the first reason that was recorded stays.
    """
    lab_path, done = folder / "lab.json", folder / "teardown.json"
    if not lab_path.exists():
        return None
    # The keeper, the graph's own rule and a handler may come at the same moment.
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        earlier = store.read_json(done) if done.exists() else None
        if earlier and earlier["confirmed"]:
            return dict(earlier)
        lab = choose.attach(store.read_json(lab_path))
        removed = lab.remove()
        remaining = lab.leftovers()
        record = {
            "block": int(folder.name),
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "ended": earlier["ended"] if earlier else ended,
            "removed": removed,
            "leftovers": remaining,
            "confirmed": not remaining,
            "sentence": CONFIRMED
            if not remaining
            else "NOT all removed: " + "; ".join(remaining) + " (run `make clean`)",
        }
        store.write_json(done, record)
        _dismiss_keeper(folder)
        return record


def _dismiss_keeper(folder: Path) -> None:
    """End the block's keeper, unless this is it: it has nothing left to keep, and it ignores a mere request."""
    path = folder / "keeper.json"
    if path.exists() and (keeper := Owner(**store.read_json(path))).pid != os.getpid() and keeper.alive():
        os.kill(keeper.pid, signal.SIGKILL)


def end_all(paths: Paths, ended: str) -> list[dict[str, Any]]:
    """End every block that has a lab; return their records in order."""
    records = [end_block(paths.block(number), ended) for number in paths.block_numbers()]
    return [record for record in records if record is not None]


def write_cleanup(paths: Paths, target: Path) -> list[str]:
    """Write cleanup.json over all blocks; return what still remains, which must be nothing."""
    records = end_all(paths, "all planned cells measured")
    store.write_json(target, {"format": 1, "blocks": records})
    return [item for record in records for item in record["leftovers"]]
