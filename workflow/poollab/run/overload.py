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
#: What a rate that is not kept leaves behind was there at this share of the window already.
LAST = 0.9


def found(columns: Mapping[str, Ints], window_s: float, shape: "Shape") -> Iterator[tuple[str, str]]:
    """Give `overloaded` with its reasons; a closed loop offers no rate, and a batch has the time that it takes."""
    if shape.closed or shape.batch:
        return
    if shape.parts is not None:
        yield from _by_part(columns, window_s, shape.parts)
        return
    count, done = len(columns["scheduled"]), _done(columns)[0]
    left = max(_left_behind(columns, window_s), int((~done).sum()))
    # In a window of few requests one or two of them are more than the share that is allowed, and no rate.
    if left > max(min(LEFT_BEHIND, 0.1 * count), (1 - KEPT_SHARE) * count, 1):
        yield "overloaded", f"{1 - left / count:.1%} of the offered rate was achieved ({left} of {count} left behind)"
    if backlog_grows(columns):
        yield "overloaded", "the backlog grew over the window"


def _done(columns: Mapping[str, Ints]) -> tuple[npt.NDArray[np.bool_], float]:
    """Tell which requests were answered, and the median time that took (ns)."""
    # A query that the server answered with an error was answered: it counts as an error and not as overload.
    done = (columns["status"] == OK) | ((columns["status"] == ERROR) & (columns["released"] != ABSENT))
    return done, float(np.median((end(columns) - columns["scheduled"])[done])) if done.any() else 0.0


def _left_behind(columns: Mapping[str, Ints], window_s: float) -> int:
    """
    Return how many requests more than usual were unanswered at the end of the window, and for its last tenth.

    What is under way when a window ends is no overload, however long one request takes, and neither is a hiccup
    just before: a rate that is not kept leaves ever more requests behind. More than usual means both more than were
    in flight in the calmest quarter, and longer under way than the middle request of the quickest quarter.
    """
    done, _ = _done(columns)
    scheduled, over = columns["scheduled"], end(columns)
    quarters = [part for part in np.array_split(np.arange(len(scheduled)), 4) if len(part)]
    if not quarters:
        return 0
    in_flight = in_flight_at_arrivals(columns)
    usual = min(float(np.median(in_flight[part])) for part in quarters)
    quick_ns = min((float(np.median((over - scheduled)[p][done[p]])) for p in quarters if done[p].any()), default=0.0)

    def behind(at_ns: float) -> int:
        here = scheduled < at_ns
        unanswered = int((here & ~(done & (over <= at_ns))).sum()) - usual
        return int(min(unanswered, (here & ~(done & (over <= at_ns + quick_ns))).sum()))

    return max(0, min(behind(window_s * 1e9 * share) for share in (LAST, 1.0)))


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
