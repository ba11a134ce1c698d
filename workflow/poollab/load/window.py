"""One window of a run: its due times, its rows and what each of its requests does."""

from array import array
from typing import Any

from poollab.load import steps
from poollab.load.closed import Loops
from poollab.load.rows import Rows


class Window:
    """The part of a window (`warm_up` or `measure`) that one of `processes` generator processes sends."""

    def __init__(self, name: str, spec: dict[str, Any], file: Any, process: int, processes: int) -> None:
        columns = steps.read(spec[name], file, process, processes)
        arrivals = spec["arrivals"]
        self.rows = Rows(len(columns[0]))
        self.steps = steps.Steps(spec["steps"], columns, len(columns[0]))
        length: int = arrivals.get("window_ns", {}).get(name, 0)
        self.loops: Loops | None = None
        self.due = columns[0]
        """When request i is launched, in ns since zero; in a closed loop when worker i is."""
        if arrivals["kind"] == "closed":
            self.loops = Loops(self.rows, arrivals["think_ns"], length)
            self.due = array("q", [0]) * len(range(process, arrivals["workers"], processes))
        self.length_ns = max(length, self.due[-1] if self.due else 0)

    def start(self, zero_ns: int) -> None:
        """Fix when the window begins, in CLOCK_MONOTONIC nanoseconds."""
        if self.loops is not None:
            self.loops.start(zero_ns)

    def end(self, zero_ns: int) -> int:
        """Fill in what is not on the measured path; return how many rows there are to write."""
        if self.loops is not None:
            return self.loops.begun()
        self.rows.scheduled = array("q", [zero_ns + due for due in self.due])
        return len(self.rows)

    @property
    def exhausted(self) -> bool:
        """Whether a closed loop stopped early because it had no rows left."""
        return self.loops is not None and self.loops.exhausted
