"""
The least that could send the same requests: a bare acquire / fetchval / release on asyncpg's pool.

It speaks the load generator's language (spec.json, schedule.bin, events, control) and is paced by the
same timer with the same time-outs, but keeps no stamp, no status and no rows. Its CPU for each request is
what the load generator's is held against.
"""

import asyncio
import gc
import json
import sys
import time
from array import array
from pathlib import Path
from typing import Any

import asyncpg

from poollab.load import timer

LEAD_NS = 20_000_000


def columns(spec: dict[str, Any], file: Any) -> tuple[Any, list[tuple[int, ...]]]:
    """Read one window's offsets and arguments."""
    found = []
    for _ in range(1 + spec["columns"]):
        column = array("q")
        column.fromfile(file, spec["count"])
        found.append(column)
    return found[0], list(zip(*found[1:], strict=True))


async def run(folder: Path) -> None:
    """Warm up, send, close."""
    loop = asyncio.get_running_loop()
    spec = json.loads((folder / "spec.json").read_text("utf-8"))
    with (folder / "schedule.bin").open("rb") as file:
        warm, measured = (columns(spec[name], file) for name in ("warm_up", "measure"))
    pool = asyncpg.create_pool(
        host=spec["socket"],
        port=spec["port"],
        user=spec["user"],
        database=spec["database"],
        ssl=False,
        min_size=spec["pool"]["size"],
        max_size=spec["pool"]["size"],
        max_inactive_connection_lifetime=0,
        max_queries=2**62,
        max_cached_statement_lifetime=0,
    )
    await pool
    sql, acquire_s, query_s = spec["steps"][0]["sql"], spec["timeouts"]["acquire_s"], spec["timeouts"]["query_s"]

    async def request(values: tuple[int, ...]) -> None:
        connection = await pool.acquire(timeout=acquire_s)
        try:
            await connection.fetchval(sql, *values, timeout=query_s)
        finally:
            await pool.release(connection, timeout=acquire_s)

    async def window(part: tuple[Any, list[tuple[int, ...]]], zero: int) -> None:
        tasks = []
        due = [zero + offset for offset in part[0]]
        sending = timer.Dispatcher(loop, due, lambda i: tasks.append(loop.create_task(request(part[1][i]))))
        await sending.launched
        await asyncio.gather(*tasks)

    with (folder / "events").open("w", buffering=1) as events, (folder / "control").open() as control:
        events.write('{"event": "connected"}\n')
        gc.collect()
        gc.freeze()
        gc.disable()
        await window(warm, time.monotonic_ns() + LEAD_NS)
        events.write('{"event": "ready"}\n')
        zero = int(control.readline().split()[1])
        await window(measured, zero)
        events.write('{"event": "done"}\n')
        control.readline()
    pool.terminate()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=timer.loop_factory) as runner:
        runner.run(run(Path(sys.argv[1])))
