"""The section of a comparison of two pools: tables, figure and template from cells with chosen times."""

import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from lxml import etree
from lxml import html as lxml_html

from poollab.report import analyses, figures, page
from poollab.report.figures import style

sys.path.insert(0, str(ROOT / "tests"))

from support import pools

from poollab.stats.analyses import pool_implementations

SLOW, FAST = [30.0] * 14 + [300.0], [10.0] * 15
ROWS = {"one.old": [SLOW] * 3, "one.new": [FAST] * 3, "two.old": [FAST, "errors", FAST], "two.new": [FAST] * 3}


def built(folder: Path, times: dict[str, Any]) -> dict[str, Any]:
    """Return what template and figure see."""
    made = pool_implementations.build(pools.results(folder, times))
    groups = [{"workload": name, "limits": ""} for name in ("one", "two")]
    found: dict[str, Any] = {"kind": "pool-implementations", "analysis": made, "groups": groups}
    return {**found, "special": analyses.module("pool-implementations").build(found)}


def section(made: dict[str, Any], target: str) -> str:
    """Fill the template."""
    drawn = {m.NAME: figures.draw_one(m, made) for m in analyses.module(made["kind"]).FIGURES}
    for part in drawn["speedup"]["parts"]:
        part["uri"] = "data:,"
    template = page._environment(ROOT / "reports" / "templates").get_template(
        "sections/analysis-pool-implementations.html.j2"
    )
    return template.render({**made, "figures": drawn, "target": target, "paper_rows": 200})


@pytest.mark.parametrize("target", ["html", "pdf"])
def test_section_is_filled(tmp_path, target):
    """Every table has a caption that names n, ids are unique, and nothing reads None or nan."""
    tree = lxml_html.document_fromstring(f"<main>{section(built(tmp_path, ROWS), target)}</main>")
    captions = ["".join(c.itertext()).strip() for c in tree.iter("caption")]
    assert len(captions) >= 5
    assert all("n = " in caption for caption in captions)
    ids = [e.get("id") for e in tree.iter() if e.get("id")]
    assert len(ids) == len(set(ids))
    assert not {"None", "nan"} & set(tree.text_content().replace(",", " ").split())


def test_every_family_says_what_is_timed(tmp_path):
    """The section explains each family that a study can name."""
    from poollab.study.benchmarks import FAMILIES  # noqa: PLC0415 - only to know the names

    tree = lxml_html.document_fromstring(f"<main>{section(built(tmp_path, ROWS), 'html')}</main>")
    assert {term.text_content() for term in tree.iter("dt")} == set(FAMILIES)


def test_the_figure_is_valid_and_the_same_again(tmp_path):
    """Its alternative text carries the finding; the same analysis draws the same bytes."""
    made = built(tmp_path, ROWS)
    module = analyses.module("pool-implementations").FIGURES[0]
    first, second = (figures.draw_one(module, made) for _ in range(2))
    assert [p["svg"] for p in first["parts"]] == [p["svg"] for p in second["parts"]]
    tree = etree.fromstring(first["parts"][0]["svg"])
    assert tree.findtext("{*}title") == first["heading"]
    assert float(tree.get("height")[:-2]) <= (style.MOST_INCHES + 1.5) * 72
    assert first["table"]["row_count"] == 2


def test_rows_without_a_run_that_counts_are_shown_as_missing(tmp_path):
    """Nothing measured is a dash with a word for it, and the section stands."""
    made = built(tmp_path, {"one.old": ["errors"] * 3, "one.new": [FAST] * 3})
    assert section(made, "html")
    assert made["analysis"]["headline"] == "No confirmed difference in 2 rows: 2 cannot tell."
    assert {row["arms"]["baseline"]["statuses"][0] for row in made["analysis"]["rows"]} == {"errors", "missing"}
