"""Memory of this process, as the kernel counts it and as Python does."""

import tracemalloc
from pathlib import Path
from typing import Any

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


def resident() -> dict[str, int | None]:
    """Return resident memory now and its peak so far, in bytes; None where the kernel does not say."""
    found: dict[str, int | None] = {"rss_bytes": None, "peak_rss_bytes": None}
    names = {"VmRSS:": "rss_bytes", "VmHWM:": "peak_rss_bytes"}
    for line in _STATUS.read_text("ascii").splitlines():
        word, _, rest = line.partition("\t")
        if word in names:
            found[names[word]] = int(rest.split()[0]) * 1024
    return found


def forget_peak() -> bool:
    """Let the kernel's peak begin anew; tell whether it could (else the peak covers the warm-up too)."""
    try:
        _CLEAR.write_text("5", "ascii")
    except OSError:
        return False
    return True


class Memory:
    """
    Readings around a window.

    Python's own count (`trace`, tracemalloc) sees no thread's stack and no library's memory, and slows every
    allocation down: a study has to ask for it.
    """

    def __init__(self, *, trace: bool) -> None:
        self._trace = trace
        self._facts: dict[str, Any] = {"traced_peak_bytes": None}
        self.peak_bytes: int | None = None
        """Peak of the whole process, start and warm-up included; getrusage would count its parent before the exec."""

    def start(self) -> None:
        """Read, and begin to count, before the requests (and threads) of the run are made."""
        self._facts["rss_before_requests_bytes"] = resident()["rss_bytes"]
        if self._trace:
            tracemalloc.start()

    def begin_window(self) -> None:
        """Read, and let the peaks begin anew."""
        now = resident()
        self.peak_bytes = now["peak_rss_bytes"]
        self._facts["rss_before_window_bytes"] = now["rss_bytes"]
        self._facts["peak_covers_window_only"] = forget_peak()
        if self._trace:
            tracemalloc.reset_peak()

    def end_window(self) -> None:
        """Read the peaks."""
        peak = self._facts["peak_rss_bytes"] = resident()["peak_rss_bytes"]
        self.peak_bytes = max(self.peak_bytes or 0, peak or 0) or None
        if self._trace:
            self._facts["traced_peak_bytes"] = tracemalloc.get_traced_memory()[1]

    def facts(self) -> dict[str, Any]:
        """Return the readings, in bytes."""
        return self._facts
