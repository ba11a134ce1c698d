"""
Open a study when Snakemake reads the workflow: validate, plan, and see what is measured already.

Opening only reads (it also happens for a dry run, for lint and in a second process).
"""

import ctypes
import os
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from poollab.errors import ConfigError
from poollab.run.cell import Plan
from poollab.session import access, check, lock, plan_file
from poollab.session.paths import Paths
from poollab.session.terminal import say
from poollab.study.faults import short
from poollab.study.files import find_study, load_study, parse, read_yaml
from poollab.study.machine import Machine
from poollab.study.model import Study

#: Hands the new block's number to Snakemake's child processes, which read the workflow again.
BLOCK_VARIABLE = "POOLLAB_BLOCK"

#: Longest name that a file system takes.
NAME_BYTES = 255


@dataclass(frozen=True)
class Session:
    """A study, its plan, and the state of its results when Snakemake started."""

    root: Path
    machine: Machine
    study: Study
    name: str
    file: str
    plans: dict[str, Plan]
    paths: Paths
    blocks: dict[str, int]
    """Finished cells with the block in which each was measured."""
    new_block: int

    @property
    def folder(self) -> str:
        """Results folder relative to the project, as the rules use it."""
        return str(self.paths.results)

    @property
    def missing(self) -> list[str]:
        """Cells that are still to be measured, in order."""
        return [name for name in self.plans if name not in self.blocks]

    @property
    def pdf(self) -> bool:
        """Whether the library that lays out the PDF is there; without it everything else is made."""
        return pango_available()

    def priority(self, cell: str) -> int:
        """Return a positive rank, highest for the cell that is due first."""
        return len(self.plans) - list(self.plans).index(cell)

    def block_record(self, cell: str) -> str:
        """Return the record of the block in which a cell was, or is to be, measured."""
        return str(self.paths.block_record(self.blocks.get(cell, self.new_block)))


def use_this_python(root: Path) -> None:
    """Let `python3` mean the interpreter that runs Snakemake, and `poollab` this package, in every command."""
    for name, place, default in (
        ("PATH", Path(sys.executable).parent, os.defpath),
        ("PYTHONPATH", root / "workflow", ""),
    ):
        parts = [part for part in os.environ.get(name, default).split(os.pathsep) if part and part != str(place)]
        os.environ[name] = os.pathsep.join((str(place), *parts))


def open_session(root: Path, config: dict[str, Any], *, looking: bool = False) -> Session:
    """
    Read machine and study files, and the records of finished cells.

    `looking` (a dry run, lint) changes nothing on disk; otherwise the lock of a run that was killed is
    removed, damaged cells are moved aside, and damaged tables and pages are removed.

    Raises:
        ConfigError: every fault of the configuration at once.
        IdentityError: results of other settings stand where this study's should.
        LockedError: another run is under way in this folder.
    """
    # Snakemake has read it before, and keeps the last of two equal keys without a word.
    read_yaml(root / "config" / "config.yaml")
    machine = parse(Machine, _as_text(config), "config/config.yaml")
    path = find_study(machine.study, root)
    file = os.path.relpath(path, root)
    if set("{}") & set(file):
        raise ConfigError(
            [f"study = {short(file)}: must be a path without braces, which name wildcards in the workflow"]
        )
    study = load_study(path)
    results = _results_folder(root, machine.results) / path.stem
    if access.in_the_way(root / results):
        raise ConfigError([f"{results}: is no folder; move it away, or name another one (--config results=NAME)"])
    paths, plans = Paths(results), plan_file.cells(study, path.stem)
    if not looking:
        _lock(root, path.stem)
    with access.writable(results):
        blocks, damaged = check.finished(paths, plans, study.model_dump(mode="json", by_alias=True))
        for line in [] if looking else [*check.set_aside(paths, damaged), *check.drop_damaged(paths)]:
            say(line)
        numbers = [0, *paths.block_numbers(), *blocks.values()]
    new_block = int(os.environ.setdefault(BLOCK_VARIABLE, str(max(numbers) + 1)))
    return Session(root, machine, study, path.stem, file, plans, paths, blocks, new_block)


def _lock(root: Path, study: str) -> None:
    """Take the folder; remove the lock of a run that was killed."""
    with access.writable(root / ".snakemake"):
        if lock.clear_stale(root):
            say("The last run here was killed; its lock was removed.")
        lock.claim(root, study)


@cache
def pango_available() -> bool:
    """Tell whether Pango can be loaded (Debian: libpango-1.0-0 and libpangoft2-1.0-0)."""
    try:
        for name in ("libpango-1.0.so.0", "libpangoft2-1.0.so.0"):
            ctypes.CDLL(name)
    except OSError:
        return False
    return True


def _as_text(config: dict[str, Any]) -> dict[str, Any]:
    """Undo Snakemake's guess at types: a study called 5 on the command line arrives as a number."""
    return {k: str(v) if isinstance(v, (int, float)) and not isinstance(v, bool) else v for k, v in config.items()}


def configured_results(root: Path, study: str | None, results: str | None = None) -> Path:
    """Return the results folder of a study by name; what is None is taken from config.yaml."""
    machine = parse(Machine, read_yaml(root / "config" / "config.yaml"), "config/config.yaml")
    return root / _results_folder(root, results or machine.results) / (study or find_study(machine.study, root).stem)


def _results_folder(root: Path, name: str) -> Path:
    fault = f"config/config.yaml: results = {short(name)}: must be a folder inside the project, such as results"
    if not name.isprintable() or any(len(os.fsencode(part)) > NAME_BYTES for part in Path(name).parts):
        raise ConfigError([f"{fault}, with a name that a folder can have"])
    target, home = (root / name).resolve(), root.resolve()
    if target == home or home not in target.parents:
        raise ConfigError([fault])
    # `make clean` looks into no hidden folder, and those that are here belong to other programs.
    if target.relative_to(home).parts[0].startswith("."):
        raise ConfigError([f"{fault}, and no hidden one"])
    if access.in_the_way(target):
        raise ConfigError([f"{fault}, and {access.in_the_way(target)} is a file"])
    relative = os.path.relpath(target, home)
    if set("{}") & set(relative) or relative.startswith("-"):
        raise ConfigError(
            [f"{fault}, without braces (wildcards in the workflow) and with no hyphen at its start (an option there)"]
        )
    # Relative, so that records hold no path of this machine and a moved project keeps its results.
    return Path(relative)
