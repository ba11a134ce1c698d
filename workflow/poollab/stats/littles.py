"""
Little's law for each run, and the server's own account of the time that it worked.

The mean number of requests in a system is the rate at which they pass times the mean time in it. All three come
from the same stamps here, so the law holds by construction but for two things, which are told apart: requests that
are still inside when the window ends (the edge), and stamps that do not fit together (the mismatch).
"""

from typing import Any

import numpy as np

from poollab.stats.rows import ABSENT, Ints, Rows

#: Stages of a request for which the law is looked at.
STAGES = ("whole", "waiting", "holding")


def stage(rows: Rows, name: str) -> tuple[Ints, Ints]:
    """Return begin and end of each request's stay in a stage, in ns; ABSENT where it did not begin or end."""
    if name == "whole":
        return rows.scheduled_ns, rows.end_ns
    if name == "waiting":
        # Who got no connection waited until it gave up, and who had no use for one never did.
        gave_up = (rows.acquired_ns == ABSENT) & ~rows.ok
        begins = np.where(rows.ok & (rows.acquired_ns == ABSENT), ABSENT, rows.asking_ns)
        return begins, np.where(gave_up, rows.end_ns, rows.acquired_ns)
    return rows.acquired_ns, rows.released_ns


def law(begins_ns: Ints, ends_ns: Ints, window_ns: int) -> dict[str, Any]:
    """
    Set the mean number inside over [0, window) against rate times mean time, both of those that left in it.

    Returns `inside` (mean number, counted instant by instant), `rate_per_s`, `time_ns` (mean; None where nobody
    left), `product` = rate x time, `residual` = inside - product, and its parts `edge` (time spent inside by those
    that had not left when the window ended) and `mismatch` (the rest), all as mean numbers of requests.
    """
    begun = begins_ns != ABSENT
    begins, ends = begins_ns[begun], ends_ns[begun]
    still = (ends == ABSENT) | (ends > window_ns)
    left = ~still
    inside = _mean_inside(begins, np.where(still, window_ns, ends), window_ns)
    times = ends[left] - begins[left]
    product = float(times.sum()) / window_ns
    edge = float(np.maximum(window_ns - begins[still], 0).sum()) / window_ns
    return {
        "inside": inside,
        "rate_per_s": float(left.sum()) / (window_ns / 1e9),
        "time_ns": float(times.mean()) if len(times) else None,
        "product": product,
        "residual": inside - product,
        "edge": edge,
        "mismatch": inside - product - edge,
    }


def _mean_inside(begins: Ints, ends: Ints, window_ns: int) -> float:
    """Average over time how many are inside, counting at each instant at which somebody comes or goes."""
    times = np.concatenate([np.clip(begins, 0, window_ns), np.clip(ends, 0, window_ns)])
    change = np.concatenate([np.ones(len(begins), np.int64), np.full(len(ends), -1, np.int64)])
    order = np.argsort(times, kind="stable")
    times, level = times[order], np.cumsum(change[order])
    return float((level[:-1] * np.diff(times)).sum()) / window_ns if len(times) > 1 else 0.0


def of_run(rows: Rows, window_s: float, server_ns: int | None, client_ns: int | None) -> dict[str, Any]:
    """
    Return a run's law for each of STAGES that its requests have, and server against client.

    `server_ns` is the increase of the time that sessions were executing (pg_stat_database.active_time), `client_ns`
    the sum of the client's query round trips; the ratio is None where one is not known. A session reports its time
    up to a second late (ten seconds when it idles), so the two agree roughly and never exactly.
    """
    window_ns = round(window_s * 1e9)
    found: dict[str, Any] = {name: law(*stage(rows, name), window_ns) for name in STAGES if _has(rows, name)}
    ratio = None if not server_ns or not client_ns else server_ns / client_ns
    return {**found, "server_active_ns": server_ns, "client_active_ns": client_ns, "server_of_client": ratio}


def _has(rows: Rows, name: str) -> bool:
    return name == "whole" or bool((rows.acquired_ns != ABSENT).any())
