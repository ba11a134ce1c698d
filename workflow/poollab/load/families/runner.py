"""The iterations of one row with one arm, in this process from the first connection to the last."""

import asyncio
import gc
import threading
import time
from concurrent.futures import ThreadPoolExecutor, wait
from importlib import import_module
from pathlib import Path
from typing import Any

from poollab.load import timer
from poollab.load.families import work
from poollab.load.families.callers import AsyncGate, ThreadGate, call_async, call_sync
from poollab.load.families.course import Course

#: Client: module, class, and whether its pool is asynchronous.
IMPLEMENTATIONS = {
    "asyncpg": ("poollab.load.families.pool_asyncpg", "AsyncpgPool", True),
    "psycopg-async": ("poollab.load.families.pool_psycopg", "PsycopgAsyncPool", True),
    "psycopg-threads": ("poollab.load.families.pool_psycopg", "PsycopgThreadPool", False),
    "sqlalchemy-threads": ("poollab.load.families.pool_sqlalchemy", "SqlalchemyPool", False),
}
#: After a pool was closed its server processes need CPU to end, which must not fall into the next iteration.
SETTLE_S, SETTLE_S_EACH = 0.02, 0.001


def main(folder: Path, spec: dict[str, Any]) -> None:
    """Run one cell of a benchmark; `spec` is the content of spec.json."""
    course = Course(folder, spec)
    if IMPLEMENTATIONS[spec["client"]][2]:
        with asyncio.Runner(loop_factory=timer.loop_factory) as runner:
            runner.run(_run_async(course))
    else:
        _run_sync(course)


def _make(course: Course, spec: dict[str, Any], size: int) -> Any:
    module, name, _ = IMPLEMENTATIONS[spec["client"]]
    return getattr(import_module(module), name)(spec, size, course.connects, full=not course.shape.fresh)


def sizes(row: dict[str, Any]) -> tuple[int, int]:
    """Share a mixed row's connections out: (asynchronous pool, synchronous pool); all to the one there is otherwise."""
    half = int(row["pool"]) // 2 if row["mode"] == "mixed" else 0
    return int(row["pool"]) - half, half


# --- asynchronous, with a synchronous half where the row is mixed ------------------------------------------------


async def _run_async(course: Course) -> None:
    own, other = sizes(course.row)
    pool = _make(course, course.spec, own)
    partner = _make(course, {**course.spec, **course.spec["partner"]}, other) if other else None
    executor = started_threads(_threads(course.row) // 2) if other else None
    await _fill(pool, own, course)
    if partner is not None:
        partner.open()
        _fill_sync(partner, other, course)
    _freeze()
    for number in range(len(course)):
        if number == course.warm_up:
            course.ready()
        if course.shape.fresh and number:
            pool = _make(course, course.spec, own)
            await pool.open()
        await _iterate_async(course, number, pool, partner, executor)
        if course.shape.fresh and number < len(course) - 1:
            await pool.close()
            _settle(course)
    course.done()
    await pool.close()
    proofs = {"async": pool.proof().to_json()}
    if partner is not None and executor is not None:
        executor.shutdown()
        partner.close()
        proofs["sync"] = partner.proof().to_json()
    course.write(proofs, type(asyncio.get_running_loop()).__module__.partition(".")[0])


async def _fill(pool: Any, size: int, course: Course) -> None:
    """Open; where the pool is to be warm, query once on every connection."""
    await pool.open()
    held = [await pool.acquire() for _ in range(0 if course.shape.fresh else size)]
    for connection in held:
        await pool.query(connection)
    for connection in held:
        await pool.release(connection)


async def _iterate_async(
    course: Course, number: int, pool: Any, partner: Any, executor: ThreadPoolExecutor | None
) -> None:
    """Time one iteration: making the callers, their operations, and the wait for the last of them."""
    waves, stamps, pause_s = course.waves(number), course.stamps, course.shape.pause_ms / 1e3
    loop = asyncio.get_running_loop()
    course.begin(number)
    for turn, wave in enumerate(waves):
        if turn:
            await asyncio.sleep(pause_s)
            course.next_wave()
        gate = AsyncGate(len(wave)) if course.shape.together else None
        if executor is None:
            await asyncio.gather(*[call_async(pool, stamps, first, caller, gate) for first, caller in wave])
        else:
            threads = [
                loop.run_in_executor(executor, call_sync, partner, stamps, first, caller, None)
                for first, caller in wave[1::2]
            ]
            await asyncio.gather(
                *[call_async(pool, stamps, first, caller, gate) for first, caller in wave[::2]], *threads
            )
    course.end()


# --- synchronous -----------------------------------------------------------------------------------------------


def _run_sync(course: Course) -> None:
    size, _ = sizes(course.row)
    pool = _make(course, course.spec, size)
    dedicated = course.shape.own_threads or course.row["mode"] == "threads"
    single = work.callers(course.row) == 1
    executor = None if dedicated or single else started_threads(_threads(course.row))
    pool.open()
    _fill_sync(pool, 0 if course.shape.fresh else size, course)
    _freeze()
    for number in range(len(course)):
        if number == course.warm_up:
            course.ready()
        if course.shape.fresh and number:
            pool = _make(course, course.spec, size)
            pool.open()
        _iterate_sync(course, number, pool, executor)
        if course.shape.fresh and number < len(course) - 1:
            pool.close()
            _settle(course)
    course.done()
    if executor is not None:
        executor.shutdown()
    pool.close()
    course.write({"sync": pool.proof().to_json()}, None)


def _fill_sync(pool: Any, size: int, _course: Course) -> None:
    held = [pool.acquire() for _ in range(size)]
    for connection in held:
        pool.query(connection)
    for connection in held:
        pool.release(connection)


def _iterate_sync(course: Course, number: int, pool: Any, executor: ThreadPoolExecutor | None) -> None:
    """Time one iteration, with threads of its own where there is no executor and more than one caller."""
    waves, stamps, pause_s = course.waves(number), course.stamps, course.shape.pause_ms / 1e3
    course.begin(number)
    for turn, wave in enumerate(waves):
        if turn:
            time.sleep(pause_s)
            course.next_wave()
        gate = ThreadGate(len(wave)) if course.shape.together else None
        calls = [(pool, stamps, first, caller, gate) for first, caller in wave]
        if executor is not None:
            for future in wait([executor.submit(call_sync, *call) for call in calls]).done:
                future.result()
        elif len(calls) == 1:
            call_sync(*calls[0])
        else:
            threads = [threading.Thread(target=call_sync, args=call) for call in calls]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    course.end()


# --- both ------------------------------------------------------------------------------------------------------


def _threads(row: dict[str, Any]) -> int:
    return int(row["threads"] or work.callers(row))


def started_threads(count: int) -> ThreadPoolExecutor:
    """Return an executor whose threads all run already, so that none is started inside the clock."""
    executor, barrier = ThreadPoolExecutor(count), threading.Barrier(count)
    wait([executor.submit(barrier.wait) for _ in range(count)])
    return executor


def _freeze() -> None:
    gc.collect()
    gc.freeze()
    gc.disable()


def _settle(course: Course) -> None:
    time.sleep(SETTLE_S + SETTLE_S_EACH * int(course.row["callers"]))
