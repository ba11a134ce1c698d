"""The rows of one window, allocated before its clock starts and filled in place."""

from array import array
from pathlib import Path

#: Stands for "never reached"; no clock shows it.
ABSENT = -(2**63)

#: Numbers of the request statuses, in the order of data/schemas.py.
OK, ERROR, ACQUIRE_TIMEOUT, QUERY_TIMEOUT, UNFINISHED = range(5)

COLUMNS = ("scheduled", "started", "acquired", "result", "released", "status", "backend")


class Rows:
    """
    Five stamps, status and server process id of each request, as arrays of int64.

    An array element takes a number without allocating an object that outlives the statement. Every
    request starts as `unfinished`, so none can vanish.
    """

    def __init__(self, count: int) -> None:
        blank = array("q", [ABSENT]) * count
        self.scheduled, self.started, self.acquired = array("q", blank), array("q", blank), array("q", blank)
        self.result, self.released, self.backend = array("q", blank), array("q", blank), array("q", blank)
        self.status = array("q", [UNFINISHED]) * count
        self.errors: dict[int, str] = {}
        """Class and text of the error of each request that failed, by its number."""

    def __len__(self) -> int:
        return len(self.status)

    def write(self, path: Path, zero_ns: int) -> None:
        """Write the columns one after another as int64, stamps since `zero_ns`."""
        with path.open("wb") as file:
            for name in COLUMNS:
                column = getattr(self, name)
                if name not in ("status", "backend"):
                    column = array("q", [v if v == ABSENT else v - zero_ns for v in column])
                column.tofile(file)
