"""The rows of one window, allocated before its clock starts and filled in place."""

from array import array
from pathlib import Path

#: Stands for "never reached"; no clock shows it.
ABSENT = -(2**63)

#: Numbers of the request statuses, in the order of data/schemas.py.
OK, ERROR, ACQUIRE_TIMEOUT, QUERY_TIMEOUT, UNFINISHED = range(5)

COLUMNS = ("scheduled", "started", "acquired", "result", "released", "status", "backend", "asked", "ended")
_NO_STAMPS = ("status", "backend")


class Rows:
    """
    Stamps, status and server process id of each request, as arrays of int64.

    An array element takes a number without allocating an object that outlives the statement. Every
    request starts as `unfinished`, so none can vanish. `asked` is filled only where a request has steps
    before it asks for a connection, `ended` where it has steps after its release, or failed without one.
    """

    def __init__(self, count: int) -> None:
        blank = array("q", [ABSENT]) * count
        self.scheduled, self.started, self.acquired = array("q", blank), array("q", blank), array("q", blank)
        self.result, self.released, self.backend = array("q", blank), array("q", blank), array("q", blank)
        self.asked, self.ended = array("q", blank), array("q", blank)
        self.status = array("q", [UNFINISHED]) * count
        self._sealed: array[int] | None = None
        self.errors: dict[int, str] = {}
        """Class and text of the error of each request that failed, by its number."""

    def __len__(self) -> int:
        return len(self.status)

    def seal(self) -> None:
        """Let every request that has not ended by now stay unfinished, however it is cut off after the drain."""
        self._sealed = self.status[:]

    def failures(self) -> dict[int, str]:
        """Return class and text of the error of each request whose status is error."""
        status = self.status if self._sealed is None else self._sealed
        return {number: text for number, text in self.errors.copy().items() if status[number] == ERROR}

    def write(self, path: Path, zero_ns: int, begun: int | None = None) -> None:
        """Write the columns of the first `begun` requests (None: all) as int64, stamps since `zero_ns`."""
        with path.open("wb") as file:
            for name in COLUMNS:
                column = getattr(self, name)[:begun]
                if name == "status" and self._sealed is not None:
                    column = self._sealed[:begun]
                if name not in _NO_STAMPS:
                    column = array("q", [v if v == ABSENT else v - zero_ns for v in column])
                column.tofile(file)
