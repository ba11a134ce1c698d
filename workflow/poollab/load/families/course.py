"""A cell's course: rows laid out, iterations timed, the talk with the measuring process, and what is written."""

import gc
import json
import os
import platform
import resource
import sys
import time
from array import array
from pathlib import Path
from typing import Any

from poollab.load.families import work
from poollab.load.families.stamps import Stamps
from poollab.load.families.work import Caller

_PAGE = os.sysconf("SC_PAGE_SIZE")


class Course:
    """
    Keeps the books of a cell; events as in the load generator.

        ready   the warm-up iterations are done; waits for "go"
        zero    the first measured iteration begins, as CLOCK_MONOTONIC nanoseconds
        done    the last one has ended; waits for "close"
    """

    def __init__(self, folder: Path, spec: dict[str, Any]) -> None:
        self._folder, self.spec, self.row = folder, spec, spec["benchmark"]
        self.cpus = _pin(spec.get("cpus"))
        self.work = work.draw(self.row, spec["draw"])
        self.shape, self.warm_up = self.work.shape, int(self.row["warm_up_iterations"])
        self.stamps = Stamps(self.work.operations)
        self._firsts = self._lay_out()
        self.connects: list[tuple[int, int]] = []
        """When each physical connection was made (ns), and its server process; in order."""
        self.iterations: list[dict[str, int]] = []
        self.zero_ns = 0
        self._begun = (0, 0, 0, 0)
        self._later_waves: list[int] = []
        self._events = (folder / "events").open("w", buffering=1)
        self._control = (folder / "control").open("r")

    def _lay_out(self) -> list[int]:
        """Number all check-outs in order; return the first of each iteration."""
        here, firsts = 0, []
        for number, iteration in enumerate(self.work.iterations):
            firsts.append(here)
            for caller, operations in ((c, ops) for wave in iteration for c, ops in enumerate(wave)):
                end = here + len(operations)
                self.stamps.iteration[here:end] = array("q", [number]) * len(operations)
                self.stamps.caller[here:end] = array("q", [caller]) * len(operations)
                here = end
        return firsts

    def __len__(self) -> int:
        return len(self.work.iterations)

    def waves(self, number: int) -> list[list[tuple[int, Caller]]]:
        """Return each wave's callers of an iteration, each with the number of its first row."""
        here, found = self._firsts[number], []
        for wave in self.work.iterations[number]:
            callers = []
            for operations in wave:
                callers.append((here, operations))
                here += len(operations)
            found.append(callers)
        return found

    def begin(self, number: int) -> None:
        """Start the clock of an iteration; what was left by the one before is collected first."""
        gc.collect()
        self._later_waves = []
        self._begun = (number, len(self.connects), time.process_time_ns(), time.monotonic_ns())

    def next_wave(self) -> None:
        """Note when a further wave begins; the first one begins with its iteration."""
        self._later_waves.append(time.monotonic_ns())

    def end(self) -> None:
        """Stop the clock, and say of each caller when its first check-out was due."""
        ended = time.monotonic_ns()
        number, connects, cpu, begun = self._begun
        self.iterations.append(
            {
                "iteration": number,
                "began_ns": begun,
                "duration_ns": ended - begun,
                "connects": len(self.connects) - connects,
                "generator_cpu_ns": time.process_time_ns() - cpu,
                "rss_bytes": _rss_bytes(),
            }
        )
        for wave, began in zip(self.waves(number), [begun, *self._later_waves], strict=True):
            self.stamps.due((first for first, _ in wave), began)

    def ready(self) -> None:
        """Tell that the warm-up is over, wait for the word, and set zero."""
        self.say("ready", connections=len(self.connects))
        self._obey("go")
        self.zero_ns = time.monotonic_ns()
        self.say("zero", zero_ns=self.zero_ns)

    def done(self) -> None:
        """Tell that all iterations have ended, and wait for the word."""
        self.say("done", finished=True)
        self._obey("close")

    def say(self, event: str, **values: object) -> None:
        """Tell the measuring process."""
        self._events.write(json.dumps({"event": event, **values}) + "\n")

    def _obey(self, word: str) -> None:
        """Wait for a word; an end of file means that the measuring process is gone, and so is the run."""
        if self._control.readline().strip() != word:
            raise SystemExit(f"the measuring process did not say {word}")

    def write(self, proofs: dict[str, dict[str, Any]], loop: str | None) -> None:
        """Write stamps and facts; `proofs` by mode."""
        self.stamps.write(self._folder / "stamps.bin", self.zero_ns)
        facts = {
            "zero_ns": self.zero_ns,
            "digest": self.work.digest,
            "operations": self.work.operations,
            "iterations": self.iterations,
            "unhurried_ns": [self.work.unhurried_ns(number, int(self.row["pool"])) for number in range(len(self))],
            "connects": self.connects,
            "errors": self.stamps.errors,
            "implementations": proofs,
            "cpus": self.cpus,
            "loop": loop,
            "python": platform.python_version(),
            "switch_interval_s": sys.getswitchinterval(),
            "max_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        }
        (self._folder / "facts.json").write_text(json.dumps(facts), "utf-8")
        for pipe in (self._events, self._control):
            pipe.close()


def _pin(cpus: list[int] | None) -> list[int]:
    """Keep to some CPUs, where any are named; return those that this process may now use."""
    if cpus:
        os.sched_setaffinity(0, cpus)
    return sorted(os.sched_getaffinity(0))


def _rss_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE
