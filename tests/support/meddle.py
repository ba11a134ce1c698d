"""
Does something bad to a running server, from a process of its own: `meddle.py WHAT FOLDER COUNT AFTER_S FOR_S`.

WHAT is freeze (SIGSTOP to every server process, SIGCONT after FOR_S seconds) or terminate (the load
generator's sessions, by a superuser). It waits until COUNT sessions of the generator are there and then
AFTER_S more seconds. A process of its own, since the measuring one must stay single-threaded.
"""

import os
import signal
import sys
import time
from pathlib import Path

import psycopg
from facts import processes_in

TITLE = b"postgres: poollab postgres [local]"


def _titles(pids: list[int]) -> list[bytes]:
    found = []
    for pid in pids:
        try:
            found.append(Path(f"/proc/{pid}/cmdline").read_bytes())
        except OSError:
            continue
    return found


def _wait_for_sessions(folder: Path, count: int) -> None:
    deadline = time.monotonic() + 30
    while sum(title.startswith(TITLE) for title in _titles(processes_in(folder / "data"))) < count:
        if time.monotonic() > deadline:
            sys.exit("no sessions came")
        time.sleep(0.02)


def _freeze(folder: Path, seconds: float) -> None:
    servers = processes_in(folder / "data")
    for pid in servers:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(seconds)
    for pid in servers:
        os.kill(pid, signal.SIGCONT)


def _terminate(folder: Path) -> None:
    dsn = f"host={folder / 'socket'} port=5432 user=postgres dbname=postgres"
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'poollab'")


def main(what: str, folder: Path, count: int, after_s: float, for_s: float) -> None:
    """Wait and meddle."""
    _wait_for_sessions(folder, count)
    time.sleep(after_s)
    if what == "freeze":
        _freeze(folder, for_s)
    else:
        _terminate(folder)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), float(sys.argv[5]))
