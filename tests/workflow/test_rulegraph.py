"""The picture of the workflow in workflow/README.md is the workflow."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_readme_shows_the_present_rule_graph():
    """A rule that is added, removed or rewired makes the README's graph out of date, and this test says so."""
    text = (ROOT / "workflow" / "README.md").read_text("utf-8")
    shown = text.partition("```mermaid\n")[2].partition("```")[0].strip()
    command = [sys.executable, "-m", "snakemake", "--rulegraph", "mermaid-js", "--config", "results=results/none"]
    present = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    assert shown == present
