"""Measure one cell: the conversation with the generator, from its folder to the files that are kept."""

import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from poollab.errors import LabError, MeasurementError, SafetyStop
from poollab.lab.activity import active_ns
from poollab.lab.base import Caps, Counters, Lab
from poollab.load import draw
from poollab.run import gather
from poollab.run.dialogue import Chorus
from poollab.run.guard import Guard
from poollab.run.sampling import Sampler
from poollab.run.spec import write_spec

SAMPLE_EVERY_S = 0.1
#: Bounds for the parts whose length the study does not say.
CONNECT_WITHIN_S = 120.0
END_WITHIN_S = 60.0
#: A server process that has lost its client ends within this time.
GONE_WITHIN_S = 2.0
#: Executions on each connection before the warm-up (the client's: five custom plans and two more).
WARM_UPS = 7
#: Between the word to go and the first arrival: time for every process to hear it, and for nothing else.
LEAD_NS = 20_000_000


@dataclass(frozen=True, slots=True)
class Plan:
    """A cell as the session file holds it."""

    study: str
    cell: str
    workload: str
    arm: str
    limits: str
    repeat: int
    settings: dict[str, Any]
    settings_hash: str
    calibration: dict[str, Any] = field(default_factory=dict)
    """What was found on this machine for this workload (capacity, calibrated arguments); not in the session file."""

    @property
    def windows(self) -> tuple[float, float]:
        """Warm-up and measurement in seconds."""
        return self.settings["windows"]["warm_up_s"], self.settings["windows"]["measure_s"]

    @classmethod
    def load(cls, session: Mapping[str, Any], cell: str) -> "Plan":
        """Take one cell's plan from a session file's content."""
        return cls(**session["cells"][cell])

    def caps(self, side: str) -> Caps:
        """Return the caps of `database` or `load_generator` in the kernel's units."""
        limits = self.settings["limits"][side]
        quota = None if limits["cpus"] is None else round(limits["cpus"] * limits["period_ms"] * 1000)
        memory = None if limits["memory_mib"] is None else limits["memory_mib"] << 20
        return Caps(quota, round(limits["period_ms"] * 1000), memory)


@dataclass(slots=True)
class Observed:
    """What is seen of a run, filled as it goes and judged afterwards."""

    spec: dict[str, Any]
    stimulus: draw.Stimulus
    caps: dict[str, Caps]
    sampler: Sampler
    started_at: str = ""
    """Wall time of zero, a label only."""
    zero_ns: int = 0
    wall_s: float = 0.0
    """How long the window took by the wall clock; differs from the monotonic one when that clock was stepped."""
    counters: dict[str, tuple[Counters, Counters]] = field(default_factory=dict)
    sessions: tuple[int | None, int | None] = (None, None)
    sessions_left: int | None = None
    """Server sessions that were still there when the load generator had closed its pool and ended."""
    active_ns: tuple[int | None, int | None] = (None, None)
    """The server's account of how long its sessions were executing, read just outside the window."""
    facts: dict[str, Any] = field(default_factory=dict)


def measure(lab: Lab, plan: Plan, out: Path, block: int, guard: Guard, *, enforced: bool) -> dict[str, Any]:
    """
    Run a cell and write its files into `out`; return the run's record (also in run.json, written last).

    Raises:
        MeasurementError, LabError: nothing of the run is kept.
        SafetyStop: the guard broke the run off; what was sampled until then is in the exception.
    """
    if not lab.alive():
        raise LabError("the server of this block is gone")
    wanted = plan.caps("database"), plan.caps("load_generator")
    database, generator = lab.set_caps(*wanted)
    for side, want, got in zip(("database", "load generator"), wanted, (database, generator), strict=True):
        check_caps(want, got, side, enforced=enforced)
    scratch = Path(lab.record.folder) / "cells" / plan.cell
    scratch.mkdir(mode=0o700, parents=True)
    try:
        observed = observe(lab, plan, scratch, database, guard)
        from poollab.run import keep  # noqa: PLC0415 - pyarrow is loaded while nothing is measured

        return keep.keep(plan, observed, scratch, out, block, guard)
    except MeasurementError as error:
        if lab.alive():
            raise
        raise LabError(f"the server ended during the run; this block is over ({error})") from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def observe(
    lab: Lab, plan: Plan, scratch: Path, database_caps: Caps, guard: Guard | None, *, facts: bool = True
) -> Observed:
    """Hold the conversation with a generator on `scratch`; `facts` is off for one that writes no rows."""
    spec, stimulus = write_spec(scratch, plan, lab.record.socket)
    dialogue = Chorus(gather.folders(scratch, spec["processes"]))
    process = None
    try:
        process = lab.start_generator(scratch)
        dialogue.follow(process)
        # While the generator starts, never while it measures.
        import psycopg  # noqa: F401, PLC0415
        import pyarrow.parquet  # noqa: F401, PLC0415

        caps = {"database": database_caps, "load_generator": process.caps}
        observed = Observed(spec, stimulus, caps, Sampler(lab.database_counters(), process.counters))
        if guard is not None:
            guard.count_too(process.counters, own_tasks(plan.settings["arm"]))
        _converse(lab, plan, dialogue, observed, guard.check if guard else lambda _: None)
        if facts:
            observed.facts = gather.facts(scratch, spec)
        return observed
    finally:
        if process is not None:
            process.stop()
        dialogue.close()


