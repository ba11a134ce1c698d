"""`make clean` and `make clean-results`: what may be removed, and what is said about it."""

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from poollab.errors import ConfigError
from poollab.lab import leftovers
from poollab.lab.place import Owner
from poollab.labels import LABEL_RULE, is_label
from poollab.session import access, lock
from poollab.session.open import configured_results
from poollab.session.paths import Paths
from poollab.session.teardown import end_block


def clean(root: Path) -> str:
    """End blocks whose session is gone, sweep leftovers of dead owners, and say what was removed."""
    count: Counter[str] = Counter()
    for state in sorted(_block_folders(root)):
        paths = Paths(state.parents[1])
        for number in paths.block_numbers():
            folder = paths.block(number)
            if (folder / "teardown.json").exists() or _owner_lives(folder):
                continue
            record = end_block(folder, "the study's process was killed")
            count.update(record["removed"] if record else {})
    count.update(leftovers.sweep())
    parts = [
        f"{number} {kind.replace('_', ' ')}{'s' if number > 1 else ''}" for kind, number in count.items() if number
    ]
    return f"Removed: {', '.join(parts)}." if parts else "Nothing of a lab was left on this machine."


def _block_folders(root: Path) -> list[Path]:
    """Find the blocks of every results folder of the project, whatever --config results= called it."""
    tops = [p for p in root.iterdir() if p.is_dir() and not p.name.startswith(".") and not p.is_symlink()]
    return [path for top in tops for path in top.glob("**/state/blocks")]


def _owner_lives(folder: Path) -> bool:
    from poollab.data import store  # noqa: PLC0415 - pyarrow takes 0.2 s to import, for this case only

    path = folder / "lab.json"
    if not path.exists():
        return False
    owner = store.read_json(path).get("owner")
    return owner is not None and Owner(**owner).alive()


def clean_results(root: Path, study: str, ask: Callable[[str], bool], results: str | None = None) -> str:
    """
    Remove one study's results if `ask` says yes to what is about to be lost.

    Raises:
        ConfigError: the name is no label, or there are no such results.
        LockedError: a study is at work in this folder.
    """
    if not is_label(study):
        raise ConfigError([f"study = {study!r}: must be {LABEL_RULE}"])
    folder = configured_results(root, study, results)
    with access.writable(root / ".snakemake"):
        lock.clear_stale(root)
    # A folder of the project that no study wrote is nobody's results, whatever RESULTS= and STUDY= make of it.
    if not (folder / "state").is_dir():
        known = sorted(p.parent.name for p in (root / "results").glob("*/state"))
        raise ConfigError(
            [f"study = {study}: there are no results in {folder}; results of: {', '.join(known) or 'none'}"]
        )
    runs = len(list((folder / "cells").glob("*/run.json")))
    if not ask(f"Remove {folder} with {runs} measured runs for good?"):
        return "Nothing was removed."
    with access.writable(folder):
        shutil.rmtree(folder)
    return f"Removed {folder} ({runs} runs)."
