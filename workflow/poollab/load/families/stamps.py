"""The rows of all check-outs of a cell, allocated before the clock starts and filled in place."""

from array import array
from collections.abc import Iterable
from pathlib import Path

from poollab.load.rows import ABSENT, OK, UNFINISHED

#: Columns of stamps.bin, one after another, each an int64 for every check-out.
COLUMNS = ("scheduled", "started", "acquired", "result", "released", "status", "backend", "iteration", "caller")
_STAMPS = COLUMNS[:5]


class Stamps:
    """
    Stamps of each check-out by its number.

    `scheduled` is when a caller's first check-out of a wave was due, which is when the wave began: a task that the loop
    has not run yet, and a thread that has no CPU yet, wait already. It is absent for every further check-out, which is
    due when the one before was given back. `result` is when its use of the connection ended; absent where it does
    nothing with it. A check-out that was given back and has no error has ended well: that it has is written down when
    the clock stands still.
    """

    def __init__(self, count: int) -> None:
        blank = array("q", [ABSENT]) * count
        self.scheduled = array("q", blank)
        self.started, self.acquired, self.result = array("q", blank), array("q", blank), array("q", blank)
        self.released, self.backend = array("q", blank), array("q", blank)
        self.iteration, self.caller = array("q", blank), array("q", blank)
        self.status = array("q", [UNFINISHED]) * count
        self.errors: dict[int, str] = {}

    def due(self, firsts: Iterable[int], began_ns: int) -> None:
        """Say that the first check-outs of a wave's callers were due when it began."""
        for row in firsts:
            self.scheduled[row] = began_ns

    def settle(self) -> None:
        """Mark every check-out that was given back and has no error as ok."""
        for row, released in enumerate(self.released):
            if released != ABSENT and row not in self.errors:
                self.status[row] = OK

    def write(self, path: Path, zero_ns: int) -> None:
        """Write all columns, stamps since `zero_ns`."""
        self.settle()
        with path.open("wb") as file:
            for name in COLUMNS:
                column = getattr(self, name)
                if name in _STAMPS:
                    column = array("q", [v if v == ABSENT else v - zero_ns for v in column])
                column.tofile(file)
