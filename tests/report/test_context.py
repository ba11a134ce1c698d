"""What the report says follows from what was measured, in every case."""

import json

import pytest
from fake_results import write
from fake_study import Fake

from poollab.report import answer, cells, context, limitations, quota, result_sentence, verdict, words


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


@pytest.mark.parametrize("pools", [(5, 100), (100, 5)])
def test_headline_goes_from_the_smallest_to_the_largest_pool(tmp_path, pools):
    """The order of pools in the study file does not turn the headline round."""
    sentence = result_sentence(built(tmp_path, Fake(pools=pools)))
    assert "heavy-bursts, from 5 to 100 connections: the mean acquisition wait fell" in sentence
    assert sentence.endswith(".")


def test_headline_says_that_runs_are_missing(tmp_path):
    """Where planned runs are not ok, the one sentence in the terminal says how many are."""
    sentence = result_sentence(built(tmp_path, Fake(bad={"heavy-bursts.pool-20.r2": "overloaded"}, window_s=2)))
    assert sentence.endswith("(26 of 27 planned runs ok).")


def test_every_workload_has_its_verdict_and_range(tmp_path):
    """Each workload has one sentence and one word that stand behind its name, and the sizes that it can do with."""
    made = built(tmp_path, Fake())
    found = made["verdict"]["sentences"]
    assert [s["subject"] for s in found] == list(Fake().workloads)
    assert all(s["sentence"].startswith(", from 5 to 100 connections: ") for s in found)
    assert {s["word"] for s in found} <= {"faster", "slower", "the same", "a small difference", "cannot tell"}
    assert all("connections" in s["range"] for s in found)


def test_marks_in_the_answer_are_those_of_the_range(tmp_path):
    """Exactly one pool of a workload is called lowest, the one that the analysis found, by sign and by word."""
    made = built(tmp_path, Fake())
    for told, body in zip(made["analysis"]["verdicts"], made["tables"]["answer"]["bodies"], strict=True):
        lowest = [row["head"] for row in body["rows"] if row["word"] == "\u25c6 lowest"]
        assert [f"pool-{head}" for head in lowest] == [told["range"]["best"]]
        assert all(row["word"] for row in body["rows"])


def test_warnings_in_the_same_words_stand_once():
    """A warning about two workloads in the same words is one line with both names; one on the study names nobody."""
    warnings = [{"kind": "k", "subject": s, "text": "Few runs.", "advice": "Raise repeats."} for s in ("a", "b")]
    warnings.append({"kind": "k", "subject": "study", "text": "It drifts.", "advice": ""})
    found = verdict.build({"headline": "H.", "verdicts": [], "warnings": warnings}, {"ok": 1, "planned": 1}, [])
    assert found["warnings"] == [
        {"text": "a; b: Few runs.", "advice": "Raise repeats."},
        {"text": "It drifts.", "advice": ""},
    ]


def test_quota_is_compared_with_its_absence(tmp_path):
    """Each pool stands under each level of the limits, the one without a cap says so, and the change has its sign."""
    made = built(tmp_path, Fake(limits=("half", "none"), window_s=1))
    assert "quota" in [section["id"] for section in made["sections"]]
    for group in (g for g in made["groups"] if g["limits"] == "none"):
        for arm in group["arms"]:
            arm["database"] |= {"cap_cores": None, "cpu_of_cap": None, "throttle_ratio": None}
            arm["means_ms"]["overall"] *= 0.5
    found = quota.build(made["groups"])
    rows = found["table"]["bodies"][2]["rows"]
    assert [row["head"] for row in rows][:3] == ["5, half", "5, none", "20, half"]
    assert [rows[i]["cells"][0]["missing"] for i in (0, 1)] == [None, "uncapped"]
    assert len(found["sentences"]) == 9
    assert all("ms under limits half and" in s and "-50 %" in s for s in found["sentences"])


def test_levels_of_the_limits_get_the_word_of_their_comparison(tmp_path):
    """A level's sentence ends with what the pairs of runs show, and for what they cannot with the reason."""
    made = built(tmp_path, Fake(limits=("half", "none"), window_s=1))
    of = {"workload": "heavy-bursts", "from": "half", "to": "none", "metric": "overall_mean", "why": "of chance"}
    tested = [
        of | {"arm": "pool-5", "word": "faster", "low": 0.48, "high": 0.52},
        of | {"arm": "pool-20", "word": "cannot tell", "low": 0.9, "high": 1.1},
    ]
    said = [s for s in quota.build(made["groups"], tested)["sentences"] if s.startswith("heavy-bursts")]
    assert said[0].endswith("; by pairs of runs: faster (95 % interval -52.0 to -48.0 %).")
    assert said[1].endswith("; by pairs of runs it cannot be told whether they differ, because of chance.")
    assert "by pairs" not in said[2]
    own = made["analysis"]["limits"]
    assert any("by pairs of runs" in s for s in made["tables"]["quota"]["sentences"]) == bool(own)


