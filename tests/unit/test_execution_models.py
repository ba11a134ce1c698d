"""The execution-models analysis on made-up stamps, for which every answer is known."""

from pathlib import Path

import numpy as np
import pytest
from support.simulated import MS, Row, context
from support.simulated_studies import CLIENTS, batch, beside, failing, loop, wait

from poollab.stats import execution_parts
from poollab.stats.analyses import execution_models
from poollab.stats.rows import ABSENT


def words(found: Row) -> dict[str, str]:
    """Return the words by subject."""
    return {v["subject"]: v["word"] for v in found["verdicts"]}


REPEATS = (1, 2, 3)


@pytest.fixture(scope="module")
def ceiling(tmp_path_factory: pytest.TempPathFactory) -> Row:
    """Return the analysis of four clients that follow the pool up to 16 and no longer at 32."""
    runs = [
        batch(client, size, r, 1 + 0.01 * i + (0.5 if size == 32 else 0))
        for i, client in enumerate(CLIENTS)
        for size in (1, 8, 16, 32)
        for r in REPEATS
    ]
    return execution_models.build(context(tmp_path_factory.mktemp("models"), runs))


def test_time_of_a_batch_beside_the_theory(ceiling: Row) -> None:
    """600 queries of 6 ms on 8 connections take 0.45 s, which is n x S1 / P."""
    row = next(r for r in ceiling["ceiling"] if (r["client"], r["pool_size"]) == ("psycopg-threads", 8))
    assert row["took_mean_ns"] == 450 * MS
    assert row["theory_ns"] == pytest.approx(450 * MS)
    assert row["ratio"] == pytest.approx(1)


def test_pool_ceiling_is_judged(ceiling: Row) -> None:
    """Clients that coincide and follow the pool make the statement hold, and so does the end of it at 32."""
    found = words(ceiling)
    assert found["The pool sets the ceiling, not the execution model (pools up to 16)"] == "holds here"
    assert found["At a pool of 32 the time stops dividing by the pool"] == "holds here"
    assert found["A synchronous driver in an executor is neither slower nor faster than threads"] == "holds here"


def test_four_rows_relative_to_threads(ceiling: Row) -> None:
    """The comparison of the executor has one row for each client, threads first and at 1."""
    found = ceiling["executor"]
    assert found["size"] == 8
    assert [row["client"] for row in found["rows"]] == [
        "psycopg-threads",
        "asyncpg",
        "psycopg-async",
        "psycopg-executor",
    ]
    assert [row["relative"] for row in found["rows"]] == [1, *(pytest.approx(v, abs=1e-3) for v in (1.03, 1.02, 1.01))]


def test_one_client_that_is_slower_breaks_the_ceiling(tmp_path: Path) -> None:
    """A client that needs half as long again on the same pool is no coincidence."""
    speeds = (("psycopg-threads", 1.0), ("asyncpg", 1.5))
    runs = [batch(c, size, r, f) for c, f in speeds for size in (1, 8) for r in (1, 2)]
    found = words(execution_models.build(context(tmp_path, runs)))
    assert found["The pool sets the ceiling, not the execution model (pools up to 16)"] == "does not hold here"


def test_other_clients_are_no_part_of_what_an_executor_costs(tmp_path: Path) -> None:
    """A slow asyncpg breaks the common ceiling, and says nothing of a synchronous driver in an executor."""
    speeds = (("psycopg-threads", 1.0), ("psycopg-executor", 1.02), ("asyncpg", 1.5))
    runs = [batch(c, size, r, f) for c, f in speeds for size in (1, 8) for r in (1, 2)]
    made = execution_models.build(context(tmp_path, runs))
    assert words(made)["A synchronous driver in an executor is neither slower nor faster than threads"] == "holds here"
    assert "with asyncpg, the fastest and the slowest of 3 clients" in made["headline"]


def test_waits_whose_runs_overlap_decide_nothing(tmp_path: Path) -> None:
    """Where the slowest coroutines are slower than the fastest threads, and not all of them, it cannot be told."""
    memory = {"rss_before_requests_bytes": 30 << 20, "peak_rss_bytes": 40 << 20}
    more = {**memory, "peak_rss_bytes": 80 << 20}
    runs = [wait("psycopg-threads", extra, more, r) for r, extra in ((1, 20), (2, 400))]
    runs += [wait("psycopg-async", extra, memory, r) for r, extra in ((1, 20), (2, 200))]
    found = execution_models.build(context(tmp_path, runs))
    assert words(found)["4,000 waits at once are cheaper with coroutines"] == "cannot tell"


