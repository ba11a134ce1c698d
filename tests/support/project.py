"""A copy of the project in a folder of its own, and Snakemake run in it as a user would."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from support import facts, studies

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("Snakefile", "workflow", "scripts", "config", "reports/templates", "reports/text", "requirements.lock")
#: Two cells a repeat, two repeats: enough to have an order.
TINY: dict[str, Any] = {
    "repeats": 2,
    "windows": {"warm_up_s": 0.3, "measure_s": 0.8},
    "workloads.light.arrivals": {"uniform": {"every_ms": 40}},
}
#: Whoever else works on a test's machine is no part of the test.
WIDE = {"other_cpu": 1.0, "steal": 1.0, "runnable_per_cpu": 1000.0, "min_available_mib": 0, "min_free_disk_mib": 0}


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    text: str
    """What a person saw."""

    def __str__(self) -> str:
        return f"exit {self.code}\n{self.text}"


@dataclass(frozen=True)
class Project:
    """One copy, with a study named tiny."""

    folder: Path

    @classmethod
    def copy(cls, folder: Path, changes: dict[str, Any] | None = None) -> "Project":
        """Copy what a clone holds, and write the tiny study."""
        for part in PARTS:
            source, target = ROOT / part, folder / part
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
            elif source.exists():
                shutil.copy2(source, target)
        made = cls(folder)
        made.machine({"lab": "embedded", "study": "tiny"})
        made.study(changes)
        return made

    def fork(self, folder: Path) -> "Project":
        """Copy this copy with everything that was measured in it, times of files included."""
        shutil.copytree(self.folder, folder, symlinks=True)
        return Project(folder)

    def study(self, changes: dict[str, Any] | None = None) -> None:
        """Write the tiny study."""
        text = yaml.safe_dump(studies.data(changes), sort_keys=False, allow_unicode=True)
        (self.folder / "config" / "studies" / "tiny.yaml").write_text(text, "utf-8")

    def machine(self, values: dict[str, Any]) -> None:
        """Write config.yaml."""
        (self.folder / "config" / "config.yaml").write_text(yaml.safe_dump({"safety": WIDE, **values}), "utf-8")

    @property
    def results(self) -> Path:
        """Results of the tiny study."""
        return self.folder / "results" / "tiny"

    def start(self, *words: str, config: tuple[str, ...] = ()) -> "subprocess.Popen[str]":
        """Start `snakemake --cores 1` in a process group of its own; standard error comes with its output."""
        tail = ["--config", *config] if config else []
        return subprocess.Popen(
            [sys.executable, "-m", "snakemake", "--cores", "1", *words, *tail],
            cwd=self.folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *words: str, config: tuple[str, ...] = (), within_s: float = 90) -> Done:
        """Run `snakemake --cores 1` to its end."""
        process = self.start(*words, config=config)
        try:
            text, _ = process.communicate(timeout=within_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGINT)
            text, _ = process.communicate(timeout=30)
            raise AssertionError(f"not finished within {within_s} s:\n{text}") from None
        return Done(process.returncode, text)

    def record(self, name: str) -> Any:
        """Read a JSON file of the results."""
        return json.loads((self.results / name).read_text("utf-8"))

    def cells(self) -> dict[str, tuple[int, bytes]]:
        """Return the modification time and the content of every file of every cell."""
        return {
            str(path.relative_to(self.results)): (path.stat().st_mtime_ns, path.read_bytes())
            for path in sorted((self.results / "cells").rglob("*"))
            if path.is_file()
        }

    def blocks(self) -> list[int]:
        """Return the numbers of all blocks so far."""
        folder = self.results / "state" / "blocks"
        return sorted(int(path.name) for path in folder.iterdir()) if folder.exists() else []

    def runs(self) -> list[dict[str, Any]]:
        """Return the records of all cells in the order in which they were measured."""
        found = [json.loads(path.read_text("utf-8")) for path in self.results.glob("cells/*/run.json")]
        return sorted(found, key=lambda record: record["started_at"])

    def traces(self) -> list[str]:
        """List what of this project's labs still exists on the machine."""
        found = []
        for path in self.results.glob("state/blocks/*/lab.json"):
            lab = json.loads(path.read_text("utf-8"))
            found += [f"process {pid}" for pid in facts.processes_in(lab["folder"])]
            found += facts.cgroups_of(lab["token"])
            found += [lab["folder"]] if Path(lab["folder"]).exists() else []
            found += [f"segment {s}" for s in facts.segments() if s == lab["detail"].get("segment")]
        return found + [f"process {pid}" for pid in facts.processes_in(self.folder)]


def environment() -> dict[str, str]:
    """Return this process's environment without what a study's run would take from it."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("POOLLAB", "PYTHONPATH", "PYTEST", "SNAKEMAKE"))}


def wait_for(what: Any, within_s: float = 40.0) -> Any:
    """Return what a function gives as soon as it gives something."""
    deadline = time.monotonic() + within_s
    while not (found := what()):
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.02)
    return found