def _sessions_left(lab: Lab) -> int | None:
    until = time.monotonic() + GONE_WITHIN_S
    while (left := lab.sessions()) and time.monotonic() < until:
        time.sleep(0.01)
    return left


def _stands(lab: Lab) -> None:
    if not lab.alive():
        raise LabError("the server ended while connections were made; this block is over")


def own_tasks(arm: Mapping[str, Any]) -> int:
    """Return how many threads and processes of ours can be runnable at once: sessions, workers, and what leads them."""
    return int(arm["processes"] * (arm["size"] + (arm.get("threads") or 0) + (arm.get("executor") or 0) + 1))


def _converse(lab: Lab, plan: Plan, dialogue: Chorus, observed: Observed, check: Callable[[str], None]) -> None:
    warm_s, measure_s = plan.windows
    drain_s = plan.settings["timeouts"]["drain_s"]
    # Every connection is warmed with each statement in turn, each execution within its own time-out.
    statements = sum(step["do"] == "query" for step in observed.spec["steps"])
    warming_s = plan.settings["arm"]["size"] * statements * WARM_UPS * plan.settings["timeouts"]["query_s"]
    dialogue.expect("connected", CONNECT_WITHIN_S + warming_s, between=lambda: _stands(lab))
    dialogue.expect("ready", warm_s + drain_s + 30, SAMPLE_EVERY_S, lambda: check("the warm-up"))
    # Our query ends before the word is given: none of ours reaches the server while it is measured.
    before, active = lab.sessions(), active_ns(lab.admin_dsn())
    zero_ns = observed.zero_ns = time.monotonic_ns() + LEAD_NS
    dialogue.say(f"go {zero_ns}")
    _sleep_until(zero_ns)
    observed.started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
    start, wall = observed.sampler.take(), time.time()

    def sample() -> None:
        observed.sampler.take()
        try:
            check("the measurement")
        except SafetyStop as stop:
            stop.samples, stop.zero_ns = observed.sampler.columns, zero_ns
            raise

    dialogue.expect("done", measure_s + drain_s + 30, SAMPLE_EVERY_S, sample)
    if "batch" not in plan.settings["workload"]["arrivals"]:
        # A batch is over when its last request is; what comes then is nobody's load.
        _sleep_until(zero_ns + round(measure_s * 1e9))
    end = observed.sampler.take()
    observed.wall_s = time.time() - wall
    observed.counters = {side: (start[side], end[side]) for side in start}
    observed.sessions = (before, lab.sessions())
    observed.active_ns = (active, active_ns(lab.admin_dsn()))
    dialogue.say("close")
    dialogue.finish(END_WITHIN_S)
    observed.sessions_left = _sessions_left(lab)
    if not lab.alive():
        raise LabError("the server ended during the run; this block is over")
    if (end["database"].oom_kills or 0) > (start["database"].oom_kills or 0):
        raise LabError("the kernel killed a server process for want of memory; raise database.limits.memory_mib")


def _sleep_until(at_ns: int) -> None:
    while (left := at_ns - time.monotonic_ns()) > 0:
        time.sleep(left / 1e9)


def check_caps(wanted: Caps, found: Caps, side: str, *, enforced: bool) -> None:
    """
    Compare caps as read back with what the study asks for, where this lab can cap at all.

    Raises:
        MeasurementError: they differ, so the run would be measured under other limits.
    """
    # The period of no quota is nobody's choice; otherwise half a core in 10 ms and in 100 ms are two measurements.
    periods = (wanted.period_us, found.period_us) if wanted.quota_us is not None else (None, None)
    same = (wanted.quota_us, wanted.memory_bytes) == (found.quota_us, found.memory_bytes) and periods[0] == periods[1]
    if enforced and not same:
        raise MeasurementError(f"the cap of the {side} reads back as {asdict(found)}, expected {asdict(wanted)}")


def about(plan: Plan) -> dict[str, str]:
    """Return what the Arrow metadata of a cell's files says of their origin."""
    return {"study": plan.study, "cell": plan.cell, "settings": plan.settings_hash}