def test_runs_that_scatter_as_much_as_clients_decide_nothing(tmp_path: Path) -> None:
    """Where one client's own runs differ as much as the clients do, it cannot be told whether they coincide."""
    runs = [batch("psycopg-threads", size, r) for size in (1, 8) for r in (1, 2)]
    runs += [batch("asyncpg", size, r, f) for size in (1, 8) for r, f in ((1, 1.0), (2, 1.5))]
    found = words(execution_models.build(context(tmp_path, runs)))
    assert found["The pool sets the ceiling, not the execution model (pools up to 16)"] == "cannot tell"


@pytest.mark.parametrize(("trip", "said"), [(70_000, "holds here"), (40_000, "does not hold here")])
def test_price_of_one_operation(tmp_path: Path, trip: int, said: str) -> None:
    """Async against sync is decided by pairs of runs, in microseconds, in either direction."""
    runs = [loop(client, t, r) for client, t in (("psycopg-threads", 50_000), ("psycopg-async", trip)) for r in REPEATS]
    found = execution_models.build(context(tmp_path, runs))
    assert words(found)["Async pays more per operation (select-1)"] == said
    row = next(r for r in found["sequence"] if r["client"] == "psycopg-async")
    assert row["trip_mean_ns"] == trip + 200
    assert row["whole_mean_ns"] == trip + 200 + trip // 10


def test_many_waits(tmp_path: Path) -> None:
    """Time, resident memory and Python's count stand side by side, and a hidden cost is found."""
    heavy = {"rss_before_requests_bytes": 30 << 20, "peak_rss_bytes": 91 << 20, "traced_peak_bytes": None}
    light = {"rss_before_requests_bytes": 30 << 20, "peak_rss_bytes": 34 << 20, "traced_peak_bytes": None}
    runs = [
        run
        for r in REPEATS
        for run in (
            wait("psycopg-threads", 300, heavy, r),
            wait("psycopg-async", 20, light, r),
            wait("psycopg-threads", 900, {**heavy, "traced_peak_bytes": 11 << 20}, r, traced=True),
            wait("psycopg-async", 90, {**light, "traced_peak_bytes": 4 << 20}, r, traced=True),
        )
    ]
    found = execution_models.build(context(tmp_path, runs))
    row = next(r for r in found["waits"] if r["client"] == "psycopg-threads" and not r["traced"])
    assert (row["took_mean_ns"], row["added_rss_bytes"], row["batch"]) == (500 * MS, 61 << 20, 4000)
    assert words(found) == {
        "4,000 waits at once are cheaper with coroutines": "holds here",
        "tracemalloc hides most of what threads cost": "holds here",
    }


def test_memory_that_was_not_measured_is_no_answer(tmp_path: Path) -> None:
    """Without a reading there is no verdict on memory, and no zero."""
    runs = [wait(c, x, {}, r) for c, x in (("psycopg-threads", 300), ("psycopg-async", 20)) for r in REPEATS]
    found = execution_models.build(context(tmp_path, runs))
    assert {r["added_rss_bytes"] for r in found["waits"]} == {None}
    assert words(found)["4,000 waits at once are cheaper with coroutines"] == "cannot tell"


@pytest.fixture(scope="module")
def neighbours(tmp_path_factory: pytest.TempPathFactory) -> Row:
    """Return requests beside computing: late in coroutines, slow in threads, and fine with processes."""
    late = np.where(np.arange(240) % 5 == 0, 150 * MS, 0)
    runs = [
        run
        for r in REPEATS
        for run in (
            beside("psycopg-async", r, late=late, trip=1 * MS),
            beside("psycopg-threads", r, late=0, trip=np.where(late > 0, 190 * MS, 2 * MS)),
            beside("psycopg-async", r, late=0, trip=1 * MS, compute_in="processes"),
        )
    ]
    return execution_models.build(context(tmp_path_factory.mktemp("beside"), runs))


def test_computing_beside_queries(neighbours: Row) -> None:
    """Runs that fell behind are used, as that is the question; threads are no better and processes are the cure."""
    found = words(neighbours)
    assert len(neighbours["beside"]) == 3
    assert found["Threads suffer no less than coroutines (one-block)"] == "holds here"
    assert found["Moving the computing into processes is the cure (one-block, psycopg-async)"] == "holds here"


def test_weak_percentiles_take_no_part(neighbours: Row) -> None:
    """The p99 of 720 requests has 7 beyond: it is in the rows with its support, and in no verdict."""
    row = neighbours["beside"][0]
    assert row["zero"]["scheduled"]["p99"]["beyond"] == 7
    assert not any("p99" in v["sentence"] for v in neighbours["verdicts"])


def test_zero_point_that_changes_no_ranking(neighbours: Row) -> None:
    """Coroutines look better still from the started moment, so the ranking does not turn around."""
    found = words(neighbours)
    assert found["Counting from the started moment turns the ranking around (one-block)"] == "does not hold here"


