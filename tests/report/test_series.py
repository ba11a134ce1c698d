"""series.json: what the figures draw is what the rows say."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from fake_results import write
from fake_study import Fake

from poollab.stats import series, timelines


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Small results in two blocks."""
    return write(tmp_path_factory.mktemp("series") / "r", Fake(window_s=4, blocks=2))


@pytest.fixture(scope="module")
def found(folder):
    """The series of those results."""
    return json.loads((folder / "series.json").read_text("utf-8"))


def rows_of(folder, **where):
    """Return the raw requests of a condition, as plain dictionaries."""
    every = pq.read_table(folder / "requests.parquet").to_pylist()
    return [r for r in every if all(r[k] == v for k, v in where.items())]


def test_slowest_requests_are_those_beyond_the_p99(found, folder):
    """Their mean intervals are those of the slowest 1 % counted by hand, and add up to their overall mean."""
    rows = rows_of(folder, workload="light-uniform", arm="pool-20")
    rows.sort(key=lambda r: r["released_ns"] - r["scheduled_ns"])
    last = rows[-(len(rows) // 100) :]
    mine = next(c for c in found["conditions"] if (c["workload"], c["arm"]) == ("light-uniform", "pool-20"))
    means = mine["slowest"]["means_ns"]
    assert mine["slowest"]["requests"] == len(last) == 24
    assert means["overall"] == pytest.approx(np.mean([r["released_ns"] - r["scheduled_ns"] for r in last]))
    assert means["acquisition_wait"] == pytest.approx(np.mean([r["acquired_ns"] - r["started_ns"] for r in last]))
    assert sum(v for k, v in means.items() if k != "overall" and v is not None) == pytest.approx(means["overall"])
    assert means["before"] is None


def test_spectrum_ends_where_the_data_end(found, folder):
    """A run of 160 requests is drawn up to the last share with a request beyond it, each by nearest rank."""
    points = found["runs"]["heavy-bursts.pool-5.r1"]
    rows = rows_of(folder, cell="heavy-bursts.pool-5.r1")
    times = sorted(r["released_ns"] - r["scheduled_ns"] for r in rows)
    assert len(times) == 160
    assert [p[0] for p in points] == [s for s in series.GRID if s <= 0.993]
    for share, value, beyond in points:
        assert value == times[len(times) - beyond - 1]
        assert beyond == len(times) - int(np.ceil(round(share * len(times), 9)))


def test_delivered_load_counts_every_request_once(found):
    """The bins hold as many requests as were scheduled in three runs, and all were completed but the last of each."""
    mine = next(c for c in found["conditions"] if (c["workload"], c["arm"]) == ("heavy-uniform", "pool-5"))
    assert sum(mine["delivered"]["offered"]) == 3 * 160
    assert 3 * 159 <= sum(mine["delivered"]["completed"]) <= 3 * 160
    assert mine["delivered"]["runs"] == 3


def test_timeline_shows_the_median_runs_of_the_smallest_and_the_largest_pool(found, folder):
    """The rule picks the workload that waits most, and of three runs the one with the middle p99."""
    assert [(t["workload"], t["pool_size"]) for t in found["timelines"]] == [("heavy-bursts", 5), ("heavy-bursts", 100)]
    runs = pq.read_table(folder / "runs.parquet").to_pylist()
    for line in found["timelines"]:
        mine = sorted(r["overall_p99_ns"] for r in runs if (r["workload"], r["arm"]) == (line["workload"], line["arm"]))
        assert line["overall_p99_ns"] == mine[1]


def _freed(rows):
    """Return when each row's connection was free again: a connection that is passed on is no longer the first's."""
    taken = {}
    for row in rows:
        taken.setdefault(row["connection"], []).append(row["acquired_ns"])
    return [
        min([row["released_ns"], *(at for at in taken[row["connection"]] if at > row["acquired_ns"])]) for row in rows
    ]


def test_levels_are_those_of_the_stamps(found, folder):
    """The largest number in use in each part of the window is what a look at every microsecond finds."""
    line = found["timelines"][0]
    rows = rows_of(folder, cell=line["cell"])
    at = np.arange(0, 4_000_000_000, 100_000)
    use = sum(((at >= r["acquired_ns"]) & (at < end)).astype(int) for r, end in zip(rows, _freed(rows), strict=True))
    first, width = line["first_ns"], line["bin_ns"]
    for i, (mean, most) in enumerate(zip(line["in_use"]["mean"], line["in_use"]["max"], strict=True)):
        inside = (at >= first + i * width) & (at < first + (i + 1) * width)
        if inside.sum() > 100:
            assert use[inside].max() <= most <= use[inside].max() + 1
            assert mean == pytest.approx(use[inside].mean(), abs=0.05)
    assert max(line["in_use"]["max"]) <= line["pool_size"]


def test_warm_up_lies_before_zero(found):
    """The warm-up is part of the picture and ends before the first scheduled arrival."""
    line = found["timelines"][0]
    count = round(-line["first_ns"] / line["bin_ns"])
    assert line["first_ns"] <= -2e9
    assert max(line["in_use"]["max"][:count]) >= 1
    assert line["window_ns"] == 4e9


def test_of_an_even_number_the_lower_middle_is_shown():
    """Of four runs the second smallest p99 is the one that is shown, and a run that is not ok is none of them."""
    base = {"workload": "w", "limits": "", "arm": "a", "pool_size": 5, "acquisition_wait_mean_ns": 1.0}
    runs = [
        {**base, "cell": f"r{i}", "position": i, "overall_p99_ns": p99, "status": "ok" if p99 < 900 else "overloaded"}
        for i, p99 in enumerate([40, 10, 30, 20, 990])
    ]
    assert [run["cell"] for run in timelines.chosen(runs)] == ["r3"]
    assert timelines.chosen(runs[4:]) == []


def test_rows_of_many_row_groups_are_one_cell(folder, tmp_path):
    """A cell whose rows fall into several row groups comes out whole, and in the order of the file."""
    table = pq.read_table(folder / "requests.parquet")
    pq.write_table(table, tmp_path / "requests.parquet", row_group_size=37)
    found = {cell: len(rows) for cell, rows in series.by_cell(tmp_path / "requests.parquet")}
    assert list(found) == list(dict.fromkeys(table["cell"].to_pylist()))
    assert sum(found.values()) == table.num_rows
