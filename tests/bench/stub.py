"""
What the pool benchmark itself costs: its callers on a pool that does nothing, beside its fastest rapid-fire row.

A bare loop over the same empty pool is taken off, since any caller needs one: what is left are the readings of the
clock, the rows and the choices of this benchmark.
"""

import asyncio
import statistics
import threading
import time
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any

import rig

from poollab.lab.embedded import EmbeddedLab
from poollab.lab.place import Owner
from poollab.load import timer
from poollab.load.families import callers, work
from poollab.load.families.stamps import Stamps
from poollab.run import benchmark
from poollab.run.cell import Plan
from poollab.run.dialogue import Dialogue
from poollab.session.plan_file import cells
from poollab.study.files import load_study

GOAL, ROUNDS = 0.10, 40


class Connection:
    """Has a server process, as a connection of psycopg has."""

    class pgconn:  # noqa: N801 - as the driver calls it
        backend_pid = 1


class Empty:
    """A pool for tasks that does nothing."""

    timeouts = (TimeoutError,)
    pipeline = None
    backend = staticmethod(attrgetter("pgconn.backend_pid"))
    only = Connection()

    async def acquire(self) -> Connection:
        return self.only

    async def release(self, _connection: Connection) -> None:
        return

    async def query(self, _connection: Connection) -> None:
        return


class EmptySync:
    """A pool for threads that does nothing."""

    timeouts, pipeline, backend, only = Empty.timeouts, None, Empty.backend, Empty.only

    def acquire(self) -> Connection:
        return self.only

    def release(self, _connection: Connection) -> None:
        return

    def query(self, _connection: Connection) -> None:
        return


async def _tasks(made: work.Work, stamps: Stamps) -> tuple[float, float]:
    pool, wave, operations = Empty(), made.iterations[0][0], made.operations

    async def bare(_first: int, caller: work.Caller) -> None:
        for _ in caller:
            await pool.release(await pool.acquire())

    async def ours(first: int, caller: work.Caller) -> None:
        await callers.call_async(pool, stamps, first, caller, None)

    found: tuple[list[int], list[int]] = ([], [])
    for _ in range(ROUNDS):
        for times, make in ((found[0], bare), (found[1], ours)):
            begun = time.monotonic_ns()
            await asyncio.gather(*[make(i * len(caller), caller) for i, caller in enumerate(wave)])
            times.append(time.monotonic_ns() - begun)
    return statistics.median(found[0]) / operations, statistics.median(found[1]) / operations


def _threads(made: work.Work, stamps: Stamps) -> tuple[float, float]:
    """Measure one thread alone: several would measure how they share the interpreter."""
    pool, wave = EmptySync(), made.iterations[0][0]
    caller = wave[0]

    def bare() -> None:
        for _ in caller:
            pool.release(pool.acquire())

    def ours() -> None:
        callers.call_sync(pool, stamps, 0, caller, None)

    def median(call: Callable[[], None]) -> float:
        times = []
        for _ in range(ROUNDS):
            begun = time.monotonic_ns()
            call()
            times.append(time.monotonic_ns() - begun)
        return statistics.median(times) / len(caller)

    found: list[float] = []
    thread = threading.Thread(target=lambda: found.extend((median(bare), median(ours))))
    thread.start()
    thread.join()
    return found[0], found[1]


def own_cost(mode: str) -> tuple[float, float]:
    """Return (bare loop, our callers) in ns for each check-out of an empty pool; medians of many rounds."""
    row = {"family": "rapid-fire", "mode": mode, "callers": 10, "pool": 50, "operations": 500}
    made = work.draw({**row, "iterations": 1, "warm_up_iterations": 0}, "stub")
    stamps = Stamps(made.operations)
    if mode == "sync":
        return _threads(made, stamps)
    with asyncio.Runner(loop_factory=timer.loop_factory) as runner:
        return runner.run(_tasks(made, stamps))


def rows() -> dict[str, Plan]:
    """Return the rapid-fire cells of the first pass."""
    plans = cells(load_study(rig.ROOT / "config" / "studies" / "pool-implementations.yaml"), "pool-implementations")
    return {name: p for name, p in plans.items() if name.startswith("rapid-fire") and p.repeat == 1}


def per_check_out(lab: EmbeddedLab, plan: Plan) -> float:
    """Run a row and return its median time for each check-out, in ns."""
    scratch = Path(lab.record.folder) / "cells" / plan.cell
    scratch.mkdir(parents=True)
    placed = benchmark.place(lab)
    spec = benchmark.spec_of(plan, lab.record.socket, placed["load_generator"])
    facts = _facts(lab, scratch, spec)
    times = [it["duration_ns"] for it in facts["iterations"][1:]]
    row = plan.settings["workload"]["benchmark"]
    return statistics.median(times) / (row["callers"] * row["operations"])


def _facts(lab: EmbeddedLab, scratch: Path, spec: dict[str, Any]) -> dict[str, Any]:
    import json  # noqa: PLC0415 - beside its only use

    (scratch / "spec.json").write_text(json.dumps(spec), "utf-8")
    dialogue = Dialogue(scratch)
    dialogue.process = process = lab.start_generator(scratch)
    try:
        for event, word in (("ready", "go"), ("zero", ""), ("done", "close")):
            dialogue.expect(event, 120)
            if word:
                dialogue.say(word)
        dialogue.finish(60)
        found: dict[str, Any] = json.loads((scratch / "facts.json").read_text("utf-8"))
        return found
    finally:
        process.stop()
        dialogue.close()


def main() -> None:
    """Print every rapid-fire row and the benchmark's own share of the fastest."""
    print("Pool benchmark: time for each check-out, rapid-fire, and its own cost on an empty pool")
    study = load_study(rig.ROOT / "config" / "studies" / "pool-implementations.yaml")
    lab = EmbeddedLab.new(Owner.this_process())
    found: dict[str, float] = {}
    try:
        lab.start(lambda _: None, {k: str(v) for k, v in study.database.settings.items()}, study.database.major)
        from poollab.lab import seeding  # noqa: PLC0415 - after the server runs

        seeding.seed(lab.admin_dsn(), {name: table.rows for name, table in study.database.tables.items()})
        for name, plan in sorted(rows().items()):
            found[name] = per_check_out(lab, plan)
            print(f"  {name}: {found[name] / 1000:.2f} us")
    finally:
        lab.remove()
    for mode in ("async", "sync"):
        bare, ours = own_cost(mode)
        name = min((n for n in found if f"-{mode}." in n), key=lambda n: found[n])
        share = (ours - bare) / found[name]
        print(
            f"  {mode}: own cost {ours - bare:.0f} ns (with the loop itself {ours:.0f} ns) of {found[name]:.0f} ns "
            f"in the fastest row, {name}: {share:.1%} (goal at most {GOAL:.0%})"
        )


if __name__ == "__main__":
    main()
