"""The picture of the workflow in workflow/README.md is the workflow."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def edges(text):
    """Return the arrows of a mermaid graph by the names of the rules; ids and order change from run to run."""
    names = dict(re.findall(r"(id\d+)\[(\w+)\]", text))
    return {(names[a], names[b]) for a, b in re.findall(r"(id\d+) --> (id\d+)", text)}


def test_the_readme_shows_the_present_rule_graph():
    """A rule that is added, removed or rewired makes the README's graph out of date, and this test says so."""
    text = (ROOT / "workflow" / "README.md").read_text("utf-8")
    shown = edges(text.partition("```mermaid\n")[2].partition("```")[0])
    command = [sys.executable, "-m", "snakemake", "--rulegraph", "mermaid-js", "--config", "results=results/none"]
    present = edges(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
    assert len(present) > 5
    assert shown == present
