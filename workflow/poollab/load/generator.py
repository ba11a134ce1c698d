"""
The capped process: follow the schedule, stamp, write.

Run as `python -m poollab.load.generator FOLDER`. FOLDER holds spec.json, schedule.bin, and the named
pipes events (to the measuring process) and control (from it); with several processes each has pipes and
results in a folder of its own, named by its number from 0. Events are JSON lines:

    connected   the pool stands and its plans are settled
    ready       the warm-up is drained; waits for "go ZERO_NS", the first scheduled arrival by CLOCK_MONOTONIC
    done        every request has ended or the drain is over; waits for "close"
"""

import gc
import json
import os
import sys
import time
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any

from poollab.load import compute, kin, memory
from poollab.load.clients.base import describe
from poollab.load.window import Window

#: Module and class of each client, and of the engine that drives it.
CLIENTS = {
    "asyncpg": ("asyncpg_pool", "AsyncpgClient", "loop", "LoopEngine"),
    "psycopg-async": ("psycopg_async", "PsycopgAsyncClient", "loop", "LoopEngine"),
    "psycopg-threads": ("psycopg_sync", "PsycopgSyncClient", "threads", "ThreadEngine"),
    "psycopg-executor": ("psycopg_sync", "PsycopgSyncClient", "executor", "ExecutorEngine"),
}

#: Between the last word before a window and its first arrival.
LEAD_NS = 20_000_000


class Generator:
    """One process of one run of one cell."""

    def __init__(self, folder: Path, spec: dict[str, Any], process: int) -> None:
        count: int = spec["processes"]
        self._spec, self._folder = spec, folder / str(process) if count > 1 else folder
        with (folder / "schedule.bin").open("rb") as file:
            self._warm_up = Window("warm_up", spec, file, process, count)
            self._measure = Window("measure", spec, file, process, count)
        self._uses_pool = bool(self._measure.steps.inside)
        steps = [*self._measure.steps.before, *self._measure.steps.inside, *self._measure.steps.after]
        self._computes = any(step.do == "compute" for step in steps)
        self._turns_per_ns = compute.calibrate() if self._computes else 0.0
        # Forked while this process has one thread and no connection.
        apart = self._computes and spec["pool"].get("compute_in") == "processes"
        self._processes = compute.processes() if apart else None
        module, name, engine_module, engine = CLIENTS[spec["client"]]
        self._client = getattr(import_module(f"poollab.load.clients.{module}"), name)(spec)
        drives = getattr(import_module(f"poollab.load.{engine_module}"), engine)
        self._engine = drives(self._client, spec, self._turns_per_ns, self._processes)
        self._memory = memory.Memory(trace=spec["trace_memory"])
        self._begun: dict[Window, int] = {}
        self._events = (self._folder / "events").open("w", buffering=1)
        self._control = (self._folder / "control").open("r")

    def say(self, event: str, **values: object) -> None:
        """Tell the measuring process."""
        self._events.write(json.dumps({"event": event, **values}) + "\n")

    def _obey(self, word: str) -> list[str]:
        """Wait for a word and return what comes with it; an end of file means that the measuring process is gone."""
        said = self._control.readline().split()
        if said[:1] != [word]:
            raise SystemExit(f"the measuring process did not say {word}")
        return said[1:]

    def run(self) -> None:
        """Connect, warm, measure, close, write."""
        engine, warm_up, measure = self._engine, self._warm_up, self._measure
        plan = self._connect()
        self.say("connected")
        self._memory.start()
        begun = time.monotonic_ns()
        ahead = engine.prepare(measure)
        prepare_ns = time.monotonic_ns() - begun
        first = engine.prepare(warm_up)
        gc.collect()
        gc.freeze()
        gc.disable()
        drained = self._send(warm_up, first, time.monotonic_ns() + LEAD_NS)
        self._memory.begin_window()
        self.say("ready", drained=drained, connections=len(self._client.backends))
        zero = int(self._obey("go")[0])
        finished = self._send(measure, ahead, zero)
        self.say("done", finished=finished)
        self._memory.end_window()
        self._obey("close")
        gc.enable()
        reachable = self._close()
        ends = {"warm_up_drained": drained, "finished": finished, "reachable": reachable}
        self._write(zero, {"plan": plan, "prepare_ns": prepare_ns, **ends})

    def _connect(self) -> str | None:
        if not self._uses_pool:
            return None
        pairs = zip(self._warm_up.steps.queries, self._measure.steps.queries, strict=True)
        try:
            self._engine.open()
            plan: str | None = self._engine.settle([(warm.sql, warm.values or main.values) for warm, main in pairs])
        except Exception as error:  # noqa: BLE001 - whatever it is, the cell ends with its text
            traceback.print_exc()
            # The last line is what the user sees: neither a text of several lines nor a pool's farewell may be it.
            print(describe(error), file=sys.stderr, flush=True)  # noqa: T201
            os._exit(1)
        return plan

    def _close(self) -> int:
        reachable: int = self._engine.close() if self._uses_pool else 0
        if self._processes is not None:
            self._processes.shutdown(wait=False, cancel_futures=True)
        return reachable

    def _send(self, window: Window, prepared: Any, zero_ns: int) -> bool:
        window.start(zero_ns)
        finished: bool = self._engine.run(window, prepared, zero_ns)
        self._begun[window] = window.end(zero_ns)
        return finished

    def _write(self, zero_ns: int, facts: dict[str, Any]) -> None:
        self._measure.rows.write(self._folder / "measure.bin", zero_ns, self._begun[self._measure])
        self._warm_up.rows.write(self._folder / "warm_up.bin", zero_ns, self._begun[self._warm_up])
        facts |= {
            "zero_ns": zero_ns,
            "backends": self._client.backends,
            "connects": self._client.connects,
            "exhausted": self._measure.exhausted,
            "errors": self._measure.rows.failures(),
            "warm_up_errors": self._warm_up.rows.failures(),
            "compute": {
                "turns_per_ms": self._turns_per_ns * 1e6,
                "processes": compute.usable_cpus() if self._processes is not None else 0,
            }
            if self._computes
            else None,
            "max_rss_bytes": self._memory.peak_bytes,
            "memory": self._memory.facts(),
            "loop": None,
            "timer": None,
            **self._engine.facts(),
            **(self._client.facts() if self._uses_pool else {"driver": None, "pool": None}),
        }
        (self._folder / "facts.json").write_text(json.dumps(facts), "utf-8")


def main(folder: Path) -> int:
    """Run one cell's load, in as many processes as the spec says; return the exit code."""
    spec = json.loads((folder / "spec.json").read_text("utf-8"))
    if "benchmark" in spec:
        from poollab.load.families import runner  # noqa: PLC0415 - no part of an ordinary run

        runner.main(folder, spec)
        return 0
    if spec["processes"] > 1:
        return kin.run_all(spec["processes"], lambda number: Generator(folder, spec, number).run())
    Generator(folder, spec, 0).run()
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