def test_zero_point_that_turns_the_ranking_around(tmp_path: Path) -> None:
    """The same rows: coroutines are worse from the scheduled moment and better from the started one, and it is said."""
    late = np.where(np.arange(240) % 5 == 0, 150 * MS, 0)
    runs = [
        run
        for r in REPEATS
        for run in (
            beside("psycopg-async", r, late=late, trip=1 * MS),
            beside("psycopg-threads", r, late=0, trip=np.where(late > 0, 100 * MS, 2 * MS)),
        )
    ]
    made = execution_models.build(context(tmp_path, runs))
    subject = "Counting from the started moment turns the ranking around (one-block)"
    assert words(made)[subject] == "holds here"
    sentence = next(v["sentence"] for v in made["verdicts"] if v["subject"] == subject)
    assert "Turned around: " in sentence
    assert sentence.index("from the scheduled moment psycopg-threads") < sentence.index(
        "from the started moment psycopg-async"
    )


def test_a_ranking_that_turns_in_some_runs_only_is_not_decided(tmp_path: Path) -> None:
    """Pooled values that change places while runs of both overlap are said, and leave the statement open."""
    late = np.where(np.arange(240) % 5 == 0, 150 * MS, 0)
    runs = [
        run
        for r in REPEATS
        for run in (
            beside("psycopg-async", r, late=late if r < 3 else 0, trip=1 * MS),
            beside("psycopg-threads", r, late=0, trip=np.where(late > 0, 100 * MS, 2 * MS)),
        )
    ]
    made = execution_models.build(context(tmp_path, runs))
    subject = "Counting from the started moment turns the ranking around (one-block)"
    assert words(made)[subject] == "cannot tell"
    assert any("Turned around in the pooled values only" in v["sentence"] for v in made["verdicts"])


def test_nothing_to_check_is_said_and_not_counted(tmp_path: Path) -> None:
    """One client on one pool allows no statement, and the headline does not read `0 of 0`."""
    found = execution_models.build(context(tmp_path, [batch("asyncpg", 8, 1)]))
    assert (found["verdicts"], found["headline"]) == ([], "No statement of the write-up could be checked.")


def test_the_way_to_a_thread_is_part_of_an_operation(tmp_path: Path) -> None:
    """An operation counts from the moment at which its caller asks, though it starts in a thread only later."""
    runs = [loop("psycopg-executor", 50_000, r, late=30_000) for r in REPEATS]
    (row,) = execution_models.build(context(tmp_path, runs))["sequence"]
    assert row["trip_mean_ns"] == 50_200
    assert row["whole_mean_ns"] == 30_000 + 50_200 + 5_000


def test_an_operation_without_a_connection_has_no_round_trip(tmp_path: Path) -> None:
    """A request that took no connection leaves no number behind, and no zero."""
    run = loop("asyncpg", 50_000, 1)
    for column in (run.rows.acquired_ns, run.rows.result_ns, run.rows.released_ns):
        run.rows.ended_ns[:] = run.rows.scheduled_ns + 1000
        column[:] = ABSENT
    (row,) = execution_models.build(context(tmp_path, [run]))["sequence"]
    assert (row["trip_mean_ns"], row["whole_mean_ns"], row["by_run"][0]["whole_ns"]) == (None, None, None)


def test_conditions_without_a_run_that_counts_are_listed(tmp_path: Path) -> None:
    """A lost condition is named with its question, and the comparison that moves to another pool says from where."""
    runs = [batch(c, size, r) for c in CLIENTS for size in (1, 4, 8) for r in (1, 2)]
    for run in runs:
        run.status = "host-busy" if run.arm == "asyncpg-8" else "ok"
    found = execution_models.build(context(tmp_path, runs))
    assert found["missing"] == [
        {
            "question": "ceiling",
            "workload": "pool-ceiling",
            "arm": "asyncpg-8",
            "limits": "",
            "ended": ["host-busy", "host-busy"],
        }
    ]
    assert (found["executor"]["size"], found["executor"]["asked_size"]) == (4, 8)


def test_requests_that_failed_are_no_part_of_the_theory(tmp_path: Path) -> None:
    """Of 600 requests 540 ended ok, and it is these that the connections had to do."""
    runs = [failing(batch("asyncpg", size, 1), 60) for size in (1, 8)]
    row = execution_models.build(context(tmp_path, runs))["ceiling"][-1]
    assert (row["batch"], row["completed"]) == (600, 540)
    assert row["theory_ns"] == pytest.approx(540 * 6 * MS / 8)
    assert row["ratio"] == pytest.approx(1, rel=0.01)


def test_a_run_without_a_request_that_ended_ok_counts_for_nothing(tmp_path: Path) -> None:
    """Where a study allows any share of errors, such a run has no time, and its condition is missing."""
    none = failing(batch("asyncpg", 8, 1), 600)
    assert execution_parts.took_ns(none.rows) is None
    found = execution_models.build(context(tmp_path, [none, batch("asyncpg", 1, 1)]))
    assert [row["pool_size"] for row in found["ceiling"]] == [1]
    assert [(m["arm"], m["ended"]) for m in found["missing"]] == [("asyncpg-8", ["ok, no request ok"])]