def test_requests_that_failed_in_bad_runs_are_counted(tmp_path):
    """The answer table counts requests that were not ok over all runs, since in ok runs there are hardly any."""
    made = built(tmp_path, Fake(bad={"heavy-bursts.pool-20.r2": "errors"}))
    for group in made["groups"]:
        for arm in group["arms"]:
            for run in arm["runs"]:
                run["requests_ok"] = run["requests"] - (0 if run["ok"] else 7)
    rows = answer.build(made["groups"], {})["bodies"][2]["rows"]
    assert [row["cells"][7]["text"] for row in rows] == ["0", "7", "0"]


def test_a_later_step_that_writes_is_no_read_only_load(tmp_path):
    """A request that reads first and writes then is not called read-only."""
    made = built(tmp_path, Fake(window_s=1))
    assert "The load was read-only" in limits_of(made)["small-and-warm"]
    made["groups"][0]["request"] = ["query SELECT 1", "query UPDATE pool_lab SET balance = 1"]
    texts = {found["id"]: found["text"] for found in limitations.build(made)}
    assert "read-only" not in texts["small-and-warm"]


def test_plan_without_several_limits_has_no_such_section(tmp_path):
    """One level of limits is compared with nothing."""
    assert "quota" not in [s["id"] for s in built(tmp_path, Fake(window_s=1))["sections"]]


def test_load_that_is_not_as_asked_is_named_with_its_run(tmp_path):
    """A fault that the raw rows show stands beside its run, and the sentence does not call the load sound."""
    results = write(tmp_path / "r", Fake(window_s=1))
    assert "in none of them do counts or gaps differ" in context.build(results)["checks"]["sentences"][0]
    path = results / "analysis.json"
    recorded = json.loads(path.read_text())
    fault = "2 requests were started before their time"
    recorded["stimulus"][3]["faults"] = [fault]
    path.write_text(json.dumps(recorded))
    made = context.build(results)["checks"]
    assert made["faults"] == [{"cell": recorded["stimulus"][3]["cell"], "text": fault}]
    assert "in 1 run the load is not what the study asks for" in made["sentences"][0]


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
    """Where no run of an end is ok, nothing is told of the workload and no other pool takes its place."""
    made = built(tmp_path, Fake(bad_condition="heavy-bursts.pool-100", window_s=2))
    assert made["verdict"]["sentences"][2]["word"] == "cannot tell"
    cells_of = made["tables"]["intervals"][2]["bodies"][0]["rows"][2]["cells"]
    assert [c["missing"] for c in cells_of[:5]] == ["not measured"] * 5


def test_one_pool_is_no_comparison(tmp_path):
    """A single pool gives no direction and no range."""
    made = built(tmp_path, Fake(pools=(20,), window_s=2))
    assert "only one pool (20) was measured" in made["verdict"]["sentences"][0]["sentence"]
    assert made["special"]["table"] is None


def test_equal_arms_are_named_by_label(tmp_path):
    """Two arms of one size are never called the smaller and the larger pool."""
    sentence = built(tmp_path, Fake(arms={"a": 20, "b": 20}, window_s=2))["verdict"]["sentences"][2]["sentence"]
    assert sentence.startswith(", from a to b: ")


def test_uncapped_is_said_first(tmp_path):
    """Without caps the sentence begins with it, shares of a cap are missing, and the capped limits are not listed."""
    made = built(tmp_path, Fake(capped=False))
    assert result_sentence(made).startswith("Uncapped: ")
    assert made["lab"]["caps_text"].count("uncapped (its cap was not enforced)") == 2
    row = made["tables"]["cpu"]["bodies"][0]["rows"][0]["cells"]
    assert [c["missing"] for c in row] == [None] + ["uncapped"] * 6
    assert "uncapped-lab" in limits_of(made)
    assert not {"no-control", "throttling-is-no-time", "load-on-this-machine"} & set(limits_of(made))


def test_one_uncapped_side_is_named_alone(tmp_path):
    """Where only the load generator's cap was not enforced, the database is not called uncapped."""
    results = write(tmp_path / "r", Fake(window_s=1))
    path = results / "environment.json"
    recorded = json.loads(path.read_text())
    recorded["lab"]["caps_enforced"] = False
    for block in recorded["blocks"]:
        block["proof"]["load_generator"]["enforced"] = False
    path.write_text(json.dumps(recorded))
    made = context.build(results)
    assert made["unenforced"] == ["load generator"]
    assert made["lab"]["caps_text"].startswith("database capped at 0.5 cores, load generator uncapped")
    assert "The cap of the load generator was not enforced" in limits_of(made)["uncapped-lab"]
    assert result_sentence(made).startswith("Uncapped (load generator): ")


def test_unproven_cap_is_named(tmp_path):
    """A cap that did not hold under the burn is named although the lab calls itself capped."""
    results = write(tmp_path / "r", Fake(window_s=1))
    path = results / "environment.json"
    path.write_text(path.read_text().replace('"enforced": true', '"enforced": false', 1))
    assert context.build(results)["unproven"] == ["block 1, database"]


PLAIN = {
    "few-runs", "load-on-this-machine", "rate-is-no-capacity", "no-multiplier", "batch-size", "round-trip-is-whole",
    "shared-host",
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
