"""
Begin and end of a Snakemake run, and the signals between.

Snakemake's SIGTERM handler takes a lock that its own scheduler may hold (it then hangs for ever), and
SIGHUP ends it without any handler; so our own are set when the first job is about to start.
"""

import atexit
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

from poollab.data import store
from poollab.errors import ConfigError, PoollabError
from poollab.lab import choose
from poollab.lab.place import Owner
from poollab.session import access, again, lock, machine_lock, opening, plan_file, terminal
from poollab.session.open import Session

INTERRUPTED, STOPPED = 130, 75

#: How long jobs may take to leave after a signal that reached them too, in seconds.
PASS_ON_AFTER_S = 0.3


class Hooks:
    """The handlers of one run; `signalled` holds the first signal that arrived."""

    def __init__(self, session: Session, workflow: Any, silent: terminal.QuietFilter) -> None:
        self._session, self._workflow, self._silent = session, workflow, silent
        self.signalled: int | None = None
        silent.nothing_to_do = (
            f"Nothing to do: all {len(session.plans)} cells are measured. Published: {session.folder}/published"
        )

    def start(self) -> None:
        """Take over signals and the machine, and write down what is going to happen."""
        for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(sig, self._on_signal)
        atexit.register(self._down)
        # Snakemake fails a job whose output is older than its input and deletes what was measured; on one machine
        # that only says that the clock was stepped back meanwhile.
        self._workflow.dag.check_output_mtime = _any_time
        try:
            self._take_the_machine()
            self._refuse_measuring_again()
            self._prepare()
        except PoollabError as error:
            terminal.say(str(error))
            sys.exit(error.exit_code)

    def _prepare(self) -> None:
        """Choose the lab, write the session file, and say what is going to happen."""
        session = self._session
        place = session.paths.session, session.study, session.name, session.file, session.plans
        if not session.missing:
            with access.writable(session.paths.results):
                plan_file.renew(*place)
            return
        lab = choose.choose(session.machine.lab)
        with access.writable(session.paths.results):
            plan_file.write(
                *place,
                block=session.new_block,
                lab={"kind": lab[0], "why": lab[1]},
                safety=session.machine.safety.model_dump(mode="json"),
                limits_required=session.machine.limits == "required",
                owner={"pid": os.getpid(), "started": Owner.this_process().started},
            )
        terminal.say(opening.opening(session, lab))

    def _take_the_machine(self) -> None:
        """See that no other study measures here, from now until this process ends."""
        if not_taken := machine_lock.take():
            terminal.say(f"No lock on this machine ({not_taken}): a study of another user would not be noticed.")
        lock.refuse_another_study()

    def _refuse_measuring_again(self) -> None:
        """
        See that Snakemake is not about to replace what is measured.

        --forceall, --forcerun or another software environment would: it removes a finished cell's record first and
        then sends the cell to a block whose server is long gone.
        """
        session = self._session
        again = [
            str(getattr(job.wildcards, "cell", None) or f"block {job.wildcards.block}")
            for job in self._workflow.dag.needrun_jobs()
            if (job.rule.name == "measure_cell" and job.wildcards.cell in session.blocks)
            or (job.rule.name == "begin_block" and int(job.wildcards.block) != session.new_block)
        ]
        if again:
            named = ", ".join(sorted(again)[:4]) + (", ..." if len(again) > 4 else "")
            terminal.say(
                f"Nothing was started: Snakemake was told to measure again what is measured ({named}). Leave out "
                f"--forceall and --forcerun, or remove the results with `make clean-results STUDY={session.name}`."
            )
            sys.exit(2)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if self.signalled is None:
            self.signalled = number
            terminal.say(f"\n{signal.Signals(number).name}: stopping; what is measured is kept.")
        self._silent.told = True
        scheduler = getattr(self._workflow, "scheduler", None)
        gracefully = getattr(scheduler, "exit_gracefully", None)
        if gracefully is None:
            raise KeyboardInterrupt
        # In a thread: called here it would wait for a lock that this very thread may hold.
        threading.Thread(target=gracefully, daemon=True).start()
        threading.Thread(target=_pass_on, daemon=True).start()

    def succeed(self, published: str) -> None:
        """Say where everything is, and the one-sentence result."""
        self._down()
        closing = self._session.paths.results / "report" / "result.txt"
        terminal.say(
            (closing.read_text("utf-8").strip() + "\n" if closing.exists() else "") + f"Published: {published}"
        )

    def fail(self, log: Any) -> None:
        """End the block, say what is kept, and leave with the code that fits the cause."""
        self._down()
        stopped = self._session.paths.block(self._session.new_block) / "stopped.json"
        kept = sum(self._session.paths.run_record(cell).exists() for cell in self._session.plans)
        total = len(self._session.plans)
        where = f"{kept} of {total} cells are kept; the same command continues."
        if self.signalled is not None:
            terminal.say(f"Stopped. {where}")
            sys.exit(INTERRUPTED)
        if stopped.exists():
            record = store.read_json(stopped)
            if record["exit_code"] == ConfigError.exit_code:
                where = f"{kept} of {total} cells are kept; when that is mended, the same command continues."
            terminal.say(f"{record['reason']}\n{where}")
            if record["exit_code"] == STOPPED and again.allowed(self._session.machine.safety):
                # Registered last, so it runs first of all: after Snakemake has given its lock back.
                atexit.register(again.go_on, self._session)
            sys.exit(record["exit_code"])
        terminal.say(f"The study did not finish. {where} Log: {log[0] if isinstance(log, list) and log else log}")

    def _down(self) -> None:
        """End all blocks in a process of its own that no second Ctrl-C reaches."""
        paths = self._session.paths
        open_blocks = [
            n for n in paths.block_numbers() if (paths.block(n) / "lab.json").exists() and not _ended(paths.block(n))
        ]
        if not open_blocks:
            return
        ended = "interrupted" if self.signalled is not None else "stopped by a failure"
        command = [sys.executable, "-m", "poollab.session.down", str(paths.results.absolute()), ended]
        done = subprocess.run(
            command, start_new_session=True, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        if done.stdout.strip() or done.returncode:
            terminal.say((done.stdout + done.stderr).strip())


async def _any_time(*_: Any) -> None:
    """Stand in for Snakemake's comparison of modification times after a job."""


def _pass_on() -> None:
    """
    End the jobs under way, which Snakemake would let run to their ends.

    A terminal's Ctrl-C reaches them by itself, so they get the time to leave first.
    """
    import psutil  # noqa: PLC0415 - only where a run is broken off

    time.sleep(PASS_ON_AFTER_S)
    # Those of our process group: the keeper and the server have sessions of their own and are not jobs.
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error, ProcessLookupError):
            if os.getpgid(child.pid) == os.getpgid(0):
                child.send_signal(signal.SIGTERM)


def _ended(folder: Path) -> bool:
    path = folder / "teardown.json"
    return path.exists() and bool(store.read_json(path)["confirmed"])