@pytest.mark.parametrize(
    "memory",
    [
        None,
        {"rss_before_requests_bytes": None, "peak_rss_bytes": 9, "traced_peak_bytes": None},
        [{"rss_before_requests_bytes": 1, "peak_rss_bytes": 9}],
    ],
)
def test_memory_that_is_not_known_is_none(tmp_path: Path, memory: object) -> None:
    """A reading that is missing, or that is no single one, is no number."""
    (row,) = execution_models.build(context(tmp_path, [wait("asyncpg", 20, memory, 1)]))["waits"]
    assert (row["added_rss_bytes"], row["traced_peak_bytes"]) == (None, None)


def test_two_arms_of_a_client_are_two_rows_and_two_statements(tmp_path: Path) -> None:
    """No arm takes the place of another of its client: each has its label, and those with pools of one size pair up."""
    both = ("psycopg-threads", "psycopg-async")
    runs = [wait(c, 20, {}, r, size=size) for c in both for size in (4, 8) for r in (1, 2)]
    runs += [loop(c, 50_000, r, arm=f"{c}-{a}") for c in both for a in "ab" for r in (1, 2)]
    found = execution_models.build(context(tmp_path, runs))
    labels = ["psycopg-threads-4", "psycopg-threads-8", "psycopg-async-4", "psycopg-async-8"]
    assert [row["label"] for row in found["waits"]] == labels
    assert len({row["label"] for row in found["sequence"]}) == 4
    cheaper = [s for s in words(found) if s.startswith("4,000 waits at once")]
    assert cheaper == [
        f"4,000 waits at once are cheaper with coroutines (psycopg-threads-{n}, psycopg-async-{n})" for n in (4, 8)
    ]
    assert sum(s.startswith("Async pays more per operation (select-1, ") for s in words(found)) == 4


def test_an_executor_is_set_against_every_arm_with_threads(tmp_path: Path) -> None:
    """Two arms of threads on one pool are two statements, and the first is the one that others are relative to."""
    runs = [batch("psycopg-threads", 8, r, factor, arm=arm) for arm, factor in (("a", 1.0), ("b", 1.5)) for r in (1, 2)]
    runs += [batch("psycopg-executor", 8, r) for r in (1, 2)]
    found = execution_models.build(context(tmp_path, runs))
    assert [(row["label"], row["base"]) for row in found["executor"]["rows"]] == [
        ("a", "a"),
        ("b", "a"),
        ("psycopg-executor", "a"),
    ]
    subject = "A synchronous driver in an executor is neither slower nor faster than threads"
    found_words = words(found)
    assert found_words[f"{subject} (a, psycopg-executor-8)"] == "holds here"
    assert found_words[f"{subject} (b, psycopg-executor-8)"] == "does not hold here"


def test_s1_is_that_of_the_arm_alike(tmp_path: Path) -> None:
    """Where two arms of a client have one connection, each pool takes the S1 of the one that differs in size alone."""
    runs = [
        batch("asyncpg", size, 1, factor, arm=f"{arm}-{size}", reset=arm == "reset")
        for arm, factor in (("plain", 1.0), ("reset", 2.0))
        for size in (1, 8)
    ]
    runs.append(batch("asyncpg", 8, 1, 3.0, arm="other-8", reset="both"))
    rows = {row["arm"]: row for row in execution_models.build(context(tmp_path, runs))["ceiling"]}
    assert (rows["plain-8"]["s1_arm"], rows["reset-8"]["s1_arm"]) == ("plain-1", "reset-1")
    assert rows["plain-8"]["ratio"] == rows["reset-8"]["ratio"] == pytest.approx(1)
    assert (rows["other-8"]["s1_ns"], rows["other-8"]["ratio"]) == (None, None)


def test_computing_beside_queries_of_two_arms(tmp_path: Path) -> None:
    """Two arms of a client beside computing are compared each with its own counterpart."""
    runs = [
        beside(client, r, late=0, trip=1 * MS, size=size, compute_in=where)
        for client in ("psycopg-threads", "psycopg-async")
        for size in (4, 8)
        for where in ("caller", "processes")
        for r in REPEATS
    ]
    found = words(execution_models.build(context(tmp_path, runs)))
    suffer = [s for s in found if s.startswith("Threads suffer no less")]
    assert suffer == [
        f"Threads suffer no less than coroutines (one-block, psycopg-async-{n}, psycopg-threads-{n})" for n in (4, 8)
    ]
    assert sum(s.startswith("Moving the computing into processes is the cure (one-block, ") for s in found) == 4
