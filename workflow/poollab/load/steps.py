"""What one request does, as the generator holds it: steps with their drawn values, sorted by who needs a connection."""

from array import array
from collections.abc import Callable, Sequence
from typing import Any

Column = Sequence[int]
Values = tuple[int, ...]


class Step:
    """One step; `values` and `column` hold one entry for each request."""

    __slots__ = ("column", "do", "sql", "values")

    def __init__(self, part: dict[str, Any], columns: Sequence[Column], count: int) -> None:
        self.do: str = part["do"]
        """query, hold, compute or wait."""
        self.sql: str = part.get("sql", "")
        taken = [columns[number] for number in part.get("args", ())]
        self.values: list[Values] = list(zip(*taken, strict=True)) if taken else [()] * count
        """Arguments of each request's statement."""
        drawn = part.get("times") if self.do == "query" else part["ns"]
        self.column: Column | None = None if drawn is None else columns[drawn]
        """How often the statement is sent (None: once), or how long the step takes in nanoseconds."""


class Steps:
    """The steps before the connection is asked for, those with it, and those after its release."""

    def __init__(self, parts: Sequence[dict[str, Any]], columns: Sequence[Column], count: int) -> None:
        steps = [Step(part, columns, count) for part in parts]
        held = [number for number, step in enumerate(steps) if step.do in ("query", "hold")]
        first, last = (held[0], held[-1] + 1) if held else (len(steps), len(steps))
        self.before, self.inside, self.after = steps[:first], steps[first:last], steps[last:]

    @property
    def single(self) -> bool:
        """Whether a request is one execution of one statement and nothing else."""
        return not self.before and not self.after and len(self.inside) == 1 and self._only.column is None

    @property
    def _only(self) -> Step:
        return self.inside[0]

    @property
    def queries(self) -> list[Step]:
        """The steps that send a statement."""
        return [step for step in self.inside if step.do == "query"]

    def needed(self) -> Callable[[int], bool]:
        """Return what tells whether a request takes a connection: it does not when it skips all statements."""
        if not self.inside:
            return lambda _: False
        counts = [step.column for step in self.inside if step.do == "query"]
        if any(step.do == "hold" for step in self.inside) or any(column is None for column in counts):
            return lambda _: True
        drawn = [column for column in counts if column is not None]
        return lambda number: any(column[number] for column in drawn)


def read(part: dict[str, Any], file: Any, process: int, processes: int) -> list["array[int]"]:
    """Read one window's columns (the due offsets first) and keep every `processes`-th request from `process` on."""
    columns = []
    for _ in range(1 + part["columns"]):
        column = array("q")
        column.fromfile(file, part["count"])
        columns.append(column[process::processes] if processes > 1 else column)
    return columns
