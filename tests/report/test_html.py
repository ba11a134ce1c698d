"""The HTML report: one well-formed file that fetches nothing and can be read by everyone."""

import csv
import re
from itertools import pairwise
from pathlib import Path

import pytest
from fake_results import write
from fake_study import Fake
from pagetools import rendered, strict_errors, table_rows, text, tree, undrawn

from poollab.errors import DataError
from poollab.report import context, html, result_sentence
from poollab.report.analyses import pool_size

HOSTILE = "<script>alert(1)</script> & \"quotes\" 'more' {{ 7 * 7 }}?"

VARIANTS = {
    "plain": Fake(),
    "one run not ok": Fake(bad={"heavy-bursts.pool-20.r2": "overloaded+errors"}, far_out=9, window_s=2.0),
    "no run of a condition ok": Fake(bad_condition="heavy-bursts.pool-100", window_s=2.0),
    "no run ok at all": Fake(bad={f"{w}.pool-5.r1": "host-busy" for w in Fake().workloads}, pools=(5,), repeats=1),
    "one repeat": Fake(repeats=1),
    "one pool": Fake(pools=(20,), window_s=2.0),
    "two blocks": Fake(blocks=2, window_s=2.0),
    "uncapped": Fake(capped=False, window_s=2.0),
    "hostile": Fake(title=HOSTILE, sql="SELECT '</code><img src=x onerror=alert(1)>' WHERE 1 < $1", window_s=1.0),
    "short": Fake(window_s=1.0),
    "limits": Fake(limits=("half", "full"), window_s=1.0),
    "equal arms": Fake(arms={"a": 20, "b": 20}, window_s=2.0),
    "nothing measured": Fake(unmeasured=27),
    "unfinished": Fake(unmeasured=5, swapped=True, confirmed=False, window_s=2.0),
}


#: Variants whose every rule another one touches too; they are run with the slow tests.
RARE = {"no run of a condition ok", "one repeat", "two blocks", "short", "equal arms", "unfinished"}


@pytest.fixture(
    scope="module", params=[pytest.param(n, marks=[pytest.mark.slow] if n in RARE else []) for n in VARIANTS]
)
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, templates: Path) -> str:
    """The page of each variant of results."""
    return undrawn(write(tmp_path_factory.mktemp("variant") / "pool-size", VARIANTS[request.param]), templates)


def test_page_is_well_formed(page):
    """Every element is closed where it was opened, and no attribute is broken."""
    assert strict_errors(page) == []


def test_nothing_is_fetched(page):
    """No source, style, script or link names anything outside the page but the PDF beside it."""
    outside = re.compile(r"(?i)^(?!data:|#)")
    named = [(e.tag, v) for e in tree(page).iter() for k, v in e.attrib.items() if k in {"src", "href", "srcset"}]
    assert {v for _, v in named if outside.match(v)} == {"report.pdf"}
    assert tree(page).xpath("//script|//link|//iframe|//object") == []
    assert not re.search(r"url\(|@import", "".join(tree(page).xpath("//style/text()")))


def test_images_say_what_they_show(page):
    """Each figure has an alternative text of at least 30 characters that names a number."""
    images = tree(page).xpath("//img")
    assert len(images) >= 4
    for image in images:
        assert len(image.get("alt")) >= 30
        assert re.search(r"\d", image.get("alt"))
    assert tree(page).xpath("//svg") == []


def test_tables_can_be_read_aloud(page):
    """Each table has a caption that holds a word, and every heading a scope."""
    found = tree(page).xpath("//table")
    assert len(found) >= 9
    for table in found:
        assert len(text(table.find("caption"))) > 5
        heads = table.xpath(".//th")
        assert heads
        assert {h.get("scope") for h in heads} <= {"col", "row", "rowgroup"}
        widths = {sum(int(c.get("colspan", 1)) for c in row) for row in table.xpath(".//tr")}
        assert len(widths) == 1
        assert widths.pop() <= 12


