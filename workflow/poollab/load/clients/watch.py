"""A bound on blocking calls: psycopg's have none of their own."""

import contextlib
import os
import socket
import threading
import time
from typing import Any

import psycopg

#: Bound on the request to cancel, and on the wait for its effect, in seconds.
CANCEL_S = 2.0


class _Cut:
    """A call that took too long: `cancelled` when the server has been asked, `over` when the call has returned."""

    def __init__(self) -> None:
        self.cancelled, self.over = threading.Event(), threading.Event()


class Watch:
    """
    Cancels what a connection does when it takes longer than `bound_s`.

    One thread sleeps until the earliest deadline: a call in time costs two operations on a dictionary and
    wakes nobody. A server that does not answer the cancellation loses its connection.
    """

    def __init__(self, bound_s: float) -> None:
        self._bound_ns = round(bound_s * 1e9)
        self._deadlines: dict[Any, int] = {}
        self._cuts: dict[Any, _Cut] = {}
        self._stop = threading.Event()
        self._clock = time.monotonic_ns
        threading.Thread(target=self._run, name="poollab-watch", daemon=True).start()

    def begin(self, connection: Any) -> None:
        """Note that a call begins."""
        self._deadlines[connection] = self._clock() + self._bound_ns

    def end(self, connection: Any) -> None:
        """
        Note that a call has returned, with a result or an error.

        Raises:
            TimeoutError: it was cut off.
        """
        self._deadlines.pop(connection, None)
        if self._cuts and (cut := self._cuts.pop(connection, None)) is not None:
            cut.over.set()
            # A cancellation under way would hit the next statement of this connection.
            cut.cancelled.wait(2 * CANCEL_S)
            raise TimeoutError

    def _run(self) -> None:
        while True:
            pending, now = self._deadlines.copy(), self._clock()
            for connection, deadline in pending.items():
                if deadline <= now:
                    self._cut(connection, deadline)
            ahead = [deadline for deadline in pending.values() if deadline > now]
            # What begins from here on has its deadline a whole bound away.
            if self._stop.wait((min(ahead, default=now + self._bound_ns) - now) / 1e9):
                return

    def _cut(self, connection: Any, deadline: int) -> None:
        if connection in self._cuts:
            return
        cut = self._cuts[connection] = _Cut()
        if self._deadlines.get(connection) != deadline:
            # It returned between the look and now, and the connection may be in another call.
            self._cuts.pop(connection, None)
            cut.cancelled.set()
            return
        threading.Thread(target=_cancel, args=(connection, cut), daemon=True).start()

    def cut_all(self) -> None:
        """Cut off whatever is under way."""
        for connection, deadline in self._deadlines.copy().items():
            self._cut(connection, deadline)

    def close(self) -> None:
        """End the thread."""
        self._stop.set()


def _cancel(connection: Any, cut: _Cut) -> None:
    """Ask the server to stop; where that has no effect, end the connection below the call."""
    with contextlib.suppress(psycopg.Error):
        connection.cancel_safe(timeout=CANCEL_S)
    cut.cancelled.set()
    if not cut.over.wait(CANCEL_S):
        # The descriptor is the library's: a copy of it is shut down, so that the library finds its end.
        with (
            contextlib.suppress(OSError, psycopg.Error),
            socket.socket(fileno=os.dup(connection.pgconn.socket)) as line,
        ):
            line.shutdown(socket.SHUT_RDWR)
