"""What the report says follows from what was measured, in every case."""

import re

import pytest
from fake_results import write
from fake_study import Fake

from poollab.report import cells, context, result_sentence, words


def built(tmp_path, fake):
    """Write results and build their context."""
    return context.build(write(tmp_path / "r", fake))


def limits_of(made):
    """Return the texts of the limitations by id."""
    return {entry["id"]: entry["text"] for entry in made["limitations"]}


@pytest.mark.parametrize(("beyond", "word"), [(None, "none"), (0, "none"), (1, "weak"), (9, "weak"), (10, "plain")])
def test_support_rule(beyond, word):
    """No request beyond a percentile hides it, 1 to 9 make it weak, 10 plain."""
    assert cells.support(beyond) == word


@pytest.mark.parametrize(
    ("beyond", "shown", "note", "missing"),
    [(0, "-", None, True), (4, "7.00", "weak (4 beyond)", False), (14, "7.00", None, False)],
)
def test_percentile_cell_obeys_the_rule(beyond, shown, note, missing):
    """A percentile's cell is missing, weak with its count, or plain."""
    entry = {"ms": 7.0, "beyond": beyond, "run_min_ms": 6.0, "run_max_ms": 8.0, "run_beyond": beyond}
    cell = cells.percentile(entry, 2)
    assert (cell["text"], cell["note"], bool(cell["missing"])) == (shown, note, missing)


def test_weak_runs_mark_the_range(tmp_path):
    """14 beyond the pooled p99 are plain, and the 4 beyond each run's make the range weak."""
    tail = built(tmp_path, Fake())["tables"]["tail"]
    p99 = tail["bodies"][2]["rows"][0]["cells"][3]
    assert (p99["weak"], p99["range_weak"]) == (False, True)


def test_percentile_without_support_is_not_shown(tmp_path):
    """With 40 requests a condition nothing lies beyond the p99, so it is a dash with words."""
    made = built(tmp_path, Fake(window_s=1, repeats=1, pools=(5, 20)))
    rows = made["tables"]["tail"]["bodies"][2]["rows"]
    assert [row["cells"][3]["text"] for row in rows] == ["-", "-"]
    assert "no request lies beyond" in rows[0]["cells"][3]["missing"]
    assert "weak-tail" in limits_of(made)


@pytest.mark.parametrize(("pools", "word"), [((5, 100), "fell"), ((100, 5), "fell")])
def test_sentence_goes_from_the_smallest_to_the_largest_pool(tmp_path, pools, word):
    """The order of pools in the study file does not turn the sentence round."""
    sentence = result_sentence(built(tmp_path, Fake(pools=pools)))
    assert "heavy-bursts, from pool 5 to pool 100" in sentence
    assert f"acquisition wait {word} from" in sentence
    assert sentence.endswith("(18 of 18 planned runs ok).")


def test_sentence_follows_the_numbers(tmp_path):
    """Rose and fell are the signs of the measured differences, for each workload."""
    made = built(tmp_path, Fake())
    for group, sentence in zip(made["groups"], made["short"]["sentences"], strict=True):
        before, after = (a["means_ms"]["overall"] for a in (group["arms"][0], group["arms"][-1]))
        assert f"overall time {'rose' if after > before else 'fell'} from" in sentence["text"]
        assert "observed" in sentence["text"]


def test_equal_reading_is_no_direction(tmp_path):
    """Two means that read the same are neither a rise nor a fall."""
    text = built(tmp_path, Fake())["short"]["sentences"][1]["text"]
    assert re.search(r"acquisition wait read 0\.01 ms at both \(3 runs: 0\.01\)", text)


def test_run_that_is_not_ok_makes_no_number(tmp_path):
    """A run nine times slower with status overloaded changes no mean, and is listed with its reasons."""
    made = built(tmp_path, Fake(bad={"heavy-bursts.pool-20.r2": "overloaded"}, far_out=9))
    arm = made["groups"][2]["arms"][1]
    ok = [r for r in arm["runs"] if r["ok"]]
    assert (len(arm["runs"]), len(ok), arm["runs_ok"]) == (3, 2, 2)
    assert arm["means_ms"]["overall"] == pytest.approx(sum(r["means_ms"]["overall"] for r in ok) / 2)
    assert made["blocks"]["problems"][0]["cell"] == "heavy-bursts.pool-20.r2"
    marked = [row for row in made["blocks"]["runs_table"]["bodies"][0]["rows"] if row["mark"]]
    assert len(marked) == 1
    assert "backlog grew" in marked[0]["cells"][-1]["text"]
    assert "heavy-bursts.pool-20.r2 (overloaded)" in limits_of(made)["runs-not-ok"]


def test_condition_without_ok_run_is_not_compared(tmp_path):
    """Where no run of an end is ok, no other pool takes its place in the sentence."""
    made = built(tmp_path, Fake(bad_condition="heavy-bursts.pool-100"))
    assert made["short"]["sentences"][2]["text"] == "nothing is compared, since no run of pool 100 ended ok."
    assert not result_sentence(made).startswith("heavy-bursts")
    cells_of = made["tables"]["intervals"][2]["bodies"][0]["rows"][2]["cells"]
    assert [c["missing"] for c in cells_of[:5]] == ["not measured"] * 5


def test_one_pool_is_no_comparison(tmp_path):
    """A single pool gives its means and no direction."""
    made = built(tmp_path, Fake(pools=(20,)))
    assert "only one pool (20) was measured" in made["short"]["sentences"][0]["text"]
    assert "Nothing can be compared" in result_sentence(made)


def test_equal_arms_are_named_by_label(tmp_path):
    """Two arms of one size are never called the smaller and the larger pool."""
    text = built(tmp_path, Fake(arms={"a": 20, "b": 20}))["short"]["sentences"][2]["text"]
    assert text.startswith("from arm a to arm b, both with 20 connections")