def test_ids_are_unique_and_links_lead_somewhere(page):
    """No id stands twice, and each inner link and label has its target."""
    ids = tree(page).xpath("//@id")
    assert len(ids) == len(set(ids))
    targets = {h[1:] for h in tree(page).xpath("//a/@href") if h.startswith("#")}
    assert targets | set(tree(page).xpath("//@aria-labelledby")) <= set(ids)


def test_headings_skip_no_level(page):
    """There is one h1, and no heading is more than one level below the one before."""
    levels = [int(h.tag[1]) for h in tree(page).xpath("//h1|//h2|//h3|//h4")]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))


def test_missing_values_say_why(page):
    """A dash is never bare: it carries words for those who cannot see it, and no None or nan is left."""
    for cell in tree(page).xpath("//td"):
        if text(cell) == "-":
            assert len(cell.find("span").get("aria-label")) >= 7
    body = text(tree(page).find("body"))
    assert not re.search(r"\b(None|nan|inf|NaT|Undefined)\b", body)


def test_page_never_claims_what_was_not_measured(page):
    """No sentence says that a wait moved, that throttling is the cause, or that something is significant."""
    body = text(tree(page).find("body")).lower()
    assert not re.search(r"\bmoved\b|shifted|because of throttling|due to throttling|caused by", body)
    assert "significant" not in body
    assert "latency" not in body


def test_hostile_words_stay_words(tmp_path, templates):
    """Markup in a title, a statement, a reason or a CPU's name is shown and not obeyed."""
    fake = Fake(title=HOSTILE, sql=VARIANTS["hostile"].sql, bad={"heavy-bursts.pool-5.r1": "overloaded"})
    page = undrawn(write(tmp_path / "r", fake), templates)
    assert text(tree(page).find(".//h1")) == HOSTILE
    assert tree(page).xpath("//script|//b|//*[@onerror]") == []
    assert "{{ 7 * 7 }}" in page
    assert "<b>and</b>" in text(tree(page).get_element_by_id("table-runs"))


