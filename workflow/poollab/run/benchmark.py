"""Measure one cell of a benchmark: all iterations of a row with one arm, in one fresh process."""

import json
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from poollab.errors import LabError, MeasurementError, SafetyStop
from poollab.lab import affinity
from poollab.lab.base import ROLE, Caps, Counters, CounterSource, Lab
from poollab.run.cell import END_WITHIN_S, SAMPLE_EVERY_S, Plan, check_caps
from poollab.run.dialogue import Dialogue
from poollab.run.guard import Guard
from poollab.run.sampling import Host, Sampler
from poollab.run.spec import DATABASE, PORT
from poollab.run.validity import HostUse

#: Bounds for the warm-up with all connections, and for all measured iterations of a row.
READY_WITHIN_S, DONE_WITHIN_S = 300.0, 900.0


@dataclass(slots=True)
class Seen:
    """What is seen of a benchmark's cell, filled as it goes."""

    caps: dict[str, Caps]
    sampler: Sampler
    placed: dict[str, Any]
    """CPUs of both sides, and why they are not apart where they are not."""
    started_at: str = ""
    zero_ns: int = 0
    wall_s: float = 0.0
    counters: dict[str, tuple[Counters, Counters]] = field(default_factory=dict)
    sessions: tuple[int | None, int | None] = (None, None)
    facts: dict[str, Any] = field(default_factory=dict)
    others: HostUse = field(default_factory=HostUse)
    """What the rest of the host did from the generator's start to the last iteration."""


class Others:
    """
    What others took of the host's CPUs, from when this is made until it is asked.

    Many rows last a tenth of a second, and the kernel counts the host's CPU time in ticks of 10 ms: so the look begins
    with the generator's start, and takes off what this process did meanwhile.
    """

    def __init__(self, ours: list[CounterSource]) -> None:
        self._ours, self._host = ours, Host()
        self._begun = self._read()

    def _read(self) -> tuple[int, int, int]:
        """Return time, CPU time of others and stolen CPU time so far, in nanoseconds."""
        host = self._host.read()
        own = sum(source.read_cpu() or 0 for source in self._ours) + time.process_time_ns()
        return time.monotonic_ns(), (host["host_busy_ns"] or 0) - own, host["host_steal_ns"] or 0

    def use(self) -> HostUse:
        """Return the shares of all CPUs that were taken by others and stolen."""
        at, others, stolen = (now - then for now, then in zip(self._read(), self._begun, strict=True))
        all_ns = at * (os.cpu_count() or 1)
        return HostUse(max(0.0, others / all_ns), stolen / all_ns)


def measure(lab: Lab, plan: Plan, out: Path, block: int, guard: Guard, *, enforced: bool) -> dict[str, Any]:
    """
    Run a cell and write its files into `out`; return the run's record (also in run.json, written last).

    Raises:
        MeasurementError, LabError: nothing of the run is kept.
        SafetyStop: the guard broke the run off; what was sampled until then is in the exception.
    """
    if not lab.alive():
        raise LabError("the server of this block is gone")
    # As many processes as callers and sessions can run at once, and all of them are ours.
    guard.limits = replace(guard.limits, runnable_per_cpu=float("inf"))
    wanted = plan.caps("database"), plan.caps("load_generator")
    database, generator = lab.set_caps(*wanted)
    for side, want, got in zip(("database", "load generator"), wanted, (database, generator), strict=True):
        check_caps(want, got, side, enforced=enforced)
    scratch = Path(lab.record.folder) / "cells" / plan.cell
    scratch.mkdir(mode=0o700, parents=True)
    try:
        seen = _observe(lab, plan, scratch, database, guard)
        from poollab.run import benchmark_keep  # noqa: PLC0415 - pyarrow is loaded while nothing is measured

        return benchmark_keep.keep(plan, seen, scratch, out, block, guard)
    except MeasurementError as error:
        if lab.alive():
            raise
        raise LabError(f"the server ended during the run; this block is over ({error})") from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def spec_of(plan: Plan, socket: str, cpus: list[int] | None) -> dict[str, Any]:
    """Return what the load generator is told; the draws of a row are the same for every arm."""
    workload = plan.settings["workload"]
    return {
        "benchmark": workload["benchmark"],
        "draw": f"{plan.study}\0{workload['name']}\0{plan.repeat}",
        "client": plan.settings["client"],
        "pool": plan.settings["arm"],
        "partner": plan.settings.get("partner"),
        "socket": socket,
        "port": PORT,
        "user": ROLE,
        "database": DATABASE,
        "timeouts": plan.settings["timeouts"],
        "cpus": cpus,
    }


def place(lab: Lab) -> dict[str, Any]:
    """Keep the server to its half of the CPUs and return where both sides go, with a note where they overlap."""
    cpus = os.sched_getaffinity(0)
    apart = affinity.halves(cpus, affinity.core)
    if apart is None:
        return {"database": None, "load_generator": None, "note": "there is one CPU, which both sides share"}
    note = lab.pin_database(apart[0])
    if note:
        return {"database": None, "load_generator": apart[1], "note": note}
    one_core = len({affinity.core(cpu) for cpu in cpus}) == 1
    return {"database": apart[0], "load_generator": apart[1], "note": "", "one_core": one_core}


def _observe(lab: Lab, plan: Plan, scratch: Path, database_caps: Caps, guard: Guard) -> Seen:
    placed = place(lab)
    spec = spec_of(plan, lab.record.socket, placed["load_generator"])
    (scratch / "spec.json").write_text(json.dumps(spec), "utf-8")
    dialogue, process = Dialogue(scratch), None
    try:
        process = lab.start_generator(scratch)
        dialogue.process = process
        caps = {"database": database_caps, "load_generator": process.caps}
        seen = Seen(caps, Sampler(lab.database_counters(), process.counters), placed)
        guard.count_too(process.counters)
        others = Others([lab.database_counters(), process.counters])
        _converse(lab, dialogue, seen, guard.check, others)
        seen.facts = json.loads((scratch / "facts.json").read_text("utf-8"))
        return seen
    finally:
        if process is not None:
            process.stop()
        dialogue.close()


def _converse(lab: Lab, dialogue: Dialogue, seen: Seen, check: Callable[[str], None], others: Others) -> None:
    dialogue.expect("ready", READY_WITHIN_S, SAMPLE_EVERY_S, lambda: check("the warm-up"))
    before = lab.sessions()
    seen.started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
    start, wall = seen.sampler.take(), time.time()
    dialogue.say("go")
    seen.zero_ns = int(dialogue.expect("zero", 10)["zero_ns"])

    def sample() -> None:
        seen.sampler.take()
        try:
            check("the measurement")
        except SafetyStop as stop:
            stop.samples, stop.zero_ns = seen.sampler.columns, seen.zero_ns
            raise

    dialogue.expect("done", DONE_WITHIN_S, SAMPLE_EVERY_S, sample)
    end = seen.sampler.take()
    seen.others = others.use()
    seen.wall_s = time.time() - wall
    seen.counters = {side: (start[side], end[side]) for side in start}
    seen.sessions = (before, lab.sessions())
    dialogue.say("close")
    dialogue.finish(END_WITHIN_S)
    if not lab.alive():
        raise LabError("the server ended during the run; this block is over")
    if (end["database"].oom_kills or 0) > (start["database"].oom_kills or 0):
        raise LabError("the kernel killed a server process for want of memory; raise database.limits.memory_mib")
