"""What each run says of itself: Little's law and its residual, and the load that was delivered."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.simulator import MAIN, World, rows, run

from poollab.stats import asked, littles, stimulus
from poollab.stats.rows import ABSENT, Rows

MS = 1_000_000


def _every(gap_ms: float, count: int, took_ms: float = 1.0) -> Rows:
    at = (np.arange(count) * gap_ms * MS).astype(np.int64)
    done = at + int(took_ms * MS)
    return rows(at, at.copy(), at, done, done)


def test_law_holds_but_for_the_edge() -> None:
    """Ten requests of 50 ms, one every 100 ms: half a request inside on average, and nothing is left over."""
    found = littles.law(*littles.stage(_every(100, 10, 50), "whole"), 1000 * MS)
    assert (found["inside"], found["rate_per_s"], found["time_ns"]) == (0.5, 10.0, 50 * MS)
    assert (found["product"], found["residual"], found["edge"], found["mismatch"]) == (0.5, 0.0, 0.0, 0.0)


def test_who_is_inside_at_the_end_is_edge() -> None:
    """A request that is still inside when the window ends makes the law miss by its time inside, named as edge."""
    found = littles.law(np.array([0, 900 * MS]), np.array([100 * MS, 1200 * MS]), 1000 * MS)
    assert (found["inside"], found["product"]) == (pytest.approx(0.2), pytest.approx(0.1))
    assert (found["edge"], found["mismatch"]) == (pytest.approx(0.1), pytest.approx(0.0, abs=1e-12))


def test_stamps_that_do_not_fit_are_mismatch() -> None:
    """A request that ended before it began shows as mismatch and not as an edge."""
    found = littles.law(np.array([0, 500 * MS]), np.array([100 * MS, 400 * MS]), 1000 * MS)
    assert found["edge"] == 0.0
    assert abs(found["inside"] - 0.0) < 1e-12 or found["mismatch"] != 0.0
    late = littles.law(np.array([-500 * MS]), np.array([100 * MS]), 1000 * MS)
    assert late["mismatch"] == pytest.approx(-0.5)


def test_law_of_a_simulated_run() -> None:
    """In a simulated run with waiting the law holds for the whole, the waiting and the holding within rounding."""
    made = run(MAIN[2], 5, 1.0, World(), np.random.default_rng(1))
    found = littles.of_run(made, MAIN[2].window_s, 1_351_000_000, 1_479_000_000)
    for name in littles.STAGES:
        assert abs(found[name]["mismatch"]) < 1e-9
    assert found["whole"]["inside"] > found["waiting"]["inside"] > 0
    assert found["server_of_client"] == pytest.approx(0.913, abs=0.001)


def test_without_connection_only_the_whole_has_a_law() -> None:
    """Requests that take no connection have neither a wait nor a hold, and an unknown server gives no ratio."""
    never = np.full(10, ABSENT)
    made = replace(_every(100, 10), acquired_ns=never, result_ns=never, released_ns=never, ended_ns=np.arange(10))
    found = littles.of_run(made, 1.0, None, 0)
    assert "waiting" not in found
    assert found["server_of_client"] is None


UNIFORM = {"uniform": {"every_ms": 5.0, "rate_per_s": None}, "poisson": None}


def test_a_sound_load_has_no_faults() -> None:
    """As many requests as the study file asks for, at their times: nothing to say, and both ends were as late."""
    found = stimulus.of_run(_every(5, 200), UNIFORM, 1.0)
    assert (found["kind"], found["planned"], found["scheduled"], found["delivered"]) == ("uniform", 200.0, 200, 200)
    assert (found["gap_mean_ns"], found["gap_cv"], found["faults"]) == (5 * MS, 0.0, [])
    assert found["lateness_first_quarter_mean_ns"] == found["lateness_last_quarter_mean_ns"] == 0.0
    assert found["completed_in_window_per_s"] == found["offered_per_s"] == 200.0


def test_missing_early_and_wrong_counts_are_said() -> None:
    """A schedule with too few requests, one of them never started and one before its time, is told three times."""
    made = _every(5, 190)
    made.started_ns[7] = ABSENT
    made.started_ns[9] -= 1000
    faults = stimulus.of_run(made, UNIFORM, 1.0)["faults"]
    assert [text.split(" ", 1)[0] for text in faults] == ["1", "1", "190"]
    assert "the study file asks for 200" in faults[2]


def test_a_generator_that_tires_shows_in_the_last_quarter() -> None:
    """Lateness that grows over the window stands in the quarters' means."""
    made = _every(5, 200)
    made.started_ns[:] += np.arange(200) * 10_000
    found = stimulus.of_run(made, UNIFORM, 1.0)
    assert found["lateness_last_quarter_mean_ns"] > 5 * found["lateness_first_quarter_mean_ns"] > 0


