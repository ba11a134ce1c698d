"""The execution-models analysis on made-up stamps, for which every answer is known."""

from pathlib import Path

import numpy as np
import pytest
from support.simulated import MS, Row, context
from support.simulated_studies import CLIENTS, batch, beside, loop, wait

from poollab.stats.analyses import execution_models


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
