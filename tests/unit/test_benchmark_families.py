"""What a benchmark's families do with a pool, and what their clock sees, on pools that are no database."""

import asyncio
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from poollab.load.families import runner, work
from poollab.load.families.callers import AsyncGate, ThreadGate, call_async, call_sync
from poollab.load.families.course import Course
from poollab.load.families.stamps import Stamps
from poollab.load.rows import ABSENT, ACQUIRE_TIMEOUT, ERROR, OK
from poollab.study.benchmarks import FAMILIES, Benchmark


class Proof:
    """Stands for the proof of an implementation."""

    def to_json(self) -> dict[str, Any]:
        return {"class_name": "Stub"}


class Stub:
    """A synchronous pool of `size` numbers that counts what is done with it and is slow to open and to close."""

    timeouts = (TimeoutError,)
    pipeline = None

    def __init__(self, size: int, slow_s: float = 0.0) -> None:
        self.size, self.slow_s, self.lock = size, slow_s, threading.Condition()
        self.idle = list(range(size))
        self.most, self.acquires, self.queries, self.opened, self.closed = 0, 0, 0, 0, 0

    def acquire(self) -> int:
        with self.lock:
            assert self.lock.wait_for(lambda: self.idle, timeout=5)
            self.acquires += 1
            self.most = max(self.most, self.size - len(self.idle) + 1)
            return self.idle.pop()

    def release(self, connection: int) -> None:
        with self.lock:
            self.idle.append(connection)
            self.lock.notify()

    def query(self, _connection: int) -> None:
        with self.lock:
            self.queries += 1

    def backend(self, connection: int) -> int:
        return connection

    def open(self) -> None:
        self.opened += 1
        time.sleep(self.slow_s)

    def close(self) -> None:
        self.closed += 1
        time.sleep(self.slow_s)

    def proof(self) -> Proof:
        return Proof()


class AsyncStub(Stub):
    """The same for tasks."""

    def __init__(self, size: int, slow_s: float = 0.0) -> None:
        super().__init__(size, slow_s)
        self.room = asyncio.Semaphore(size)

    async def acquire(self) -> int:  # type: ignore[override]
        await self.room.acquire()
        await asyncio.sleep(0)
        return super().acquire()

    async def release(self, connection: int) -> None:  # type: ignore[override]
        super().release(connection)
        self.room.release()

    async def query(self, connection: int) -> None:  # type: ignore[override]
        super().query(connection)
        await asyncio.sleep(0)

    async def open(self) -> None:  # type: ignore[override]
        super().open()

    async def close(self) -> None:  # type: ignore[override]
        super().close()


def row(family: str, **values: Any) -> dict[str, Any]:
    """Return a row of a study with every default filled in, three iterations."""
    threads = {"threads": 4} if family == "saturated-threads" else {}
    mode = FAMILIES[family].modes[0]
    return Benchmark(**{"family": family, "mode": mode, "pool": 4, "iterations": 3, **threads, **values}).full


def course(
    folder: Path, monkeypatch: pytest.MonkeyPatch, told: dict[str, Any], slow_s: float = 0.0
) -> tuple[Course, list[Stub]]:
    """Run a row on stub pools with a measuring process that says yes to everything; return its books and the pools."""
    pools: list[Stub] = []

    def make(_course: Course, spec: dict[str, Any], size: int) -> Stub:
        kind = AsyncStub if runner.IMPLEMENTATIONS[spec["client"]][2] else Stub
        pools.append(kind(size, slow_s))
        return pools[-1]

    monkeypatch.setattr(runner, "_make", make)
    monkeypatch.setattr(runner, "_freeze", lambda: None)
    (folder / "control").write_text("go\nclose\n")
    client = "psycopg-threads" if told["mode"] in {"sync", "threads"} else "asyncpg"
    spec = {"benchmark": told, "draw": "x", "client": client, "pool": {}, "partner": {"client": "psycopg-threads"}}
    made = Course(folder, spec)
    if client == "asyncpg":
        asyncio.run(runner._run_async(made))
    else:
        runner._run_sync(made)
    made.stamps.settle()
    return made, pools


