"""Sections of the studies beyond pool size: tables, figures and templates from simulated analyses."""

import sys
from pathlib import Path
from typing import Any

import jinja2
import pytest
from conftest import ROOT
from lxml import etree
from lxml import html as lxml_html

from poollab.errors import DataError
from poollab.report import analyses, figures, page
from poollab.report.figures import style

sys.path.insert(0, str(ROOT / "tests"))

from support import simulated_studies as simulated
from support.simulated import MS, context

from poollab.stats import analyses as stats

KINDS = ("tail-latency", "littles-law", "execution-models")


def runs_of(kind: str) -> list[Any]:
    """Return simulated runs of every part of a study."""
    if kind == "tail-latency":
        sizes = {1: (1,), 16: (10, 20), 96: (10, 20, 40)}
        return [simulated.closed(c, p, r) for c, pools in sizes.items() for p in pools for r in (1, 2)]
    if kind == "littles-law":
        return [run for r in (1, 2) for run in (simulated.stepped(3, repeat=r), simulated.stepped(12, 3.0, repeat=r))]
    return [
        *(simulated.batch(c, size, 1) for c in simulated.CLIENTS for size in (1, 8)),
        simulated.loop("psycopg-threads", 50_000, 1),
        simulated.wait("psycopg-threads", 300, {"peak_rss_bytes": 9 << 20, "rss_before_requests_bytes": 1 << 20}, 1),
        simulated.wait("psycopg-async", 20, {"traced_peak_bytes": 5}, 1, traced=True),
        *(simulated.beside("psycopg-async", 1, late=0, trip=MS, compute_in=where) for where in ("caller", "processes")),
    ]


def built(kind: str, folder: Path, runs: list[Any]) -> dict[str, Any]:
    """Return what the templates and figures of a study see."""
    made = stats.build(context(folder, runs, {"analysis": kind}))
    found: dict[str, Any] = {"kind": kind, "analysis": made, "groups": [], "design": {"margin": "5 %"}}
    return {**found, "special": analyses.module(kind).build(found)}


@pytest.fixture(scope="module", params=KINDS)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the context of each study."""
    return built(request.param, tmp_path_factory.mktemp("study"), runs_of(request.param))


def drawn(made: dict[str, Any]) -> dict[str, Any]:
    """Draw the study's own figures, with the addresses that templates take."""
    found = {m.NAME: figures.draw_one(m, made) for m in analyses.module(made["kind"]).FIGURES}
    for part in (part for figure in found.values() for part in figure["parts"]):
        part["uri"] = "data:,"
    return found


def section(made: dict[str, Any], target: str = "html") -> str:
    """Fill the study's template."""
    environment = page._environment(ROOT / "reports" / "templates")
    assert environment.undefined is jinja2.StrictUndefined
    template = environment.get_template(f"sections/analysis-{made['kind']}.html.j2")
    return template.render({**made, "figures": drawn(made), "target": target, "paper_rows": 200})


@pytest.mark.parametrize("target", ["html", "pdf"])
def test_section_is_filled(made, target):
    """Every table has a caption that names n, ids are unique, and nothing reads None or nan."""
    tree = lxml_html.document_fromstring(f"<main>{section(made, target)}</main>")
    captions = ["".join(c.itertext()).strip() for c in tree.iter("caption")]
    assert captions
    assert all("n " in c or "n=" in c for c in captions)
    ids = [e.get("id") for e in tree.iter() if e.get("id")]
    assert len(ids) == len(set(ids))
    text = tree.text_content()
    assert not {"None", "nan", "not known"} & set(text.replace(",", " ").split())


def test_figures_say_what_they_show(made):
    """Each figure is valid SVG with its title, and its alternative text has the finding with numbers."""
    for figure in drawn(made).values():
        (part,) = figure["parts"]
        tree = etree.fromstring(part["svg"])
        assert tree.findtext("{*}title") == figure["heading"]
        assert float(tree.get("height")[:-2]) <= (style.MOST_INCHES + 1.5) * 72
        assert len(part["alt"]) >= 30
        assert any(c.isdigit() for c in part["alt"])
        assert figure["table"]["row_count"]


