"""The command before anything is measured: wrong files, a look at the plan, and the graph itself."""

import re
import subprocess
import sys
from typing import Any

import pytest
from support import facts
from support.project import Project, environment

WRONG: list[tuple[str, dict[str, Any], dict[str, Any], list[str]]] = [
    ("a pool larger than the server", {"pools": [1, 60]}, {}, ["pools = 60", "max_connections", "64 connections"]),
    (
        "several faults at once",
        {"windows.measure_s": -1, "repeats": 0, "titel": "x"},
        {},
        ["windows.measure_s = -1", "repeats = 0", "titel: is not a known key; did you mean title?"],
    ),
    ("a wrong machine file", {}, {"lab": "kubernetes"}, ["config/config.yaml", "lab = 'kubernetes'"]),
]


@pytest.mark.parametrize(("what", "study", "machine", "said"), WRONG, ids=[row[0] for row in WRONG])
def test_wrong_files_stop_before_anything(
    fresh: Project, what: str, study: dict[str, Any], machine: dict[str, Any], said: list[str]
) -> None:
    """A wrong file is exit 2 with every fault in plain words, no traceback, and nothing started."""
    fresh.study(study)
    fresh.machine({"lab": "embedded", "study": "tiny", **machine})
    before = facts.labs()
    done = fresh.run()
    assert done.code == 2, done
    for text in said:
        assert text in done.text
    assert "Traceback" not in done.text
    assert done.text.count("Nothing was started") == 1
    assert not fresh.results.exists()
    assert facts.labs() <= before


@pytest.mark.parametrize(
    ("results", "said"),
    [("README.md", "is a file"), ("a{b}", "without braces"), ("-x", "no hyphen at its start")],
)
def test_a_results_folder_that_cannot_be_is_refused(fresh: Project, results: str, said: str) -> None:
    """What the workflow or the system would stumble over is a fault of config.yaml with exit 2."""
    (fresh.folder / "README.md").write_text("", "utf-8")
    fresh.machine({"lab": "embedded", "study": "tiny", "results": results})
    done = fresh.run()
    assert done.code == 2, done
    assert "config/config.yaml: results" in done.text
    assert said in done.text
    assert "Traceback" not in done.text


def test_a_file_in_the_place_of_the_results_is_named(fresh: Project) -> None:
    """A plain file where the study's folder would be ends with exit 2 before a server is started."""
    (fresh.folder / "results").mkdir()
    fresh.results.write_text("", "utf-8")
    done = fresh.run()
    assert done.code == 2, done
    assert "is no folder; move it away" in done.text
    assert "Traceback" not in done.text


def test_an_unknown_study_is_named(fresh: Project) -> None:
    """A misspelt study gives the name that was meant."""
    done = fresh.run(config=("study=tinny",))
    assert done.code == 2, done
    assert "did you mean tiny?" in done.text
    assert "Traceback" not in done.text


def test_dry_run_lists_the_cells_and_starts_nothing(fresh: Project) -> None:
    """`snakemake -n` shows every cell that is due and touches neither the machine nor the results."""
    before = facts.labs()
    done = fresh.run("-n")
    assert done.code == 0, done
    named = set(re.findall(r"cells/([a-z0-9.-]+)/run\.json", done.text))
    assert named == {f"light.pool-{size}.r{repeat}" for size in (1, 3) for repeat in (1, 2)}
    assert not fresh.results.exists()
    assert facts.labs() <= before
    assert fresh.traces() == []


def test_dry_run_of_a_finished_study_lists_none(finished: Project) -> None:
    """On a finished study there is nothing to do, and the dry run says so."""
    done = finished.run("-n")
    assert done.code == 0, done
    assert "Nothing to be done" in done.text
    assert "measure_cell" not in done.text


def test_lint_passes(fresh: Project) -> None:
    """Snakemake's own linter has nothing to say about the workflow."""
    done = fresh.run("--lint")
    assert done.code == 0, done
    assert "Congratulations" in done.text


@pytest.mark.parametrize("study", ["pool-size", "smoke", "tiny"])
def test_the_rule_graph_builds(fresh: Project, study: str) -> None:
    """Every study that is shipped makes a graph of the same rules, in which a cell needs its block."""
    done = fresh.run("--rulegraph", config=(f"study={study}",))
    assert done.code == 0, done
    rules = set(re.findall(r'label = "(\w+)"', done.text))
    assert {"begin_block", "measure_cell", "end_blocks", "collect_tables", "render_html", "publish"} <= rules


def test_another_folder_is_refused(fresh: Project) -> None:
    """Run from a wrong folder the command says which one is right instead of making results there."""
    words = [sys.executable, "-m", "snakemake", "--cores", "1", "-s", str(fresh.folder / "Snakefile")]
    elsewhere = fresh.folder / "config"
    done = subprocess.run(words, cwd=elsewhere, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode in {1, 2}
    assert "Traceback" not in done.stderr + done.stdout
    assert not (elsewhere / "results").exists()
