"""Sections of the studies beyond pool size: tables, figures and templates from simulated analyses."""

import sys
from pathlib import Path
from typing import Any

import jinja2
import pytest
from conftest import ROOT
from lxml import etree
from lxml import html as lxml_html

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
