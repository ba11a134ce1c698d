"""The steps of a run whose rate changes: their bounds, their CPU, and the numbers of one step over several runs."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from poollab.stats import in_use, measured, waits
from poollab.stats.measured import Run
from poollab.stats.percentiles import pooled
from poollab.stats.rows import Rows, overall

Row = dict[str, Any]

#: A moment so far outside the samples has no reading; they lie a tenth of a second apart.
NEAR_NS = 300_000_000


@dataclass(frozen=True, slots=True)
class Bounds:
    """One step of the arrival schedule: its number, from 1 as in the rows, and its part of the window."""

    number: int
    from_ns: int
    to_ns: int

    @property
    def seconds(self) -> float:
        """Its length."""
        return (self.to_ns - self.from_ns) / 1e9


def bounds(run: Run) -> list[Bounds]:
    """Return the steps of a run's arrivals, empty where it has none."""
    lengths = [float(step["for_s"]) for step in run.arrivals.get("steps") or []]
    ends = [round(1e9 * sum(lengths[: i + 1])) for i in range(len(lengths))]
    return [Bounds(i, *pair) for i, pair in enumerate(zip([0, *ends], ends, strict=False), start=1)]


def cores(samples: dict[str, Any], side: str, from_ns: int, to_ns: int) -> float | None:
    """
    Return the CPU that a side used between two moments, in cores, interpolated between the samples beside them.

    None where the samples do not reach that far or the kernel offered no counter.
    """
    pairs = zip(samples["at_ns"], samples[f"{side}_cpu_ns"], strict=True)
    readings = sorted((at, used) for at, used in pairs if used is not None)
    if len(readings) < 2 or to_ns <= from_ns:
        return None
    at, used = (np.array(column, dtype=np.float64) for column in zip(*readings, strict=True))
    if from_ns < at[0] - NEAR_NS or to_ns > at[-1] + NEAR_NS:
        return None
    # Both ends are moved into the samples, so that the increase and the time belong together.
    ends = np.clip([from_ns, to_ns], at[0], at[-1])
    total = np.interp(ends, at, used - used[0])
    return float((total[1] - total[0]) / (ends[1] - ends[0])) if ends[1] > ends[0] else None


def numbers(runs: list[Run], step: Bounds) -> Row:
    """
    Return one step's numbers over the runs of one condition.

    Offered counts the requests scheduled in the step, achieved those that were completed within it. Means and
    percentiles are of the requests that were scheduled in it and ended ok. In use is exact, from the stamps. Waits are
    those of the callers (see `Run.seen`), and lateness is that of the start.
    """
    parts = [run.rows.where(run.rows.step == step.number) for run in runs]
    done = [part.where(part.ok) for part in parts]
    waits_ns = [measured.wait_ns(run.seen.where((run.rows.step == step.number) & run.rows.ok)) for run in runs]
    size = runs[0].size * runs[0].processes
    hold = measured.pooled_mean([measured.hold_ns(part) for part in done])
    levels = [in_use.level(in_use.held(run.rows), step.from_ns, step.to_ns) for run in runs]
    busy = sum(level.mean for level in levels) / len(levels)
    achieved = [_completed(run.rows, step) / step.seconds for run in runs]
    rate = sum(achieved) / len(runs)
    return {
        "step": step.number,
        "from_s": step.from_ns / 1e9,
        "to_s": step.to_ns / 1e9,
        "requests": sum(map(len, parts)),
        "requests_ok": sum(map(len, done)),
        "offered_per_s": sum(map(len, parts)) / step.seconds / len(runs),
        "achieved_per_s": rate,
        "achieved_runs_per_s": achieved,
        "late_p99": pooled([part.started_ns - part.scheduled_ns for part in done], 0.99),
        "wait_mean_ns": measured.pooled_mean(waits_ns),
        "wait_p95": pooled(waits_ns, 0.95),
        "hold_mean_ns": hold,
        "overall_p95": pooled([overall(part) for part in done], 0.95),
        "overall_p99": pooled([overall(part) for part in done], 0.99),
        "predicted_busy": None if hold is None else rate * hold / 1e9,
        "measured_busy": busy,
        "peak_busy": max(level.peak for level in levels),
        "utilisation": busy / size,
        "waited_share": _waited(runs, step),
        **{f"{side}_cores": _cores(runs, side, step) for side in ("database", "generator")},
    }


def _completed(rows: Rows, step: Bounds) -> int:
    ended = rows.released_ns[rows.ok]
    return int(((ended >= step.from_ns) & (ended < step.to_ns)).sum())


def _cores(runs: list[Run], side: str, step: Bounds) -> float | None:
    return measured.mean([cores(run.samples, side, step.from_ns, step.to_ns) for run in runs])


def _waited(runs: list[Run], step: Bounds) -> float | None:
    """Return the share of a step's requests that asked while every connection of their own pool was taken."""
    found = [(waits.waited(run.seen, run.size), run.rows.step == step.number) for run in runs]
    count = sum(int(mine.sum()) for _, mine in found)
    return sum(int((late & mine).sum()) for late, mine in found) / count if count else None