def test_uncapped_is_said_first(tmp_path):
    """Without caps the sentence begins with it, shares of a cap are missing, and the capped limits are not listed."""
    made = built(tmp_path, Fake(capped=False))
    assert result_sentence(made).startswith("Uncapped: ")
    row = made["tables"]["cpu"]["bodies"][0]["rows"][0]["cells"]
    assert [c["missing"] for c in row] == [None] + ["uncapped"] * 6
    assert "uncapped-lab" in limits_of(made)
    assert not {"no-control", "throttling-is-no-time", "load-on-this-machine"} & set(limits_of(made))


def test_unproven_cap_is_named(tmp_path):
    """A cap that did not hold under the burn is named although the lab calls itself capped."""
    results = write(tmp_path / "r", Fake(window_s=1))
    path = results / "environment.json"
    path.write_text(path.read_text().replace('"enforced": true', '"enforced": false', 1))
    assert context.build(results)["unproven"] == ["block 1, database"]


PLAIN = {
    "few-runs", "load-on-this-machine", "rate-is-no-capacity", "no-multiplier", "batch-size", "round-trip-is-whole",
    "throttling-is-no-time", "no-control", "memory-of-established", "unused-connections", "small-and-warm",
}  # fmt: skip


@pytest.mark.parametrize(
    ("fake", "more", "less"),
    [
        (Fake(), set(), set()),
        (Fake(blocks=2), {"several-blocks"}, set()),
        (Fake(repeats=5), set(), {"few-runs"}),
        (Fake(pools=(100,)), set(), {"memory-of-established"}),
        (Fake(unmeasured=2), {"not-measured", "weak-tail"}, set()),
    ],
)
def test_limitations_follow_the_study(tmp_path, fake, more, less):
    """Each limitation is listed exactly where its condition holds."""
    assert set(limits_of(built(tmp_path, fake))) == (PLAIN | more) - less


def test_limitations_carry_the_study_s_numbers(tmp_path):
    """Batch, rates, table size and the load on this machine are those of the results."""
    texts = limits_of(built(tmp_path, Fake()))
    assert "The largest batch held 10 requests" in texts["batch-size"]
    assert "Pools of 20 and 100" in texts["batch-size"]
    assert "light-uniform 200, heavy-uniform 40 and heavy-bursts 40" in texts["no-multiplier"]
    assert "3.8 MiB" in texts["small-and-warm"]
    assert "heavy-bursts 5\u20136 %" in texts["load-on-this-machine"]
    assert "49\u201353 %" in texts["load-on-this-machine"]


@pytest.mark.parametrize(
    ("fake", "says", "kept"),
    [
        (Fake(), "equals the planned order: all 27 cells", True),
        (Fake(unmeasured=4), "23 of 27 planned cells were measured, 4 not yet, and those that were kept", False),
        (Fake(swapped=True), "differs from the planned order, first at position 1", False),
    ],
)
def test_order_is_compared_with_the_plan(tmp_path, fake, says, kept):
    """The executed order is compared, not asserted."""
    made = built(tmp_path, fake)["blocks"]
    assert says in made["order"]
    assert made["order_kept"] is kept


def test_blocks_say_why_they_ended(tmp_path):
    """Each block has its reason; what differs between them is marked, and data seeded otherwise would be said."""
    made = built(tmp_path, Fake(blocks=2))
    reasons = [row["cells"][-1]["text"] for row in made["blocks"]["table"]["bodies"][0]["rows"]]
    assert reasons == ["safety stop: the host was 91 % busy, limit 80 %", "all planned cells measured"]
    assert "same checksums" in made["blocks"]["recreated"]
    marked = [r["head"] for b in made["environment"]["bodies"] for r in b["rows"] if r["mark"]]
    assert marked == ["CFS bandwidth slice"]


def test_teardown_is_not_confirmed_with_leftovers(tmp_path):
    """What is still there is named, and the block is not called confirmed."""
    made = built(tmp_path, Fake(confirmed=False))["blocks"]
    assert made["confirmed"] is False
    assert "STILL THERE: cgroup /poollab/x" in made["teardown"][0]["text"]


def test_teardown_without_record_is_not_confirmed(tmp_path):
    """A block that cleanup.json does not know is said to have no record."""
    results = write(tmp_path / "r", Fake(window_s=1, blocks=2))
    path = results / "cleanup.json"
    path.write_text(path.read_text().replace('"block": 2', '"block": 7'))
    made = context.build(results)["blocks"]
    assert [e["confirmed"] for e in made["teardown"]] == [True, False]


def test_study_elsewhere_is_reproduced_by_its_path(tmp_path):
    """A study outside config/studies is named by its path, quoted for the shell."""
    results = write(tmp_path / "r", Fake(window_s=1))
    path = results / "environment.json"
    path.write_text(path.read_text().replace("config/studies/pool-size.yaml", "my studies/pool-size.yaml"))
    commands = context.build(results)["reproduce"]["commands"]
    assert commands[0] == "make study STUDY='my studies/pool-size.yaml'"


@pytest.mark.parametrize(
    ("low", "high", "decimals", "shown"),
    [
        (1.0, 2.0, 1, "1.0\u20132.0"),
        (1.01, 1.02, 1, "1.0"),
        (None, 2.0, 1, "-"),
        (1234.5, 9999.9, 0, "1,234\u201310,000"),
    ],
)
def test_span_reads_as_one_number_where_it_is_one(low, high, decimals, shown):
    """A range whose ends read the same is one number; one without an end is a dash."""
    assert words.span(low, high, decimals) == shown
