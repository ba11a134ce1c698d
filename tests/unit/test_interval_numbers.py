"""Interval means and counts from rows: they add up, nothing vanishes, and no nanosecond is lost."""

import csv
import io
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.columns import MS, Ints, every, fail, served

from poollab.data import store
from poollab.data.schemas import INTERVALS, REQUESTS, RUNS, STATUSES
from poollab.load.rows import ACQUIRE_TIMEOUT, ERROR, OK, QUERY_TIMEOUT, UNFINISHED
from poollab.quantiles import nearest_rank
from poollab.run import tables
from poollab.stats import collect, requests
from poollab.stats.requests import Sample
from poollab.stats.rows import Rows, overall, parts

GAPS = st.integers(0, 10**12)
ROWS = st.lists(st.tuples(GAPS, GAPS, GAPS, GAPS, GAPS), min_size=1, max_size=60)


def _columns(rows: list[tuple[int, ...]]) -> dict[str, Ints]:
    part = np.array(rows, dtype=np.int64).T
    return served(np.sort(part[0]), late=part[1], wait=part[2], trip=part[3], release=part[4])


def _rows(columns: dict[str, Ints]) -> Rows:
    return Rows.of(tables.requests(columns, [100, 101, 102], {}))


def _numbers(columns: dict[str, Ints], size: int = 5) -> dict[str, Any]:
    return requests.numbers(Sample.of(_rows(columns), size))


@given(ROWS)
def test_intervals_sum_to_the_overall_time(rows: list[tuple[int, ...]]) -> None:
    """For every request the four intervals are exactly its overall time, and so are their means."""
    columns = _columns(rows)
    found = parts(_rows(columns))
    assert (sum(found[name] for name, _, _ in INTERVALS) == overall(_rows(columns))).all()
    values = _numbers(columns)
    means = sum(values[f"{name}_mean_ns"] for name, _, _ in INTERVALS)
    assert means == pytest.approx(values["overall_mean_ns"], rel=1e-12, abs=1e-6)


@given(ROWS, st.data())
def test_each_request_has_exactly_one_status(rows: list[tuple[int, ...]], data: st.DataObject) -> None:
    """However requests end, the counts of all statuses add up to what was scheduled."""
    columns = _columns(rows)
    drawn = data.draw(st.lists(st.integers(0, 4), min_size=len(rows), max_size=len(rows)))
    columns["status"][:] = drawn
    values = _numbers(columns)
    assert values["requests"] == len(rows)
    assert [values[f"requests_{s}"] for s in STATUSES] == [drawn.count(number) for number in range(5)]


def test_numbers_by_hand() -> None:
    """Means and percentiles of four requests are what one gets with pencil and paper."""
    values = _numbers(
        served(every(10, 4), late=[1, 2, 3, 4], wait=[0, 0, 10, 10], trip=[100, 200, 300, 400], release=5)
    )
    assert [values[f"{name}_mean_ns"] for name, _, _ in INTERVALS] == [2.5, 5, 250, 5]
    assert values["overall_mean_ns"] == 262.5
    assert (values["overall_p50_ns"], values["overall_p95_ns"], values["overall_p99_ns"]) == (207, 419, 419)
    assert (values["overall_beyond_p50"], values["overall_beyond_p99"], values["overall_max_ns"]) == (2, 0, 419)
    assert (values["scheduling_delay_p99_ns"], values["scheduling_delay_max_ns"]) == (4, 4)


def test_failed_requests_stay_out_of_the_means() -> None:
    """A time-out is counted and its lateness too, but its missing stamps shorten no mean."""
    columns = served(every(10 * MS, 100), late=np.where(np.arange(100) == 99, 7 * MS, 1000))
    fail(columns, [99], ACQUIRE_TIMEOUT, "acquired", "result", "released", "backend")
    values = _numbers(columns)
    assert (values["requests_ok"], values["requests_acquire_timeout"]) == (99, 1)
    assert values["overall_mean_ns"] == MS + 2000
    assert values["scheduling_delay_max_ns"] == 7 * MS