@pytest.mark.parametrize(("family", "mode"), [(name, mode) for name in FAMILIES for mode in FAMILIES[name].modes])
def test_every_family_does_all_its_check_outs(
    family: str, mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In each mode that a family has, every check-out of every caller and iteration ends ok and is a row."""
    operations = 1 if family == "cold-start-ramp" else 2
    callers = 1 if family.startswith("single") else 4
    monkeypatch.setattr(time, "sleep", lambda _s: None)
    told = row(family, mode=mode, callers=callers, operations=operations, iterations=1)
    done, pools = course(tmp_path, monkeypatch, told)
    each = work.callers(told) * operations * work.SHAPES[family].waves
    assert list(done.stamps.status) == [OK] * (2 * each)
    assert [it["iteration"] for it in done.iterations] == [0, 1]
    # Filling a pool takes each of its connections once and queries on it; that is no row.
    filled = 0 if family == "cold-start-ramp" else sum(pool.size for pool in pools)
    assert sum(pool.acquires for pool in pools) == 2 * each + filled
    asked = sum(queries for it in done.work.iterations for wave in it for caller in wave for queries, _ in caller)
    assert sum(pool.queries for pool in pools) == asked + filled


@pytest.mark.parametrize("mode", ["async", "sync"])
def test_cold_start_holds_every_connection_until_the_last_caller_has_one(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """N callers need N connections: none gives its own back before all have one, and each iteration has a new pool."""
    done, pools = course(tmp_path, monkeypatch, row("cold-start-ramp", mode=mode, callers=4))
    for number in range(4):
        mine = [i for i, iteration in enumerate(done.stamps.iteration) if iteration == number]
        assert max(done.stamps.acquired[i] for i in mine) <= min(done.stamps.result[i] for i in mine)
    assert [pool.most for pool in pools] == [4] * 4
    assert all(pool.opened == pool.closed == 1 for pool in pools)


@pytest.mark.parametrize("mode", ["async", "sync"])
@pytest.mark.parametrize("family", ["cold-start-ramp", "rapid-fire"])
def test_making_and_clearing_pools_is_outside_the_clock(
    family: str, mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pool that takes 50 ms to open and to close costs an iteration nothing."""
    done, _ = course(tmp_path, monkeypatch, row(family, mode=mode, callers=2), slow_s=0.05)
    assert max(it["duration_ns"] for it in done.iterations) < 45_000_000


@pytest.mark.parametrize("mode", ["async", "sync"])
def test_a_small_pool_makes_callers_wait(mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 8 callers and 2 connections never more than 2 are taken, and all check-outs are done."""
    told = row("steady-state", mode=mode, callers=8, pool=2, operations=3)
    done, pools = course(tmp_path, monkeypatch, told)
    assert (pools[0].most, pools[0].acquires - pools[0].size) == (2, 4 * 8 * 3)
    assert min(b - a for a, b in zip(done.stamps.started, done.stamps.acquired, strict=True)) >= 0


def test_saturated_callers_share_the_threads_of_the_executor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 4 threads never more than 4 of 10 callers hold a connection, however large the pool is."""
    told = row("saturated-threads", callers=10, pool=10, threads=4, operations=2)
    _, pools = course(tmp_path, monkeypatch, told)
    # Filling the pool took all 10; among callers it is the threads that bound.
    pools[0].most = 0
    executor = runner.started_threads(4)
    assert executor._max_workers == 4
    assert len(executor._threads) == 4
    executor.shutdown()


def test_mixed_callers_use_a_pool_of_either_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the connections and half of the callers are asynchronous, the other half are threads."""
    told = row("mixed-modes", callers=4, pool=6, operations=5)
    _, (tasks, threads) = course(tmp_path, monkeypatch, told)
    assert (tasks.size, threads.size) == (3, 3)
    assert [pool.acquires - pool.size for pool in (tasks, threads)] == [4 * 2 * 5] * 2


def test_draws_are_the_same_for_both_arms_and_differ_by_repeat() -> None:
    """Holds, commands and the choice to query depend on study, row and repeat, and on nothing else."""
    told = row("random-hold", callers=10, operations=20)
    one, same, other = (work.draw(told, text) for text in ("a\0r\x001", "a\0r\x001", "a\0r\x002"))
    assert one.digest == same.digest != other.digest
    operations = [op for it in one.iterations for wave in it for caller in wave for op in caller]
    assert 0.4 < sum(queries for queries, _ in operations) / len(operations) < 0.6
    holds_ms = [hold / 1e6 for _, hold in operations]
    assert min(holds_ms) == 0
    assert max(holds_ms) == 50


@pytest.mark.parametrize(
    ("family", "queries", "holds_ms"), [("many-commands", (5, 15), (0, 0)), ("exhaustion-recovery", (1, 1), (10, 100))]
)
def test_draws_cover_the_stated_ranges(family: str, queries: tuple[int, int], holds_ms: tuple[int, int]) -> None:
    """The smallest and the largest number of commands and hold both occur, and nothing outside them."""
    made = work.draw({**row(family, callers=50, pool=50), "iterations": 20}, "x")
    operations = [op for it in made.iterations for wave in it for caller in wave for op in caller]
    assert (min(q for q, _ in operations), max(q for q, _ in operations)) == queries
    assert (min(h for _, h in operations) / 1e6, max(h for _, h in operations) / 1e6) == holds_ms


def test_exhaustion_takes_twice_the_pool() -> None:
    """At least two callers for each connection, so that the pool runs out."""
    assert work.callers(row("exhaustion-recovery", callers=10, pool=50)) == 100


@pytest.mark.parametrize("kind", ["async", "sync"])
def test_failures_are_rows_and_hold_up_nobody(kind: str) -> None:
    """A caller without a connection leaves the gate to the others, and its row says why."""

    class Refusing(Stub):
        def acquire(self) -> int:
            if self.acquires == 1:
                self.acquires += 1
                raise TimeoutError("no connection within 1 s")
            return super().acquire()

    stamps = Stamps(3)
    if kind == "sync":
        pool, gate = Refusing(3), ThreadGate(3)
        threads = [threading.Thread(target=call_sync, args=(pool, stamps, i, ((0, 0),), gate)) for i in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(5)
            assert not thread.is_alive()
    else:

        class AsyncRefusing(AsyncStub):
            async def acquire(self) -> int:
                if self.acquires == 1:
                    self.acquires += 1
                    raise TimeoutError("no connection within 1 s")
                return Stub.acquire(self)

        async def all_three() -> None:
            pool, gate = AsyncRefusing(3), AsyncGate(3)
            await asyncio.wait_for(asyncio.gather(*[call_async(pool, stamps, i, ((0, 0),), gate) for i in range(3)]), 5)

        asyncio.run(all_three())
    stamps.settle()
    assert sorted(stamps.status) == sorted([OK, OK, ACQUIRE_TIMEOUT])
    failed = list(stamps.status).index(ACQUIRE_TIMEOUT)
    assert stamps.errors == {failed: "TimeoutError: no connection within 1 s"}
    assert stamps.acquired[failed] == stamps.released[failed] == ABSENT


def test_a_failed_release_is_an_error_and_no_timeout() -> None:
    """A connection that cannot be given back makes its row an error, with the driver's words."""

    class Broken(Stub):
        def release(self, connection: int) -> None:  # noqa: ARG002 - as the pool calls it
            raise ConnectionError("the server is gone")

    stamps = Stamps(1)
    call_sync(Broken(1), stamps, 0, ((1, 0),), None)
    stamps.settle()
    assert (stamps.status[0], stamps.errors[0]) == (ERROR, "ConnectionError: the server is gone")
    assert stamps.released[0] == ABSENT


@pytest.mark.parametrize("mode", ["async", "sync"])
def test_first_check_outs_are_due_when_their_wave_begins(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However late a task or a thread comes to run: its first check-out was due with all others of its wave."""
    told = row("bursty-waves", mode=mode, callers=3, operations=2, iterations=1)
    done, _ = course(tmp_path, monkeypatch, told)
    stamps, began = done.stamps, {it["iteration"]: it["began_ns"] for it in done.iterations}
    for number in range(2):
        waves = done.waves(number)
        due = [{stamps.scheduled[first] for first, _ in wave} for wave in waves]
        assert [len(times) for times in due] == [1] * 5
        starts = [times.pop() for times in due]
        assert starts[0] == began[number]
        assert all(later - earlier >= 10_000_000 for earlier, later in pairwise(starts))
        for wave, start in zip(waves, starts, strict=True):
            assert all(stamps.started[first] >= start for first, _ in wave)
            assert all(stamps.scheduled[first + 1] == ABSENT for first, _ in wave)


@pytest.mark.parametrize(("callers", "pool", "threads"), [(2, 4, 8), (1, 1, 2), (6, 4, 12)])
def test_exhaustion_has_a_thread_for_each_caller(
    callers: int, pool: int, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice as many callers as connections ask at once, and none of them waits for a thread instead."""
    made: list[int] = []

    def started(count: int) -> Any:
        made.append(count)
        return whole(count)

    whole = runner.started_threads
    monkeypatch.setattr(runner, "started_threads", started)
    told = {**row("exhaustion-recovery", mode="sync", callers=callers, pool=pool), "iterations": 1}
    monkeypatch.setattr(time, "sleep", lambda _s: None)
    _ = course(tmp_path, monkeypatch, told)
    assert made == [threads]


@pytest.mark.parametrize(
    ("pool", "holds_ms", "expected_ms"),
    [
        (4, [[30], [10], [20]], 30),
        (4, [[30, 5], [10, 40], [20]], 50),
        (1, [[30], [10], [20]], 60),
        (2, [[30], [10], [20]], 30),
        (2, [[10, 10], [30], [5]], 30),
    ],
)
def test_holds_take_their_time_where_connections_lack(pool: int, holds_ms: list[list[int]], expected_ms: int) -> None:
    """An iteration cannot be shorter than its holds in the order in which callers get a connection."""
    wave = [tuple((0, hold * 1_000_000) for hold in caller) for caller in holds_ms]
    made = work.Work(work.SHAPES["random-hold"], [[wave]], "")
    assert made.unhurried_ns(0, pool) == expected_ms * 1_000_000


def test_pauses_between_waves_take_their_time() -> None:
    """Five waves have four pauses of 10 ms, which no pool can shorten; a family without either has nothing."""
    assert work.draw(row("bursty-waves"), "x").unhurried_ns(0, 4) == 40_000_000
    assert work.draw(row("rapid-fire"), "x").unhurried_ns(0, 4) == 0
