"""Figures: the same bytes each time, ink where there should be, and every awkward case drawn."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from fake_results import write
from fake_study import Fake
from lxml import etree

from poollab.report import context, figures
from poollab.report.figures import order, tail

CODE = """
import hashlib, sys
from pathlib import Path
from poollab.report import context, figures
for name, drawn in figures.draw_all(context.build(Path(sys.argv[1]))).items():
    print(name, *(hashlib.sha256(part["svg"]).hexdigest() for part in drawn["parts"]))
"""


def digests(results: Path, folder: Path) -> str:
    """Draw in a fresh process with another hash seed and working folder."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "workflow"), "PYTHONHASHSEED": str(len(folder.name))}
    return subprocess.run(
        [sys.executable, "-c", CODE, str(results)], env=env, cwd=folder, check=True, capture_output=True, text=True
    ).stdout


def test_same_bytes_in_two_processes(results, tmp_path):
    """Two processes, folders and hash seeds draw the same bytes; a matplotlibrc in one changes nothing."""
    (tmp_path / "a").mkdir()
    (tmp_path / "bb").mkdir()
    (tmp_path / "bb" / "matplotlibrc").write_text("lines.linewidth: 9\naxes.grid: True\n")
    first = digests(results, tmp_path / "a")
    assert len(first.splitlines()) == 8
    assert digests(results, tmp_path / "bb") == first


@pytest.mark.parametrize(
    "fake",
    [
        Fake(),
        pytest.param(Fake(bad={"heavy-bursts.pool-20.r2": "overloaded"}, far_out=9), marks=pytest.mark.slow),
        Fake(bad_condition="heavy-bursts.pool-100", window_s=2),
        Fake(repeats=1, pools=(5,), window_s=2),
        pytest.param(Fake(blocks=7), marks=pytest.mark.slow),
        pytest.param(Fake(window_s=1, repeats=1), marks=pytest.mark.slow),
        Fake(unmeasured=27),
    ],
    ids=["plain", "one bad", "condition bad", "one run", "seven blocks", "no support", "nothing"],
)
def test_every_case_is_drawn(tmp_path, fake):
    """Each figure is valid SVG with a title, text that stays text, and an alternative text."""
    drawn = figures.draw_all(context.build(write(tmp_path / "r", fake)))
    for figure in drawn.values():
        (part,) = figure["parts"]
        tree = etree.fromstring(part["svg"])
        assert tree.findtext("{*}title") == figure["heading"]
        assert "".join(tree.itertext("{*}text")).strip()
        assert len(part["alt"]) >= 30
        assert len(part["svg"]) < 150_000


def texts(figure):
    """List the texts of a figure's parts."""
    trees = [etree.fromstring(part["svg"]) for part in figure["parts"]]
    return ["".join(e.itertext()).strip() for tree in trees for e in tree.iter("{*}text")]


@pytest.mark.slow
def test_many_panels_go_on_in_a_further_part(tmp_path):
    """Panels that are higher than a page together are shared out, each with its own alternative text."""
    fake = Fake(pools=(1, 2, 5, 10, 20, 50, 100), limits=("half", "full"), repeats=1, blocks=2, window_s=2)
    drawn = figures.draw_all(context.build(write(tmp_path / "r", fake)))
    assert {name: len(f["parts"]) for name, f in drawn.items()} == {
        "tail": 3, "spectrum": 1, "intervals": 3, "timeline": 1, "order": 2, "delivered": 2, "limiter": 3, "stamps": 1,
    }  # fmt: skip
    first, *_, last = (part["alt"] for part in drawn["tail"]["parts"])
    assert "light-uniform, limits half" in first
    assert "light-uniform" not in last
    heights = [float(etree.fromstring(p["svg"]).get("height")[:-2]) for f in drawn.values() for p in f["parts"]]
    assert max(heights) <= 9.5 * 72


def test_numbers_in_figures_are_those_of_the_tables(results):
    """The overall mean at a bar's end reads as in the table, for each workload and pool."""
    made = context.build(results)
    shown = texts(figures.draw_all(made)["intervals"])
    for table in made["tables"]["intervals"]:
        for row in table["bodies"][0]["rows"]:
            assert row["cells"][4]["text"] in shown


def test_run_not_ok_is_a_cross_and_a_word(tmp_path):
    """A run that is not ok is drawn with another mark, and the pool's label says how many runs are ok."""
    fakes = {"a": Fake(window_s=3), "b": Fake(window_s=3, bad={"heavy-bursts.pool-20.r2": "errors"})}
    plain, bad = (figures.draw_one(tail, context.build(write(tmp_path / k, fake))) for k, fake in fakes.items())
    assert "2 of 3 runs ok" in " ".join(texts(bad))
    assert "2 of 3 runs ok" not in " ".join(texts(plain))
    assert plain["parts"] != bad["parts"]
    assert "[errors]" in str(bad["table"])


def test_labels_are_not_read_as_formulas(tmp_path):
    """A dollar in a text is a dollar."""
    made = context.build(write(tmp_path / "r", Fake(window_s=1)))
    made["groups"][0]["label"] = "costs $5 or $6"
    assert "costs $5 or $6" in texts(figures.draw_one(order, made))