def test_numbers_are_those_of_the_csv(results, templates):
    """Means, p99 and rates in the page are the rounded numbers of conditions.csv."""
    page = undrawn(results, templates)
    tail, rates = table_rows(page, "tail"), table_rows(page, "rates")
    with (results / "conditions.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 9
    for row in rows:
        at = (row["workload"], row["pool_size"])
        decimals = 3 if row["workload"] == "light-uniform" else 2
        means = table_rows(page, f"intervals-{row['workload']}")["", row["pool_size"]]
        names = ("scheduling_delay", "acquisition_wait", "query_round_trip", "release", "overall")
        assert means[:5] == [f"{float(row[f'{n}_mean_ns']) / 1e6:.{decimals}f}" for n in names]
        assert tail[at][3] == f"{int(row['overall_p99_ns']) / 1e6:.{decimals}f}"
        assert tail[at][4] == row["overall_beyond_p99"]
        assert rates[at][1] == f"{float(row['achieved_per_s']):.2f}"


def test_shown_means_add_up(results, templates):
    """The four interval means of each row add up to the overall mean within rounding."""
    page = undrawn(results, templates)
    for workload in Fake().workloads:
        for cells in table_rows(page, f"intervals-{workload}").values():
            *parts, overall = (float(c) for c in cells[:5])
            unit = 10 ** -len(cells[4].split(".")[1])
            assert sum(parts) == pytest.approx(overall, abs=2.5 * unit)


def numbers_of(sentence: str) -> list[str]:
    """Return the numbers of a sentence as they are written."""
    return re.findall(r"\d+(?:\.\d+)?", sentence)


def reads_as(value: float, shown: list[str]) -> bool:
    """Tell whether one of the shown numbers is the value, rounded to the decimals that it is shown with."""
    return any(f"{value:.{len(n.partition('.')[2])}f}" == n for n in shown if "." in n)


def test_sentence_is_the_same_everywhere(results, templates):
    """The terminal's sentence, the page's result and its description are one text with the CSV's numbers."""
    sentence = result_sentence(context.build(results))
    tree_text = undrawn(results, templates)
    page = tree(tree_text)
    assert text(page.find(".//p[@class='result']")) == sentence
    assert page.xpath("//meta[@name='description']/@content") == [sentence]
    with (results / "conditions.csv").open() as file:
        rows = {r["pool_size"]: r for r in csv.DictReader(file) if r["workload"] == "heavy-bursts"}
    for size in ("5", "100"):
        for name in ("acquisition_wait", "overall"):
            assert reads_as(float(rows[size][f"{name}_mean_ns"]) / 1e6, numbers_of(sentence))
            shown = table_rows(tree_text, "answer")["heavy-bursts: 10 every 250 ms, 40 per second", size]
            assert reads_as(float(rows[size][f"{name}_mean_ns"]) / 1e6, shown)


def test_links_lead_only_to_sections_that_are_there(results, templates, monkeypatch):
    """Where a kind of study leaves sections out, nothing points to them, and their figures are not drawn."""
    monkeypatch.setattr(pool_size, "LEAVES_OUT", frozenset({"answer", "tail", "timeline", "own"}))
    page = undrawn(results, templates)
    ids = set(tree(page).xpath("//@id"))
    assert not {"answer", "tail", "timeline", "own"} & ids
    assert {h[1:] for h in tree(page).xpath("//a/@href") if h.startswith("#")} <= ids
    assert len(tree(page).xpath("//img")) == 5


def test_pdf_is_linked_only_where_it_is(results, templates):
    """Without a PDF beside it the page does not offer one."""
    assert "report.pdf" not in rendered(results, templates, pdf_available=False)


def test_same_results_give_the_same_page(results, templates, tmp_path):
    """Rendering twice into two places gives the same bytes."""
    html.render(results, templates, tmp_path / "a" / "x.html", pdf_available=True)
    html.render(results, templates, tmp_path / "b" / "y.html", pdf_available=True)
    assert (tmp_path / "a" / "x.html").read_bytes() == (tmp_path / "b" / "y.html").read_bytes()
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == ["result.txt", "x.html"]


@pytest.mark.parametrize("name", ["requests.parquet", "runs.csv", "conditions.parquet", "environment.json"])
def test_missing_file_is_named(tmp_path, templates, name):
    """A missing file is named with the next step, and nothing is written."""
    results = write(tmp_path / "r", Fake(window_s=1))
    (results / name).unlink()
    with pytest.raises(DataError, match=rf"{re.escape(name)}.*missing.*again"):
        html.render(results, templates, tmp_path / "out.html", pdf_available=True)
    assert not (tmp_path / "out.html").exists()


@pytest.mark.parametrize("name", ["requests.parquet", "runs.parquet", "environment.json", "cleanup.json"])
def test_truncated_file_is_named(tmp_path, templates, name):
    """A file that ends in the middle is named and refused."""
    results = write(tmp_path / "r", Fake(window_s=1))
    data = (results / name).read_bytes()
    (results / name).write_bytes(data[: len(data) // 2])
    with pytest.raises(DataError, match=re.escape(name)):
        html.render(results, templates, tmp_path / "out.html", pdf_available=True)


def test_incomplete_environment_is_named(tmp_path, templates):
    """A key that environment.json lacks is named instead of failing somewhere in a template."""
    results = write(tmp_path / "r", Fake(window_s=1))
    path = results / "environment.json"
    path.write_text(path.read_text().replace('"caps_enforced"', '"caps"'))
    with pytest.raises(DataError, match=r"environment\.json: lacks lab\.caps_enforced"):
        html.render(results, templates, tmp_path / "out.html", pdf_available=True)