def test_a_run_without_a_single_good_request_has_no_numbers() -> None:
    """Where nothing ended ok there is no mean and no percentile, not a zero."""
    columns = served(every(10 * MS, 5))
    fail(columns, slice(None), UNFINISHED, "started", "acquired", "result", "released", "backend")
    values = _numbers(columns)
    assert values["requests_unfinished"] == 5
    for name in ("overall_mean_ns", "overall_p99_ns", "overall_max_ns", "scheduling_delay_p99_ns"):
        assert values[name] is None


def test_missing_stamps_round_no_other_value(tmp_path: Any) -> None:
    """A request without a result leaves every other stamp exact to 1 ns through file and frame, beyond 2**53 too."""
    start = 2**53 + 1
    columns = served(start + every(2, 50), late=1, wait=1, trip=1, release=1)
    fail(columns, [3], QUERY_TIMEOUT, "result", "released")
    fail(columns, [4], ERROR, "acquired", "result", "released", "backend")
    table = tables.requests(columns, [100, 101, 102], {"4": "TooManyConnectionsError: sorry"})
    store.write_parquet(tmp_path / "requests.parquet", table, study="s")
    frame = collect.frame(store.read_parquet(tmp_path / "requests.parquet", REQUESTS, study="s"))
    for name in ("scheduled", "started", "acquired", "result", "released"):
        column = frame[f"{name}_ns"]
        assert column.dtype == pd.Int64Dtype()
        kept = [i for i in range(50) if not pd.isna(column[i])]
        assert [int(column[i]) for i in kept] == [int(columns[name][i]) for i in kept]
    assert frame["result_ns"].isna().sum() == 2
    assert frame["acquired_ns"].isna().sum() == 1
    assert frame["error_class"].dropna().tolist() == ["TooManyConnectionsError: sorry"]
    assert frame["status"].value_counts().to_dict() == {"ok": 48, "query_timeout": 1, "error": 1}
    assert frame["connection"].dtype == pd.Int32Dtype()
    values = requests.numbers(Sample.of(Rows.of(table), 5))
    assert values["overall_p50_ns"] == 4
    assert nearest_rank(columns["released"][columns["status"] == OK], 1.0) == start + 98 + 4


def test_csv_holds_whole_nanoseconds() -> None:
    """In runs.csv a nanosecond is a whole number where another run lacks the value, and what is missing is empty."""
    full = {field.name: _value(field.type) for field in RUNS}
    lacking = {**full, "overall_p99_ns": None, "connections_used": None}
    text = collect._csv(collect._table([{**full, "overall_p99_ns": 2**53 + 1}, lacking], RUNS)).decode()
    one, two = csv.DictReader(io.StringIO(text))
    assert one["overall_p99_ns"] == str(2**53 + 1)
    assert (two["overall_p99_ns"], two["connections_used"]) == ("", "")
    assert one["connections_used"] == "1"


def _value(kind: pa.DataType) -> Any:
    if pa.types.is_timestamp(kind):
        return pd.Timestamp("2026-11-30T12:00:00Z")
    return "x" if pa.types.is_string(kind) else 1


def test_connections_are_numbered_and_their_uses_counted() -> None:
    """Connections carry the order of their establishment, strangers come after them, and each use counts up."""
    columns = served(every(10, 5))
    columns["backend"][:] = [102, 100, 555, 102, 100]
    frame = collect.frame(tables.requests(columns, [100, 101, 102], {}))
    assert frame["connection"].tolist() == [2, 0, 3, 2, 0]
    assert frame["connection_use"].tolist() == [1, 1, 1, 2, 2]


def test_uses_follow_the_order_of_acquisition() -> None:
    """A later request that got the connection first has the lower use number."""
    columns = served(every(10, 2), wait=np.array([100, 0]))
    columns["backend"][:] = 100
    assert collect.frame(tables.requests(columns, [100], {}))["connection_use"].tolist() == [2, 1]


def test_a_short_file_of_rows_is_refused(tmp_path: Any) -> None:
    """Rows that the generator did not write are missed and never made up."""
    np.zeros(9 * 9, dtype=np.int64).tofile(tmp_path / "measure.bin")
    with pytest.raises(Exception, match=r"measure\.bin holds 81 values where 90 are due"):
        tables.read_columns(tmp_path / "measure.bin", 10)
