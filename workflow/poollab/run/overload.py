"""Whether a rate was kept: of a whole window, or of each stretch of a schedule whose rate changes."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from poollab.load.rows import ABSENT, ERROR, OK
from poollab.run.gather import end

if TYPE_CHECKING:
    from poollab.run.validity import Shape

Ints = npt.NDArray[np.int64]

#: A rate is kept when at least this share of the offered requests completed within the observed time.
KEPT_SHARE = 0.99
#: A stretch is not judged by fewer requests than this that it left behind: they may be one burst, or chance.
LEFT_BEHIND = 10


def found(columns: Mapping[str, Ints], window_s: float, shape: "Shape") -> Iterator[tuple[str, str]]:
    """Give `overloaded` with its reasons; a closed loop offers no rate, and a batch has the time that it takes."""
    if shape.closed or shape.batch:
        return
    if shape.parts is not None:
        yield from _by_part(columns, window_s, shape.parts)
        return
    done, ordinary_ns = _done(columns)
    # Completed requests over the time they took: up to the last release, less what one request ordinarily takes, since
    # the last ones are under way when the window ends however well the rate is kept.
    last_s = max(window_s, (float(end(columns)[done].max()) - ordinary_ns) / 1e9) if done.any() else window_s
    short = len(done) * last_s / window_s - int(done.sum())
    kept = int(done.sum()) / last_s / (len(done) / window_s)
    # In a window of few requests one of them is more than the share that is allowed: less than one is not a rate.
    if kept < KEPT_SHARE and short >= 1:
        yield (
            "overloaded",
            f"{kept:.1%} of the offered rate was achieved ({int(done.sum())} requests in {last_s:.2f} s)",
        )
    if backlog_grows(columns):
        yield "overloaded", "the backlog grew over the window"


def _done(columns: Mapping[str, Ints]) -> tuple[npt.NDArray[np.bool_], float]:
    """Tell which requests were answered, and the median time that took (ns)."""
    # A query that the server answered with an error was answered: it counts as an error and not as overload.
    done = (columns["status"] == OK) | ((columns["status"] == ERROR) & (columns["released"] != ABSENT))
    return done, float(np.median((end(columns) - columns["scheduled"])[done])) if done.any() else 0.0


def _by_part(columns: Mapping[str, Ints], window_s: float, parts: npt.NDArray[np.int16]) -> Iterator[tuple[str, str]]:
    """Judge each stretch by what it leaves behind for the next one, beyond what it found."""
    done, _ = _done(columns)
    overall, numbers = end(columns) - columns["scheduled"], np.unique(parts)
    # Of the stretch that was served best: one that was not kept must not excuse itself.
    medians = [float(np.median(overall[done & (parts == n)])) for n in numbers if (done & (parts == n)).any()]
    ordinary_ns = min(medians, default=0.0)
    starts = [columns["scheduled"][parts == n][0] for n in numbers]
    ends = [*starts[1:], window_s * 1e9]
    before = 0
    for number, until in zip(numbers, ends, strict=True):
        mine = parts == number
        behind = int(((columns["scheduled"] < until) & ~(done & (end(columns) <= until + ordinary_ns))).sum())
        left, offered, before = behind - before, int(mine.sum()), behind
        if left > max(LEFT_BEHIND, (1 - KEPT_SHARE) * offered):
            yield "overloaded", f"part {number} of the schedule left {left} of its {offered} requests behind"


def in_flight_at_arrivals(columns: Mapping[str, Ints]) -> Ints:
    """Count for each arrival the earlier requests that had not ended by then."""
    scheduled, over = columns["scheduled"], end(columns)
    ended = np.sort(np.where(over == ABSENT, np.iinfo(np.int64).max, over))
    return np.asarray(np.arange(len(scheduled)) - np.searchsorted(ended, scheduled, side="right"), dtype=np.int64)


def backlog_grows(columns: Mapping[str, Ints]) -> bool:
    """
    Tell whether requests pile up: each quarter of the window holds more than the one before.

    Growth must end well above where it began (twice, and 10 requests more), so that bursts and noise
    of a queue that empties do not count. For one rate only: at a higher one more is under way without any queue.
    """
    waiting = in_flight_at_arrivals(columns)
    if len(waiting) < 40:
        return False
    means = [float(part.mean()) for part in np.array_split(waiting, 4)]
    rises = all(b > a for a, b in pairwise(means))
    return rises and means[-1] > 2 * means[0] and means[-1] > means[0] + 10
