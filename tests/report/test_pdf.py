"""The PDF: opens, is tagged, holds the data, and is the same bytes from the same data."""

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pikepdf
import pytest
from conftest import ROOT
from fake_results import write
from fake_study import Fake
from pagetools import BLANK

from poollab.errors import DataError, PoollabError
from poollab.report import context, pdf, result_sentence
from poollab.report.figures import style

# WeasyPrint leaves its own colour profile to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed file .*sRGB2014:ResourceWarning")


@pytest.fixture(scope="module")
def document(results, templates, tmp_path_factory) -> Path:
    """The PDF of plain results."""
    out = tmp_path_factory.mktemp("pdf") / "report.pdf"
    pdf.render(results, templates, out)
    return out


def text_of(path: Path, *pages: int) -> str:
    """Return the text of the first and last page given, with single blanks."""
    first, last = pages or (1, 999)
    done = subprocess.run(
        ["pdftotext", "-f", str(first), "-l", str(last), str(path), "-"], check=True, capture_output=True, text=True
    )
    return " ".join(done.stdout.split())


def test_first_page_holds_question_and_result(document, results):
    """Page 1 has the title and the one sentence, and there are more pages, numbered."""
    made = context.build(results)
    first = text_of(document, 1, 1)
    assert made["study"]["title"] in first
    assert result_sentence(made) in first
    with pikepdf.open(document) as opened:
        count = len(opened.pages)
    assert 5 < count < 20
    assert f"2 / {count}" in text_of(document, 2, 2)
    assert made["study"]["title"] in text_of(document, 2, 2)


def test_attachments_are_the_files(document, results):
    """Tables, environment and analysis are attached unchanged, the study as it was measured, all related as data."""
    with pikepdf.open(document) as opened:
        attached = {name: opened.attachments[name].get_file().read_bytes() for name in opened.attachments}
        related = {item.objgen: str(item.AFRelationship) for item in opened.Root.AF}
    study = json.loads(attached.pop("study.json"))
    assert study == json.loads((results / "environment.json").read_text())["study"]["model"]
    assert set(attached) == {"runs.csv", "conditions.csv", "environment.json", "analysis.json"}
    for name, data in attached.items():
        assert hashlib.sha256(data).digest() == hashlib.sha256((results / name).read_bytes()).digest()
    assert list(related.values()) == ["/Data"] * 5


def test_is_tagged_and_asks_for_pdfa(document):
    """It is marked as tagged, in English, with PDF/A-3a in its metadata, and dated by the measurement."""
    with pikepdf.open(document) as opened:
        assert opened.Root.MarkInfo.Marked
        assert str(opened.Root.Lang) == "en"
        meta = opened.open_metadata()
        assert (meta["pdfaid:part"], meta["pdfaid:conformance"]) == ("3", "A")
        assert str(opened.docinfo["/CreationDate"]).startswith("D:20261130130930")


def _figures(node, found):
    if isinstance(node, pikepdf.Array):
        for child in node:
            _figures(child, found)
    elif isinstance(node, pikepdf.Dictionary):
        if node.get("/S") == "/Figure":
            found.append(str(node.get("/Alt", "")))
        if "/K" in node:
            _figures(node["/K"], found)
    return found


def test_figures_have_alternative_texts(document):
    """Each of the eight figures carries its alternative text into the tags."""
    with pikepdf.open(document) as opened:
        alts = _figures(opened.Root.StructTreeRoot.K, [])
    assert len([a for a in alts if len(a) >= 30 and re.search(r"\d", a)]) == 8
    assert all(alts)


def test_bookmarks_are_the_contents(document, results):
    """The outline has the title at its root and all sections below it, in the order of the report."""
    with pikepdf.open(document) as opened, opened.open_outline() as outline:
        (top,) = outline.root
        names = [item.title for item in top.children]
    assert top.title.startswith("Does a larger connection pool")
    assert names == [s["heading"] for s in context.build(results)["sections"]]
    assert (names[0], names[-1]) == ("In short", "Check your own application")
    contents = text_of(document, 1, 2)
    assert all(name in contents for name in names)


