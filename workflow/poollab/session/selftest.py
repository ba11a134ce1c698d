"""
Does the instrument measure what it says? `make selftest` on this machine, against the embedded server.

A server is frozen for 2 s in the middle of a run of 30 s at 100 requests a second. About 200 requests are due
meanwhile and each waits between 0 and 2 s, evenly: of 3,000 requests the slowest 5 % (150) then wait more than
0.5 s and the slowest 1 % (30) more than 1.7 s, and all together about 200 s. A tool that sends the next request
only after the last answer would show five slow ones.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from poollab.data import store
from poollab.data.schemas import REQUESTS
from poollab.lab import place, seeding
from poollab.lab.base import Lab, Proof
from poollab.lab.embedded import EmbeddedLab
from poollab.quantiles import nearest_rank
from poollab.run.cell import Plan, about, measure
from poollab.run.guard import Guard, Thresholds
from poollab.session import machine_lock, plan_file
from poollab.study.files import parse
from poollab.study.machine import Safety
from poollab.study.model import Study

Ints = npt.NDArray[np.int64]

RATE_PER_S, WINDOW_S, WARM_UP_S, FREEZE_S = 100, 30.0, 1.0, 2.0
POOL, ROWS, BURN_S = 5, 2000, 1.0
#: What must be seen, with room below what the arithmetic above gives (0.5 s, 1.7 s, 200 s).
P95_S, P99_S, SUMMED_S = 0.4, 1.5, 190.0
#: A generator that starts its p99 request later than this share of the gap is marked late (see run/validity.py).
LATE_MS = 0.2 * 1000 / RATE_PER_S

STUDY: dict[str, Any] = {
    "title": "Does a frozen server show?",
    "database": {
        "major": 16,
        "tables": {"pool_lab": {"rows": ROWS}},
        "settings": {"max_connections": 40, "shared_buffers": "16MB"},
        "limits": {"cpus": 0.5, "period_ms": 10, "memory_mib": 256},
    },
    "load_generator": {"limits": {"cpus": 0.5, "period_ms": 10}},
    "workloads": {
        "steady": {
            "sql": "SELECT balance FROM pool_lab WHERE id = $1",
            "args": [{"int": [1, ROWS]}],
            "arrivals": {"uniform": {"every_ms": 1000 / RATE_PER_S}},
        }
    },
    "pools": [POOL],
    "repeats": 1,
    "windows": {"warm_up_s": WARM_UP_S, "measure_s": WINDOW_S},
    "timeouts": {"acquire_s": 20},
}


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that must hold; `good` is None where this machine cannot show it."""

    name: str
    good: bool | None
    found: str

    def __str__(self) -> str:
        word = {True: "ok", False: "NOT OK", None: "not shown"}[self.good]
        return f"{word:<9}  {self.name}: {self.found}"


def selftest(say: Callable[[str], None], scratch: Path) -> bool:
    """
    Make every check, say one line for each, and tell whether none failed; half a minute.

    Raises:
        LabError, MeasurementError: the embedded server or the load generator could not be run at all.
        LockedError: a study is being measured on this machine.
    """
    if not_taken := machine_lock.take():
        say(f"No lock on this machine ({not_taken}).")
    say(f"Self-test on the embedded lab: {WINDOW_S:g} s at {RATE_PER_S}/s, the server frozen for {FREEZE_S:g} s in it.")
    lab = EmbeddedLab.new(place.Owner.this_process())
    checks = []
    try:
        for check in _checks(lab, scratch):
            say(str(check))
            checks.append(check)
    finally:
        lab.remove()
        shutil.rmtree(scratch, ignore_errors=True)
    remains = lab.leftovers()
    checks.append(Check("nothing remains", not remains, "; ".join(remains) or "server, files and groups are gone"))
    say(str(checks[-1]))
    failed = [check.name for check in checks if check.good is False]
    held = sum(check.good is True for check in checks)
    say(f"{held} of {len(checks)} hold." + (f" Not: {'; '.join(failed)}." if failed else ""))
    return not failed


def plan() -> Plan:
    """Return the plan of the one cell that is run."""
    (only,) = plan_file.cells(parse(Study, STUDY, "selftest"), "selftest").values()
    return only


def _checks(lab: Lab, scratch: Path) -> Iterator[Check]:
    cell = plan()
    lab.start(lambda _record: None, {k: str(v) for k, v in STUDY["database"]["settings"].items()}, 16)
    seeding.seed(lab.admin_dsn(), {"pool_lab": ROWS})
    lab.set_caps(cell.caps("database"), cell.caps("load_generator"))
    proofs = dict(zip(("database", "load generator"), lab.prove(BURN_S), strict=True))
    yield from (_cap(side, proof) for side, proof in proofs.items())
    enforced = all(proof.enforced for proof in proofs.values())
    record, rows, stopped = _run(lab, cell, scratch, enforced=enforced)
    yield from judge(record, rows, stopped)


