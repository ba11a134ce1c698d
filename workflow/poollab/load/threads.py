"""The engine of `psycopg-threads`: worker threads, and one thread that hands them requests when they are due."""

import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from queue import Empty, SimpleQueue
from typing import Any

from poollab.load import blocking, closed
from poollab.load.blocking import Request, Tools
from poollab.load.clients.base import Statements, SyncClient
from poollab.load.window import Window

#: How long threads whose queries were cut off when the drain was over may take to end.
CUT_S = 3.0
CUT_EVERY_S = 0.05
ROOM = "the system's limits on processes and memory allow no more, so use fewer threads"


class ThreadEngine:
    """Runs windows on threads; the dispatcher is the process's main thread."""

    def __init__(
        self, client: Any, spec: dict[str, Any], turns_per_ns: float, processes: ProcessPoolExecutor | None
    ) -> None:
        self._client: SyncClient = client
        self._drain_ns = round(spec["timeouts"]["drain_s"] * 1e9)
        self._tools = Tools(turns_per_ns, processes)
        self._wanted: int = spec["pool"].get("threads") or 0
        self._default: int = spec["pool"]["size"]
        self._crew: _Crew | None = None

    def open(self) -> None:
        """Establish the pool."""
        self._client.open()

    def settle(self, statements: Statements) -> str | None:
        """Warm every connection; see `Client`."""
        return self._client.settle(statements)

    def prepare(self, window: Window) -> Request:
        """Start the threads (once) and return what they do with a number."""
        if self._crew is None:
            workers = len(window.due) if window.loops is not None else 0
            if workers > (self._wanted or workers):
                raise SystemExit(f"{workers} workers in a loop need as many threads, and the arm has {self._wanted}")
            self._crew = _Crew(self._wanted or workers or self._default)
        hold = blocking.held(self._client, window.rows, window.steps, self._tools) if window.steps.inside else _nothing
        request = blocking.general(window.rows, window.steps, self._tools, hold)
        return request if window.loops is None else closed.thread_worker(window.loops, request)

    def run(self, window: Window, prepared: Request, zero_ns: int) -> bool:
        """Send one window's requests and wait (bounded) for all of them; tell whether all ended."""
        crew = self._crew
        if crew is None or not window.due:
            return True
        crew.begin(prepared, len(window.due))
        _dispatch(window.due, zero_ns, crew.put)
        left_ns = zero_ns + window.length_ns + self._drain_ns - time.monotonic_ns()
        finished = crew.finished.wait(max(0.0, left_ns / 1e9))
        if not finished:
            window.rows.seal()
            # What no thread has begun must not run in the next window, nor while the rows are written.
            crew.take_back()
            until = time.monotonic() + CUT_S
            # More than once: a connection that is cut free goes to the next thread that waits for one.
            while not crew.finished.wait(CUT_EVERY_S) and time.monotonic() < until:
                self._client.abort()
        return finished

    def close(self) -> int:
        """Close the pool and end the threads; return how many connections it could still hand out."""
        if self._crew is not None:
            self._crew.dismiss()
        return self._client.close()

    def facts(self) -> dict[str, Any]:
        """Say how many threads there were, and how many had a request at once in the measured window."""
        crew = self._crew
        return {
            "loop": None,
            "timer": "sleep",
            "threads": crew.size if crew else 0,
            "threads_peak": max(crew.highs) if crew else 0,
        }


class _Crew:
    """Threads that take numbers from one queue, first come first served."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.finished = threading.Event()
        self.highs = [0]
        """New peaks of requests in flight, in the order in which they were seen."""
        self._queue: SimpleQueue[int | None] = SimpleQueue()
        self.put = self._queue.put
        self._request: Request = lambda _: None
        self._flight: deque[None] = deque()
        self._window: tuple[deque[None], int] = deque(), 0
        for number in range(size):
            try:
                threading.Thread(target=self._work, daemon=True).start()
            except RuntimeError as error:
                raise SystemExit(f"thread {number + 1} of {size} could not be started: {error}; {ROOM}") from None

    def begin(self, request: Request, count: int) -> None:
        """Get ready for a window of `count` numbers."""
        self._request, self.highs = request, [0]
        self._window = deque(), count
        self.finished.clear()

    def _work(self) -> None:
        get, flight = self._queue.get, self._flight
        while (number := get()) is not None:
            # Lengths of deques are exact under Python's lock, where a counter of our own would need another one.
            flight.append(None)
            if (high := len(flight)) > self.highs[-1]:
                self.highs.append(high)
            # Both of one window: a thread that is cut off late must not end the next one.
            done, count = self._window
            self._request(number)
            flight.pop()
            done.append(None)
            if len(done) == count:
                self.finished.set()

    def take_back(self) -> None:
        """Take the numbers that no thread has begun out of the queue, and count them as done with."""
        done, count = self._window
        try:
            while True:
                self._queue.get_nowait()
                done.append(None)
        except Empty:
            pass
        if len(done) == count:
            self.finished.set()

    def dismiss(self) -> None:
        """Let every thread end that has nothing to do."""
        for _ in range(self.size):
            self.put(None)


def _dispatch(due_ns: Sequence[int], zero_ns: int, put: Any) -> None:
    """Hand out number i at zero + due[i], never early."""
    clock, sleep = time.monotonic_ns, time.sleep
    for number, due in enumerate(due_ns):
        while (ahead := zero_ns + due - clock()) > 0:
            sleep(ahead / 1e9)
        put(number)


def _nothing(_number: int) -> bool:
    """Stand in for a connection in a workload without one."""
    return True