def test_two_processes_write_the_same_bytes(document, results, templates, tmp_path):
    """Another process, folder, clock zone and hash seed give byte for byte the same file."""
    out = tmp_path / "elsewhere" / "other.pdf"
    env = {**os.environ, "TZ": "Asia/Tokyo", "PYTHONHASHSEED": "7"}
    script = ROOT / "scripts" / "render_pdf.py"
    command = [sys.executable, str(script), str(results), str(templates), str(out)]
    done = subprocess.run(command, env=env, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert out.read_bytes() == document.read_bytes()


@pytest.mark.parametrize(
    "fake",
    [
        Fake(title="<script>alert(1)</script> & " + "very long title " * 10, capped=False, blocks=2, window_s=2),
        pytest.param(
            Fake(bad_condition="heavy-bursts.pool-100", unmeasured=3, confirmed=False, window_s=2),
            marks=pytest.mark.slow,
        ),
        Fake(pools=(5,), repeats=1, window_s=1),
        pytest.param(Fake(unmeasured=27), marks=pytest.mark.slow),
    ],
    ids=["hostile uncapped", "not ok", "one run", "nothing"],
)
def test_awkward_results_make_no_warning(tmp_path, templates, fake):
    """WeasyPrint has nothing to warn about, whatever the results hold."""
    out = tmp_path / "report.pdf"
    pdf.render(write(tmp_path / "r", fake), templates, out)
    assert ("Uncapped" in text_of(out, 1, 1)) is not fake.capped


@pytest.mark.slow
def test_long_tables_are_cut_on_paper(tmp_path, templates):
    """With 225 runs paper shows the first 200 and says where all are."""
    out = tmp_path / "report.pdf"
    pdf.render(write(tmp_path / "r", Fake(repeats=25, window_s=1)), templates, out)
    text = text_of(out)
    assert "Cut after 200 rows" in text
    assert "200. " in text
    assert "201. " not in text


def test_a_warning_is_a_failure(results, templates, tmp_path, monkeypatch):
    """An unknown property in a style stops the PDF with its name, and no file is left."""
    broken = tmp_path / "reports" / "templates"
    for path in [p for folder in (templates, templates.parent / "text") for p in folder.rglob("*") if p.is_file()]:
        copy = tmp_path / "reports" / path.relative_to(templates.parent)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(path.read_text())
    with (broken / "print.css").open("a") as file:
        file.write("h2 { no-such-property: 1 }\n")
    monkeypatch.setattr(style, "svg", lambda _draw, _title: BLANK)
    with pytest.raises(PoollabError, match="no-such-property"):
        pdf.render(results, broken, tmp_path / "out" / "report.pdf")
    assert not (tmp_path / "out").exists()


def test_absent_library_is_explained(results, templates, tmp_path, monkeypatch):
    """Without Pango the error names the packages and that the HTML stands."""

    def fail(name):
        raise OSError("cannot load library 'libpango-1.0-0'")

    monkeypatch.setattr(pdf.importlib, "import_module", fail)
    with pytest.raises(PoollabError, match=r"HTML report are untouched.*libpango"):
        pdf.render(results, templates, tmp_path / "report.pdf")


def test_missing_results_are_named(tmp_path, templates):
    """A folder without results gives the same error as for the HTML."""
    with pytest.raises(DataError, match=r"requests\.parquet.*missing"):
        pdf.render(tmp_path, templates, tmp_path / "report.pdf")


def test_environment_is_left_as_it_was(tmp_path, templates, monkeypatch):
    """SOURCE_DATE_EPOCH of the caller is back after rendering."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "12")
    pdf.render(write(tmp_path / "r", Fake(pools=(5,), repeats=1, window_s=1)), templates, tmp_path / "report.pdf")
    assert os.environ["SOURCE_DATE_EPOCH"] == "12"
