"""What a person sees: our few lines. Snakemake's own report goes to its log file, which stays complete."""

import logging
import re
import sys
from collections.abc import Sequence
from typing import Any


class QuietFilter(logging.Filter):
    """
    Keep Snakemake's progress off the terminal, and its failure report where our own message stands.

    `told` becomes true when one of our jobs has said why it failed; what Snakemake adds to that is the
    same failure three times over.
    """

    def __init__(self) -> None:
        super().__init__()
        self.told = False
        self.nothing_to_do = ""
        """What to say in place of Snakemake's note that every target is there."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether a record may reach the terminal."""
        if record.getMessage().startswith("Nothing to be done") and self.nothing_to_do:
            say(self.nothing_to_do)
            return False
        # A job's script has printed its one message; Snakemake's report of it follows in several records.
        if "non-zero exit status" in record.getMessage():
            self.told = True
        return record.levelno >= logging.WARNING and not self.told


#: Fixed time and time for each cell beyond its windows, for the estimate that is printed (seconds).
FIXED_S, EACH_S = 12.0, 1.6

#: Calls of Snakemake that only look; each may be shortened, and -n may stand among other letters, as in -np.
LOOKING = re.compile(
    r"--(dry|lint|unlock|list|summary|detailed-summary|report|archive|rulegraph|dag|filegraph|d3dag|touch"
    r"|cleanup-metadata|delete-).*|-[pqrFfk]*n[npqrFfk]*|-[lSDt]"
)
#: Calls that run, and whose output is what the user asked for.
TALKING = ("--verbose", "--printshellcmds", "-p")


def looking(arguments: Sequence[str]) -> bool:
    """Tell whether Snakemake was called to look at the workflow, not to run it."""
    return any(LOOKING.fullmatch(word) for word in arguments)


def quiet(logger: logging.Logger, arguments: Sequence[str]) -> QuietFilter:
    """Put the filter, once, on every handler of Snakemake's logger that writes to a terminal."""
    silent = QuietFilter()
    if looking(arguments) or any(word in TALKING for word in arguments):
        return silent
    for handler in logger.handlers:
        if not isinstance(handler, logging.FileHandler):
            handler.addFilter(silent)
    return silent


def say(text: str) -> None:
    """Print for the user; standard error keeps the order with messages of failed steps."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def minutes(seconds: float) -> str:
    """Say a duration in words that fit its size."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min"


def counted(number: int, word: str) -> str:
    """Say a number of things."""
    return f"{number} {word}{'' if number == 1 else 's'}"


#: From so many requests beyond it on a percentile stands plainly; with fewer it is marked, as in the report.
ENOUGH_BEYOND = 10
WEAK = "\u25cb"


def cell_line(number: int, total: int, record: dict[str, Any], beyond: int, left_s: float) -> str:
    """
    Return a cell's one line: n of m, the cell, p99 (a benchmark: mean of its iterations), status, time left.

    `beyond` says how many requests lie beyond the p99: with none there is no such number, with few it is marked.
    """
    names = [record["workload"], record["arm"], *([record["limits"]] if record["limits"] else [])]
    p99 = _p99(record["overall_p99_ns"], beyond)
    if record.get("benchmark", {}).get("mean_ns") is not None:
        p99 = f"mean {record['benchmark']['mean_ns'] / 1e6:8.2f} ms"
    cell = "  ".join(f"{name:<14}" for name in names)
    text = f"[{number:>{len(str(total))}}/{total}] {cell} run {record['repeat']}  {p99}  {record['status']}"
    tail = f"  ({minutes(left_s)} left)" if number < total else ""
    return text + tail + (f"\n        {record['reasons']}" if record["reasons"] else "")


def _p99(p99_ns: int | None, beyond: int) -> str:
    if p99_ns is None or beyond == 0:
        return "p99       -"
    return f"p99 {p99_ns / 1e6:7.2f} ms{'' if beyond >= ENOUGH_BEYOND else ' ' + WEAK}"
