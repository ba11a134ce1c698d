"""Every way in which a study can be broken off, as functions of the running command."""

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from poollab.lab import place, procs

Command = subprocess.Popen[str]


def find(needle: str, within: int) -> list[int]:
    """List processes below `within` whose command line holds some text."""
    return [pid for pid in procs.descendants(within) if needle in procs.title(pid)]


RESULTS = Path(__file__).resolve().parents[2] / "results" / "chaos"


def servers() -> list[int]:
    """List the processes of this test's embedded servers."""
    mine = tokens(RESULTS)
    return [
        pid for token, (folder, _) in place.owners().items() if token in mine for pid in place.inside(folder / "data")
    ]


def containers(part: str) -> list[str]:
    """List this test's running containers of one part (database or generator)."""
    found = []
    for token in tokens(RESULTS):
        words = ["docker", "ps", "-q", "--filter", f"label=poollab={token}", "--filter", f"label=poollab.part={part}"]
        found += subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    return found


def _group(number: int) -> Callable[[Command], None]:
    return lambda command: os.killpg(command.pid, number)


def _only(number: int) -> Callable[[Command], None]:
    return lambda command: os.kill(command.pid, number)


def _twice(command: Command) -> None:
    os.killpg(command.pid, signal.SIGINT)
    time.sleep(random.uniform(0.05, 0.6))  # noqa: S311 - chance, no secret
    if command.poll() is None:
        os.killpg(command.pid, signal.SIGINT)


def _kill_all(pids: list[int]) -> None:
    for pid in pids:
        if procs.alive(pid, None):
            os.kill(pid, signal.SIGKILL)


def _freeze(_command: Command) -> None:
    pids = servers()
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(1.5)
    for pid in pids:
        if procs.alive(pid, None):
            os.kill(pid, signal.SIGCONT)


def _docker(*words: str, part: str = "database") -> Callable[[Command], None]:
    def act(_command: Command) -> None:
        for container in containers(part):
            subprocess.run(["docker", *words, container], capture_output=True, check=False)

    return act


#: Ways that fit every lab.
COMMON: dict[str, Callable[[Command], None]] = {
    "SIGINT to the group": _group(signal.SIGINT),
    "SIGINT to the process": _only(signal.SIGINT),
    "SIGINT twice": _twice,
    "SIGTERM to the process": _only(signal.SIGTERM),
    "SIGTERM to the group": _group(signal.SIGTERM),
    "SIGHUP to the process": _only(signal.SIGHUP),
    "SIGHUP to the group": _group(signal.SIGHUP),
    "SIGKILL to snakemake": _only(signal.SIGKILL),
    "SIGKILL to the group": _group(signal.SIGKILL),
    "SIGKILL to the measuring script": lambda c: _kill_all(find("scripts/measure.py", c.pid)),
}

EMBEDDED = COMMON | {
    "SIGKILL to the generator": lambda c: _kill_all(find("poollab.load.generator", c.pid)),
    "SIGKILL to the server": lambda _: _kill_all(servers()),
    "SIGKILL to one server process": lambda _: _kill_all(servers()[-1:]),
    "the server frozen for 1.5 s": _freeze,
}

DOCKER = COMMON | {
    "generator container killed": _docker("kill", part="generator"),
    "database container killed": _docker("kill"),
    "database container removed": _docker("rm", "-f"),
    "database container paused": _docker("pause"),
    "database container stopped": _docker("stop", "-t", "0"),
}

WAYS = {"embedded": EMBEDDED, "docker": DOCKER}


def tokens(results: Path) -> list[str]:
    """Return the names of all labs of a results folder; others on this machine are not this test's."""
    return [json.loads(path.read_text("utf-8"))["token"] for path in results.glob("*/state/blocks/*/lab.json")]


def left_behind(lab: str, results: Path) -> list[str]:
    """List everything of a results folder's labs that is still on this machine."""
    names = [f"{place.PREFIX}{token}" for token in tokens(results)]
    places = [*Path("/tmp").glob("poollab-*"), *Path("/sys/fs/cgroup").glob("*/poollab-*")]  # noqa: S108
    found = [str(path) for path in [*places, *Path("/sys/fs/cgroup").glob("poollab-*")] if path.name in names]
    marks = (*names, str(results))
    titles = {pid: procs.title(pid) for pid in procs.numbers()}
    found += [f"process {pid} {text[:120]}" for pid, text in titles.items() if any(mark in text for mark in marks)]
    if lab == "docker":
        for token in tokens(results):
            for kind in (["ps", "-aq"], ["volume", "ls", "-q"], ["network", "ls", "-q"]):
                words = ["docker", *kind, "--filter", f"label=poollab={token}"]
                text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
                found += [f"docker {kind[0]} {name}" for name in text.split()]
    return found
