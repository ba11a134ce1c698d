"""The numbers of each question of the execution-models study, from the runs of one condition."""

from typing import Any

from poollab.stats import clients, in_use, measured
from poollab.stats.measured import Run
from poollab.stats.percentiles import plain_ns, pooled
from poollab.stats.rows import ABSENT, Ints, Rows

Row = dict[str, Any]

THREADS = "psycopg-threads"
TAIL = (50, 95, 99)
#: Settings of an arm that go with the size of its pool.
SIZES = ("size", "processes", "threads", "executor", "min_size")


def _about(runs: list[Run]) -> Row:
    first = runs[0]
    return {
        **{key: first.record[key] for key in ("workload", "arm", "limits")},
        "client": first.client,
        "pool_size": first.size * first.processes,
        "runs": len(runs),
        "requests": sum(len(run.done) for run in runs),
    }


def _by_run(runs: list[Run], values: list[Row]) -> list[Row]:
    """Return what a comparison by run needs."""
    return [
        {"repeat": int(run.record["repeat"]), "block": int(run.record["block"]), **value}
        for run, value in zip(runs, values, strict=True)
    ]


def took_ns(rows: Rows) -> int | None:
    """Return the time from the first arrival to the end of the last request that ended ok; None where none did."""
    done = rows.where(rows.ok)
    return int(done.end_ns.max() - rows.scheduled_ns.min()) if len(done) else None


def _timed(runs: list[Run]) -> tuple[list[Run], list[int]]:
    """Return the runs that have a time, and their times."""
    found = [(run, took) for run in runs if (took := took_ns(run.rows)) is not None]
    return [run for run, _ in found], [took for _, took in found]


def ceiling(conditions: list[list[Run]]) -> list[Row]:
    """
    Return for each arm how long a batch took, beside n x S1 / P, with n the requests that ended ok.

    S1 is the mean hold of the same client on one connection, where queries never share the server. Where that was
    measured with several arms of a client, it is that of the arm which differs in nothing but size, else none.
    """
    rows = [_batch(runs) for runs in conditions]
    clients.label(rows, "workload", "pool_size")
    for row in rows:
        alone = _alone(row, rows)
        s1 = None if alone is None else alone["hold_mean_ns"]
        theory = None if s1 is None else row["completed"] * s1 / row["pool_size"]
        row |= {"s1_ns": s1, "s1_arm": alone and alone["arm"], "theory_ns": theory}
        row["ratio"] = row["took_mean_ns"] / theory if theory else None
    rows.sort(key=lambda r: (r["workload"], r["pool_size"], r["client"], r["arm"]))
    return [{key: value for key, value in row.items() if key != "apart_from_size"} for row in rows]


def _alone(row: Row, rows: list[Row]) -> Row | None:
    """Return the row of the same client on one connection that S1 is taken from."""
    mine = [r for r in rows if r["pool_size"] == 1 and all(r[k] == row[k] for k in ("workload", "client"))]
    alike = [r for r in mine if r["apart_from_size"] == row["apart_from_size"]]
    found = alike if len(mine) > 1 else mine
    return found[0] if len(found) == 1 else None


def _batch(runs: list[Run]) -> Row:
    timed, took = _timed(runs)
    return {
        **_about(runs),
        "batch": len(runs[0].rows),
        "completed": measured.mean([int(run.rows.ok.sum()) for run in runs]),
        "took_mean_ns": measured.mean(took),
        "took_min_ns": min(took, default=None),
        "took_max_ns": max(took, default=None),
        "hold_mean_ns": measured.pooled_mean([_held_ns(run) for run in runs]),
        "threads": runs[0].record["generator"].get("threads_peak") or runs[0].record["generator"].get("executor"),
        "apart_from_size": {key: value for key, value in runs[0].arm.items() if key not in SIZES},
        "by_run": _by_run(timed, [{"took_ns": value} for value in took]),
        "zero": zero_points(runs),
    }


def _held_ns(run: Run) -> Ints:
    """Return how long each request that ended ok kept its connection from others."""
    mine = run.rows.ok & (run.rows.acquired_ns != ABSENT)
    held: Ints = (in_use.freed_ns(run.rows) - run.rows.acquired_ns)[mine]
    return held


