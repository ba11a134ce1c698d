"""The highest rate that the load generator keeps open loop: beside pgbench on the same core, and of N processes."""

import copy
import math
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import rig
from delay import SCRIPT

from poollab.lab import binaries, child
from poollab.lab.base import ROLE, Caps
from poollab.lab.child import EmbeddedGenerator
from poollab.quantiles import nearest_rank
from poollab.run import cell, gather
from poollab.run.cell import Plan

#: A rate is kept when the p99 of scheduling delay is at most this long and (nearly) all of it is sent.
GOAL_MS, GOAL_PER_S = 1.0, 5_000
SECONDS, LOWEST, HIGHEST, TRIES = 2.0, 500, 16_000, 5
FREE = {"cpus": None, "period_ms": 10.0, "memory_mib": None}
#: CPUs of the side that sends; emptied where it may use all.
CORE = max(os.sched_getaffinity(0))


class PinnedLab(rig.BenchLab):
    """The lab whose generator runs on given CPUs."""

    cpus: frozenset[int] = frozenset()

    def start_generator(self, scratch: Path) -> EmbeddedGenerator:
        """Start the load generator and keep it to its CPUs."""
        process = super().start_generator(scratch)
        os.sched_setaffinity(process._process.pid, self.cpus)
        return process


def plan_at(rate: int, processes: int) -> Plan:
    """Return light-uniform at some rate, uncapped."""
    plan = rig.light_plan()
    settings = copy.deepcopy(plan.settings)
    settings["workload"]["arrivals"] = {"uniform": {"every_ms": 1000 / rate}}
    settings["windows"] = {"warm_up_s": 0.5, "measure_s": SECONDS}
    settings["limits"] = {"database": FREE, "load_generator": FREE}
    settings["arm"]["processes"] = processes
    return replace(plan, settings=settings)


def ours(lab: PinnedLab, processes: int = 1) -> Callable[[int], float]:
    """Return what sends at a rate and gives the p99 of scheduling delay in ms."""

    def send(rate: int) -> float:
        plan = plan_at(rate, processes)
        scratch = Path(lab.record.folder) / "cells" / plan.cell
        scratch.mkdir(parents=True)
        try:
            observed = cell.observe(lab, plan, scratch, Caps(None, None, None), None)
            rows, _ = gather.rows(scratch, observed.spec, "measure")
            return (nearest_rank(rows["started"] - rows["scheduled"], 0.99) or 0) / 1e6
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    return send


def pgbench(lab: PinnedLab) -> Callable[[int], float]:
    """Return the same of pgbench, from its log of each transaction."""
    script, folder = Path(lab.record.folder) / "light.sql", Path(lab.record.folder) / "pgbench"
    script.write_text(SCRIPT, "utf-8")

    def send(rate: int) -> float:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        words = [binaries.install_folder() / "pginstall" / "bin" / "pgbench", "-n", "-l", "-R", str(rate)]
        words += ["-M", "prepared", "-c", "20", "-j", "1", "-T", str(int(SECONDS)), "-f", script]
        command = ["taskset", "-c", ",".join(map(str, sorted(lab.cpus))), *words]
        where = {"cwd": folder, "env": child.clean_environment(), "capture_output": True}
        subprocess.run([*command, "-h", lab.record.socket, "-U", ROLE, "postgres"], check=True, **where)
        lags = [int(line.split()[6]) for log in folder.iterdir() for line in log.read_text("utf-8").splitlines()]
        return (nearest_rank(np.array(lags), 0.99) or 0) / 1e3

    return send


def highest(send: Callable[[int], float]) -> tuple[int, float]:
    """Search by halves (in equal ratios) for the highest rate that is kept; return it with its p99 in ms."""
    low, high, found = LOWEST, HIGHEST, (0, math.nan)
    for _ in range(TRIES):
        rate = round(math.sqrt(low * high), -1 if low < 1000 else -2)
        p99 = send(int(rate))
        print(f"    {rate:6.0f}/s: p99 of scheduling delay {p99:.2f} ms", flush=True)
        if p99 <= GOAL_MS:
            low, found = int(rate), (int(rate), p99)
        else:
            high = int(rate)
    return found


def main() -> None:
    """Print the highest rates: one process and pgbench on one core, then 1 to N processes on all."""
    print(f"Highest light rate with a p99 of scheduling delay of at most {GOAL_MS:g} ms, uncapped, {SECONDS:g} s each")
    cpus = frozenset(os.sched_getaffinity(0))
    with rig.capped_lab(rig.light_plan(), PinnedLab) as lab:
        lab.set_caps(Caps(None, None, None), Caps(None, None, None))
        lab.cpus = frozenset({CORE})
        if len(cpus) > 1:
            for pid in lab.database_counters().pids():
                os.sched_setaffinity(pid, cpus - {CORE})
        print(f"  poollab, one process on CPU {CORE}, the server on the others")
        one, p99 = highest(ours(lab))
        print(f"  pgbench -R, one thread on CPU {CORE}, the server on the others")
        other, _ = highest(pgbench(lab))
        print(f"  poollab {one}/s (p99 {p99:.2f} ms, goal {GOAL_PER_S}/s), pgbench {other}/s")
        lab.cpus = cpus
        for pid in lab.database_counters().pids():
            os.sched_setaffinity(pid, cpus)
        base = 0
        for processes in range(1, len(cpus) + 1):
            print(f"  poollab, {processes} processes on all CPUs, which the server shares")
            rate, _ = highest(ours(lab, processes))
            base = base or rate
            print(
                f"  {processes} processes: {rate}/s, {rate / base / processes:.2f} of {processes} times one (goal 0.9)"
            )


if __name__ == "__main__":
    main()