@pytest.mark.parametrize(("draw", "sound"), [("exponential", True), ("even", False)])
def test_poisson_gaps_are_tested(draw: str, sound: bool) -> None:  # noqa: FBT001 - a table's column
    """Exponential gaps pass the Kolmogorov-Smirnov test; as many even ones fail it, though their count is right."""
    gaps = np.random.default_rng(3).exponential(5 * MS, 1999) if draw == "exponential" else np.full(1999, 5.0 * MS)
    at = np.concatenate([[0], np.cumsum(gaps)]).astype(np.int64)
    made = rows(at, at, at, at + MS, at + MS)
    found = stimulus.of_run(made, {"poisson": {"rate_per_s": 200.0}}, 10.0)
    assert (found["faults"] == []) is sound
    assert (found["ks_p"] > 0.001) is sound


@pytest.mark.parametrize(
    ("arrivals", "window_s", "want"),
    [
        ({"uniform": {"rate_per_s": 40}}, 3, 120),
        ({"bursts": {"size": 10, "rate_per_s": 40}}, 3.1, 130),
        ({"bursts": {"size": 10, "share_of_capacity": 0.5}}, 3, 300),
        ({"poisson": {"rate_per_s": 40}}, 3, 120),
        ({"batch": {"size": 500}}, 9, 500),
        ({"ramp": {"shape": "uniform", "from_per_s": 10, "to_per_s": 30}}, 10, 200),
        ({"steps": [{"for_s": 2, "poisson": {"rate_per_s": 5}}, {"for_s": 1, "uniform": {"every_ms": 100}}]}, 3, 20),
        ({"closed": {"workers": 4}}, 3, None),
    ],
)
def test_what_the_study_file_asks_for(arrivals: dict[str, Any], window_s: float, want: float | None) -> None:
    """The number of requests follows from the declaration alone; a capacity of 200 a second is what shares are of."""
    assert asked.count(arrivals, window_s, 200.0) == want
    if "share_of_capacity" in repr(arrivals):
        assert asked.count(arrivals, window_s, None) is None


def test_a_rate_that_changes_is_no_fault() -> None:
    """Poisson arrivals whose rate grows pass as a ramp and fail as a constant rate of the same mean."""
    rng = np.random.default_rng(5)
    due = np.cumsum(rng.exponential(1.0, 4000))
    seconds = (np.sqrt(100.0**2 + 2 * 60 * due) - 100) / 60
    at = (seconds[seconds < 10] * 1e9).astype(np.int64)
    made = rows(at, at, at, at + MS, at + MS)
    ramp = {"ramp": {"shape": "poisson", "from_per_s": 100.0, "to_per_s": 700.0}}
    assert stimulus.of_run(made, ramp, 10.0)["faults"] == []
    assert "Kolmogorov" in stimulus.of_run(made, {"poisson": {"rate_per_s": 400.0}}, 10.0)["faults"][-1]


def test_workers_in_a_loop_keep_their_number() -> None:
    """Four busy workers show as four in flight all along; a fifth, or idle ones, are faults."""
    at = np.sort(np.tile(np.arange(250) * 4 * MS, 4))
    made = rows(at, at, at, at + 4 * MS, at + 4 * MS)
    four = {"closed": {"workers": 4, "think_ms": 0.0}}
    found = stimulus.of_run(made, four, 1.0)
    assert (found["in_flight_min"], found["in_flight_max"], found["faults"]) == (4, 4, [])
    assert "of 3 workers" in stimulus.of_run(made, {"closed": {"workers": 3, "think_ms": 0.0}}, 1.0)["faults"][0]
    assert "workers were busy" in stimulus.of_run(made, {"closed": {"workers": 9, "think_ms": 0.0}}, 1.0)["faults"][0]