def sequence(runs: list[Run]) -> Row:
    """
    Return what one operation after another costs: its round trip, and with all that its caller waits for.

    The caller asks at the scheduled moment. From its start on, an operation of an executor would look as cheap as a
    direct call: the way to the thread lies before it.
    """
    done = [run.done.where(run.done.acquired_ns != ABSENT) for run in runs]
    trips = [rows.result_ns - rows.acquired_ns for rows in done]
    whole = [rows.released_ns - rows.scheduled_ns for rows in done]
    query: Row = next((step["query"] for step in runs[0].steps if "query" in step), {})
    return {
        **_about(runs),
        "sql": query.get("sql", ""),
        "trip_mean_ns": measured.pooled_mean(trips),
        "trip_p50": pooled(trips, 0.5),
        "whole_mean_ns": measured.pooled_mean(whole),
        "whole_p50": pooled(whole, 0.5),
        "client_cpu_s": measured.mean([run.cpu_per_request_s("generator") for run in runs]),
        "by_run": _by_run(
            runs, [{"whole_ns": _mean(w), "trip_ns": _mean(t)} for w, t in zip(whole, trips, strict=True)]
        ),
    }


def against_threads(rows: list[Row]) -> list[Row]:
    """Return the times of one pool size relative to plain threads (the first arm with them), the threads first."""
    found = []
    for mine in clients.by_workload(rows).values():
        base: Row = next((row for row in mine if row["client"] == THREADS), {})
        took = base.get("took_mean_ns")
        found += [
            {
                **{key: value for key, value in row.items() if key != "zero"},
                "relative": row["took_mean_ns"] / took if took else None,
                "base": base.get("arm"),
            }
            for row in sorted(mine, key=lambda r: (r["client"] != THREADS, r["client"], r is not base))
        ]
    return found


def waits(runs: list[Run]) -> Row:
    """Return what many waits at once take: time, resident memory that they added, and what Python counted of it."""
    timed, took = _timed(runs)
    ready = [run.record["generator"].get("prepare_ns") for run in runs]
    prepared = [run.record["generator"].get("prepare_ns") for run in timed]
    whole = [t + r for t, r in zip(took, prepared, strict=True) if r is not None]
    found = [_memory(run) for run in runs]
    asked = next((step["wait"]["ms"] for step in runs[0].steps if "wait" in step), None)
    return {
        **_about(runs),
        "batch": len(runs[0].rows),
        "wait_ms": asked,
        "traced": bool(runs[0].workload.get("trace_memory")),
        "took_mean_ns": measured.mean(took),
        "took_min_ns": min(took, default=None),
        "took_max_ns": max(took, default=None),
        "prepare_ns": measured.mean(ready),
        "whole_min_ns": min(whole, default=None),
        "whole_max_ns": max(whole, default=None),
        "added_rss_bytes": measured.mean([_added(memory) for memory in found]),
        "traced_peak_bytes": measured.mean([memory.get("traced_peak_bytes") for memory in found]),
        "threads": runs[0].record["generator"].get("threads"),
        "by_run": _by_run(timed, [{"took_ns": value} for value in took]),
    }


def _memory(run: Run) -> Row:
    """Return the generator's readings of its memory; none where they are no single ones, as older runs have them."""
    found = run.record["generator"].get("memory")
    return found if isinstance(found, dict) else {}


def _added(memory: Row) -> float | None:
    """Return the peak of resident memory less what was resident before the requests (and threads) were made."""
    peak, before = memory.get("peak_rss_bytes"), memory.get("rss_before_requests_bytes")
    return None if peak is None or before is None else float(peak - before)


def beside(runs: list[Run]) -> Row:
    """Return the times of requests beside computing, counted from the scheduled and from the started moment."""
    compute: Row = next((step["compute"] for step in runs[0].steps if "compute" in step), {})
    return {
        **_about(runs),
        "compute": compute,
        "compute_in": runs[0].arm.get("compute_in", "caller"),
        "threads": runs[0].record["generator"].get("threads"),
        "statuses": sorted({str(run.record["status"]) for run in runs}),
        "zero": zero_points(runs),
        "by_run": _by_run(runs, [_tail(_since(run.done, "scheduled")) for run in runs]),
    }


def zero_points(runs: list[Run]) -> Row:
    """Return p50, p95, p99 and maximum of the same requests, counted from either moment."""
    return {moment: _pooled([_since(run.done, moment) for run in runs]) for moment in ("scheduled", "started")}


def _pooled(values: list[Ints]) -> Row:
    most = max((int(v.max()) for v in values if len(v)), default=None)
    return {**{f"p{q}": pooled(values, q / 100) for q in TAIL}, "max_ns": most}


def _since(done: Rows, moment: str) -> Ints:
    start = done.scheduled_ns if moment == "scheduled" else done.started_ns
    took: Ints = (done.end_ns - start)[done.end_ns != ABSENT]
    return took


def _tail(values: Ints) -> Row:
    """Return a run's percentiles, None where their support is too weak for a verdict."""
    return {f"p{q}_ns": plain_ns(pooled([values], q / 100)) for q in TAIL}


def _mean(values: Ints) -> float | None:
    return float(values.mean()) if len(values) else None
