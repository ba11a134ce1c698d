"""
The capped process: follow the schedule, stamp, write.

Run as `python -m poollab.load.generator FOLDER`. FOLDER holds spec.json, schedule.bin, and the named
pipes events (to the measuring process) and control (from it). Events are JSON lines:

    connected   the pool stands and its plans are settled
    ready       the warm-up is drained; waits for "go"
    zero        the first scheduled arrival, as CLOCK_MONOTONIC nanoseconds
    done        every request has ended or the drain is over; waits for "close"
"""

import asyncio
import gc
import json
import resource
import sys
import time
from array import array
from collections.abc import Coroutine
from importlib import import_module
from pathlib import Path
from typing import Any

from poollab.load import timer
from poollab.load.rows import Rows

CLIENTS = {"asyncpg": ("poollab.load.clients.asyncpg_pool", "AsyncpgClient")}

#: Between "go" and the first arrival: time for the counters to be read at zero, and for nothing else.
LEAD_NS = 20_000_000


class Window:
    """The rows, due times and arguments of one window."""

    def __init__(self, part: dict[str, Any], file: Any) -> None:
        count = part["count"]
        columns = [array("q") for _ in range(1 + part["columns"])]
        for column in columns:
            column.fromfile(file, count)
        self.offsets = columns[0]
        self.args: list[tuple[int, ...]] = list(zip(*columns[1:], strict=True)) if part["columns"] else [()] * count
        self.rows = Rows(count)

    def start(self, zero_ns: int) -> list[int]:
        """Fix the due times in CLOCK_MONOTONIC nanoseconds."""
        due = [zero_ns + offset for offset in self.offsets]
        self.rows.scheduled[:] = array("q", due)
        return due


class Generator:
    """One run of one cell."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._spec: dict[str, Any] = json.loads((folder / "spec.json").read_text("utf-8"))
        with (folder / "schedule.bin").open("rb") as file:
            self._warm_up, self._measure = (Window(self._spec[name], file) for name in ("warm_up", "measure"))
        module, name = CLIENTS[self._spec["client"]]
        self._client = getattr(import_module(module), name)(self._spec)
        self._events = (folder / "events").open("w", buffering=1)
        self._control = (folder / "control").open("r")

    def say(self, event: str, **values: object) -> None:
        """Tell the measuring process."""
        self._events.write(json.dumps({"event": event, **values}) + "\n")

    def _obey(self, word: str) -> None:
        """Wait for a word; an end of file means that the measuring process is gone, and so is the run."""
        if self._control.readline().strip() != word:
            raise SystemExit(f"the measuring process did not say {word}")

    async def run(self) -> None:
        """Connect, warm, measure, close, write."""
        loop = asyncio.get_running_loop()
        await self._client.open()
        plan = await self._client.warm(self._spec["sql"], self._warm_up.args)
        self.say("connected")
        warm_up, measured = self._requests(self._warm_up), self._requests(self._measure)
        gc.collect()
        gc.freeze()
        gc.disable()
        drained = await self._window(loop, self._warm_up, warm_up, time.monotonic_ns() + LEAD_NS)
        self.say("ready", drained=drained, connections=len(self._client.backends))
        self._obey("go")
        zero = time.monotonic_ns() + LEAD_NS
        self.say("zero", zero_ns=zero)
        finished = await self._window(loop, self._measure, measured, zero)
        self.say("done", finished=finished)
        self._obey("close")
        gc.enable()
        reachable = await self._client.close()
        self._write(
            zero,
            {
                "plan": plan,
                "warm_up_drained": drained,
                "finished": finished,
                "reachable": reachable,
                **timer.names(loop),
            },
        )

    def _requests(self, window: Window) -> list[Coroutine[Any, Any, None]]:
        requests: list[Coroutine[Any, Any, None]] = self._client.requests(window.rows, self._spec["sql"], window.args)
        return requests

    async def _window(
        self, loop: asyncio.AbstractEventLoop, window: Window, requests: list[Coroutine[Any, Any, None]], zero_ns: int
    ) -> bool:
        """Send one window's requests and wait (bounded) for all of them; tell whether all ended."""
        tasks: list[Any] = [None] * len(requests)
        create = loop.create_task

        def launch(number: int) -> None:
            tasks[number] = create(requests[number])

        dispatcher = timer.Dispatcher(loop, window.start(zero_ns), launch)
        await dispatcher.launched
        _, pending = await asyncio.wait(tasks, timeout=self._spec["timeouts"]["drain_s"])
        for task in pending:
            task.cancel()
        if pending:
            await asyncio.wait(pending, timeout=1)
        return not pending

    def _write(self, zero_ns: int, facts: dict[str, Any]) -> None:
        self._measure.rows.write(self._folder / "measure.bin", zero_ns)
        self._warm_up.rows.write(self._folder / "warm_up.bin", zero_ns)
        facts |= {
            "zero_ns": zero_ns,
            "backends": self._client.backends,
            "errors": self._measure.rows.errors,
            "warm_up_errors": self._warm_up.rows.errors,
            "driver": {"module": self._client.module, "version": self._client.version},
            "max_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        }
        (self._folder / "facts.json").write_text(json.dumps(facts), "utf-8")


def main(folder: Path) -> None:
    """Run one cell's load on the best loop of this system."""
    with asyncio.Runner(loop_factory=timer.loop_factory) as runner:
        runner.run(Generator(folder).run())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