def test_figures_are_the_same_bytes_again(made):
    """The same analysis draws the same figures."""
    first, second = drawn(made), drawn(made)
    assert [p["svg"] for f in first.values() for p in f["parts"]] == [
        p["svg"] for f in second.values() for p in f["parts"]
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_study_without_an_ok_run(tmp_path, kind):
    """A study of which no run counts still has a section, which says that nothing was measured."""
    runs = runs_of(kind)[:1]
    runs[0].status = "errors"
    made = built(kind, tmp_path, runs)
    assert section(made)
    assert made["analysis"]["headline"].endswith(".")


def test_numbers_of_the_page_are_those_of_the_analysis(tmp_path):
    """A rate reads in the table as it stands in analysis.json."""
    made = built("tail-latency", tmp_path, runs_of("tail-latency"))
    rates = [row["achieved_per_s"] for row in made["analysis"]["conditions"]]
    shown = [r["cells"][0]["value"] for b in made["special"]["tables"]["times"]["bodies"] for r in b["rows"]]
    assert shown == rates


def test_where_the_wait_for_a_thread_is_counted_is_said(tmp_path):
    """A reader of the execution models learns why mean waits of threads and executor must not be compared."""
    text = section(built("execution-models", tmp_path, runs_of("execution-models")))
    assert "waits for a free thread, and starts in it: that wait is scheduling delay" in text
    assert "With psycopg-threads and psycopg-executor the wait for a free thread is scheduling delay" in text


def test_a_number_of_one_reads_well(tmp_path):
    """One core is no cores, and one of two targets is enough."""
    made = built("littles-law", tmp_path, runs_of("littles-law"))["special"]
    assert "gives 2 for the 1 core that the database may use" in made["rule"]
    assert "wait at most 1 ms or 10 ms?" in made["targets"]
    assert any(line.startswith("A step lasts 10 s here, against 60 s") for line in made["limitations"])


def test_the_wait_for_a_thread_of_an_executor_is_said_to_be_scheduling_delay(templates):
    """Method and sections agree on where a request of psycopg-executor waits for its thread."""
    said = "".join(path.read_text("utf-8") for path in (templates / "sections").glob("*.j2"))
    assert "a request starts on the event loop, and its wait for a free thread" not in said
    assert "With psycopg-threads and psycopg-executor a request that is due waits for a free thread" in said
    source = (templates / "sections" / "method.html.j2").read_text("utf-8")
    line = next(line for line in source.splitlines() if "<dt>scheduling delay</dt>" in line)
    clients = ("psycopg-executor", "asyncpg and psycopg-executor", "psycopg-threads and psycopg-executor", "asyncpg")
    for client in clients:
        text = jinja2.Environment(autoescape=True).from_string(line).render(design={"client": client})
        assert ("psycopg-executor the wait for a free thread is in it" in text) is ("psycopg-executor" in client)


def test_one_operation_is_counted_from_the_moment_at_which_its_caller_asks(tmp_path):
    """The note below the table says what the number is."""
    made = built("execution-models", tmp_path, runs_of("execution-models"))
    (note,) = made["special"]["tables"]["sequence"]["notes"]
    assert note.startswith("With pool: from the moment at which the caller asks (scheduled: ")


def test_an_executor_in_a_closed_loop_is_said_to_be_counted_otherwise(tmp_path):
    """Table and limitations of tail-latency say from when on a caller of an executor waits."""
    runs = [simulated.in_thread(simulated.closed(c, p, client="psycopg-executor")) for c, p in ((1, 1), (96, 20))]
    text = section(built("tail-latency", tmp_path, runs))
    assert text.count("With psycopg-executor from the scheduled moment.") == 2
    assert "the wait for a free thread is in them" in text.replace("\n", " ")


def test_a_spare_run_is_explained(tmp_path):
    """What triggered a spare run and how it ended stands in the report, and it is never said not to have been made."""
    trips = {1: 1, 2: 3, 3: 1, 4: 1}
    runs = [simulated.closed(96, 20, r, trip=simulated.TRIP * trips[r]) for r in trips]
    runs[-1].status = "host-busy"
    folder, model = tmp_path, {"analysis": "tail-latency", "spare_repeats": 1}
    made = stats.build(context(folder, runs, model))
    special = analyses.module("tail-latency").build({"analysis": made})
    (line,) = special["outliers"]
    assert "Measured again: c96.pool-20.r4, which ended host-busy and is in no number." in line
    assert "not measured again" not in line
    (spare,) = special["spares"]
    assert spare.startswith("c96.pool-20.r4 ended host-busy and is in no number. What called for it is the overall p99")
    assert "c96.pool-20.r2 (" in spare
    page_text = section(
        {"kind": "tail-latency", "analysis": made, "groups": [], "design": {"margin": "5 %"}, "special": special}
    )
    assert "Spare runs</h3>" in page_text


def test_a_far_run_without_spare_repeats_was_not_measured_again(tmp_path):
    """Where a study has no spare repeats that is the reason, and it is said."""
    runs = [simulated.closed(96, 20, r, trip=simulated.TRIP * (3 if r == 2 else 1)) for r in (1, 2, 3)]
    (line,) = built("tail-latency", tmp_path, runs)["special"]["outliers"]
    assert line.endswith("It was not measured again: the study has no spare repeats.")


def test_think_time_stands_in_the_theory(tmp_path):
    """Where workers think, the formula has their think time, in table and figure."""
    runs = [simulated.closed(1, 1), *(simulated.closed(96, p, think_ms=12) for p in (10, 40))]
    made = built("tail-latency", tmp_path, runs)
    assert "min(P / S1, C / (S1 + Z))" in made["special"]["tables"]["theory"]["caption"]
    assert "min(P / S1, C / (S1 + Z))" in section(made)
    assert "min(C, P) / S1" not in section(made)


def test_what_a_long_hold_needs_is_not_called_busy(tmp_path):
    """More connections than a pool has cannot be busy: what is calculated is called needed, and the row is marked."""
    table = built("littles-law", tmp_path, runs_of("littles-law"))["special"]["tables"]["holds"]
    assert [c["label"] for c in table["columns"]][3:] == ["needed at that rate", "busy at that rate"]
    rows = {row["head"]: row for row in table["bodies"][0]["rows"]}
    assert (rows["1 ms"]["mark"], rows["100 ms"]["mark"]) == ("", "more than the pool has")
    assert rows["100 ms"]["cells"][2]["value"] > 6
    assert rows["100 ms"]["cells"][3]["value"] is None


@pytest.mark.parametrize("kind", KINDS)
def test_what_no_run_counts_for_is_named(tmp_path, kind):
    """A condition that was lost is named in the section, with how its runs ended."""
    runs = runs_of(kind)
    lost = next(run.arm for run in runs if run.workload in {"c96", "ramp", "pool-ceiling"})
    for run in runs:
        run.status = "errors" if run.arm == lost and run.workload in {"c96", "ramp", "pool-ceiling"} else run.status
    made = built(kind, tmp_path, runs)
    first = made["special"]["limitations"][0]
    assert first.startswith("No run counts: ")
    assert f"with {lost} (" in first
    assert "No run counts" in section(made)


def test_another_pool_for_the_executor_is_said(tmp_path):
    """A comparison that moved to another pool says so below its table."""
    runs = [simulated.batch(c, size, 1) for c in simulated.CLIENTS for size in (1, 4, 8)]
    for run in runs:
        run.status = "host-busy" if run.arm == "asyncpg-8" else "ok"
    made = built("execution-models", tmp_path, runs)["special"]["tables"]
    notes = made["executor"]["notes"]
    assert notes[0].startswith("Compared on a pool of 4 and not of 8: ")
    assert "No run counts: asyncpg-8." in notes
    assert "No run counts: asyncpg-8." in made["ceiling"]["notes"]


def test_no_arm_takes_the_place_of_another(tmp_path):
    """Two arms of a client stand in every table, each called by its arm, and waits beside those that were traced."""
    runs = [simulated.wait("psycopg-threads", 20, {}, 1, size=size, traced=t) for size in (4, 8) for t in (False, True)]
    runs += [simulated.loop("asyncpg", 50_000, 1, arm=arm) for arm in ("plain", "reset")]
    runs += [simulated.batch("asyncpg", 8, 1, arm=arm) for arm in ("plain-8", "reset-8")]
    runs += [simulated.beside("psycopg-async", 1, late=0, trip=MS, size=size) for size in (4, 8)]
    made = built("execution-models", tmp_path, runs)
    tables = made["special"]["tables"]
    heads = {name: [row["head"] for body in table["bodies"] for row in body["rows"]] for name, table in tables.items()}
    assert heads["waits"] == ["psycopg-threads-4", "psycopg-threads-8"]
    assert heads["sequence"] == ["plain", "reset"]
    assert heads["ceiling"] == ["8 (plain-8)", "8 (reset-8)"]
    assert heads["executor"] == ["plain-8", "reset-8"]
    assert heads["beside"] == ["psycopg-async-4", "psycopg-async-8"]
    assert section(made)
    assert drawn(made)


def test_waits_of_several_kinds_are_all_there(tmp_path):
    """Another workload of plain waits is another row, and traced waits without plain ones have a row of their own."""
    runs = [simulated.wait("psycopg-threads", 20, {}, 1), simulated.wait("psycopg-threads", 50, {}, 1, name="again")]
    runs.append(simulated.wait("psycopg-async", 20, {"traced_peak_bytes": 5}, 1, traced=True))
    made = built("execution-models", tmp_path, runs)["special"]["tables"]["waits"]
    (body,) = made["bodies"]
    assert [row["head"] for row in body["rows"]] == [
        "psycopg-threads-8, waits",
        "psycopg-threads-8, again",
        "psycopg-async",
    ]


def test_requests_that_failed_are_said_below_the_table(tmp_path):
    """Where requests failed the reader learns what n x S1 / P was made of."""
    runs = [simulated.failing(simulated.batch("asyncpg", size, 1), 60) for size in (1, 8)]
    notes = built("execution-models", tmp_path, runs)["special"]["tables"]["ceiling"]["notes"]
    assert any("540.0 of 600 with asyncpg-8" in note for note in notes)


def test_an_analysis_of_another_version_is_refused_with_a_reason():
    """A file that lacks what the report shows is named, and no traceback is shown."""
    with pytest.raises(DataError, match=r"analysis\.json has no 'conditions'.*collect the results again"):
        analyses.special(analyses.module("tail-latency"), {"analysis": {}})
