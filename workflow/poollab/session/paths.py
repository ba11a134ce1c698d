"""Where everything of a study lies below its results folder."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Paths:
    """Paths of one study's results; nothing is created by looking."""

    results: Path

    @property
    def state(self) -> Path:
        """Folder of session and block records."""
        return self.results / "state"

    @property
    def session(self) -> Path:
        """The present run's resolved study and plan."""
        return self.state / "session.json"

    @property
    def package(self) -> Path:
        """The last file of the data package to be written, and the workflow's target."""
        return self.results / "published" / "SHA256SUMS"

    @property
    def calibration(self) -> Path:
        """What was found on this machine before the first cell, where a workload asks for it."""
        return self.state / "calibration.json"

    def block(self, number: int) -> Path:
        """Folder of one block's records; never deleted, its number never reused."""
        return self.state / "blocks" / str(number)

    def block_record(self, number: int) -> Path:
        """The record on which a block's cells depend."""
        return self.block(number) / "block.json"

    def cell(self, name: str) -> Path:
        """Folder of one cell's results."""
        return self.results / "cells" / name

    def run_record(self, name: str) -> Path:
        """The last file of a cell to be written."""
        return self.cell(name) / "run.json"

    def attempt(self, name: str) -> Path:
        """Return a new folder for something that is kept as evidence and is no result."""
        number = 1
        while (path := self.results / "attempts" / f"{name}.{number}").exists():
            number += 1
        return path

    def block_numbers(self) -> list[int]:
        """List the numbers of all blocks so far."""
        folder = self.state / "blocks"
        return sorted(int(p.name) for p in folder.iterdir() if p.name.isdigit()) if folder.is_dir() else []

    @staticmethod
    def portable(text: str) -> str:
        """Write paths below the present folder, the project's, as they are from there: records are published."""
        return text.replace(f"{Path.cwd()}/", "")

    @classmethod
    def around(cls, path: Path) -> "Paths":
        """Find the results folder that a file belongs to: the one with a state folder above it."""
        for folder in path.absolute().parents:
            if (folder / "state").is_dir():
                return cls(folder)
        raise FileNotFoundError(path)