def _cap(side: str, proof: Proof) -> Check:
    if not proof.enforced:
        return Check(f"cap of the {side}", None, f"uncapped here ({proof.note}); reports say so in their first lines")
    if proof.burn_cores is None:
        return Check(f"cap of the {side}", None, proof.note)
    burn = f"{proof.burn_cores:.2f} of {proof.caps.cores:g} cores in a burn, {proof.burn_throttled} periods throttled"
    return Check(f"cap of the {side}", good=True, found=burn)


def _run(lab: Lab, cell: Plan, scratch: Path, *, enforced: bool) -> tuple[dict[str, Any], pa.Table, int]:
    """Measure the cell while another process freezes the server; return record, requests and processes frozen."""
    words = [lab.record.folder, str(POOL), str(WARM_UP_S + WINDOW_S / 4), str(FREEZE_S)]
    command = [sys.executable, "-m", "poollab.session.freeze", *words]
    # A busy host is seen in the generator's lateness; here nothing is broken off for it.
    wide = {**asdict(Thresholds.of(Safety().model_dump())), "other_cpu": 1e3, "steal": 1e3, "runnable_per_cpu": 1e6}
    guard = Guard(Thresholds(**wide), [lab.database_counters()], [Path(lab.record.folder)])
    package = {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    environment = {**os.environ, **package}
    freezer = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    try:
        record = measure(lab, cell, scratch, 1, guard, enforced=enforced)
        stopped = int(freezer.communicate(timeout=60)[0] or 0)
    finally:
        freezer.kill()
        freezer.wait()
    return record, store.read_parquet(scratch / "requests.parquet", REQUESTS, **about(cell)), stopped


def judge(record: dict[str, Any], rows: pa.Table, stopped: int) -> Iterator[Check]:
    """Judge one run with a freeze of `stopped` processes in it from its record and its requests (as REQUESTS)."""
    planned = round(RATE_PER_S * WINDOW_S)
    ok = rows.num_rows == planned and set(rows["status"].to_pylist()) == {"ok"}
    found = f"{rows.num_rows} rows of {planned} scheduled, all ok" if ok else _ends(rows)
    yield Check("every request has an end", ok, found)
    yield from _starts(_difference(rows, "scheduled_ns", "started_ns"), record["generator"])
    yield from _tail(_difference(rows, "scheduled_ns", "released_ns"), stopped)


def _starts(late_ns: Ints, generator: dict[str, Any]) -> Iterator[Check]:
    if not len(late_ns):
        yield Check("on time", good=False, found="no request was started")
        return
    first, mean, p99 = (value / 1e6 for value in (late_ns.min(), late_ns.mean(), nearest_rank(late_ns, 0.99) or 0))
    yield Check("never early", bool(first >= 0), f"the earliest start is {first:.3f} ms after its time")
    found = f"starts {mean:.3f} ms late on average, p99 {p99:.3f} ms (at most {LATE_MS:g})"
    how = f"{generator['timer']} on {generator['loop']}"
    how += "" if p99 <= LATE_MS else "; is the machine busy with something else? Then run it again when it is not"
    yield Check("on time, the freeze included", bool(p99 <= LATE_MS), f"{found}; {how}")


def _tail(overall_ns: Ints, stopped: int) -> Iterator[Check]:
    for share, least in ((0.95, P95_S), (0.99, P99_S)):
        value = (nearest_rank(overall_ns, share) or 0) / 1e9
        found = f"{value:.2f} s (at least {least:g} with {stopped} processes frozen for {FREEZE_S:g} s)"
        yield Check(f"the freeze shows in p{share * 100:g}", stopped > 0 and value >= least, found)
    extra = float((overall_ns - np.median(overall_ns)).clip(min=0).sum()) / 1e9 if len(overall_ns) else 0.0
    yield Check("waiting adds up", extra >= SUMMED_S, f"{extra:.0f} s over all requests (at least {SUMMED_S:g})")


def _ends(rows: pa.Table) -> str:
    counts = {one["values"]: one["counts"] for one in rows["status"].cast(pa.string()).value_counts().to_pylist()}
    return f"{rows.num_rows} rows: " + ", ".join(f"{number} {word}" for word, number in sorted(counts.items()))


def _difference(rows: pa.Table, start: str, end: str) -> Ints:
    """Return the differences of two stamps in ns where both are there."""
    return np.asarray(pc.subtract(rows[end], rows[start]).drop_null().to_numpy(), dtype=np.int64)
