"""Wall time of the whole main study, from the command to the report, beside the sum of its windows."""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import rig

GOALS = {"embedded": 1.15, "docker": 1.25}


def main(lab: str = "embedded", study: str = "pool-size") -> None:
    """Run the study in a results folder of its own and print where the time went."""
    results = rig.ROOT / "results" / f"bench-{lab}"
    shutil.rmtree(results, ignore_errors=True)
    begun = time.time()
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--config", f"study={study}", f"lab={lab}"]
    done = subprocess.run([*command, f"results=results/bench-{lab}"], cwd=rig.ROOT, check=False)
    if done.returncode:
        print(f"Wall time: not measured, the study ended with exit code {done.returncode}; its message stands above")
        return
    report(results / study, begun, time.time(), lab)
    shutil.rmtree(results, ignore_errors=True)


def report(results: Path, begun: float, ended: float, lab: str) -> None:
    """Print the ratio and the parts."""
    session = json.loads((results / "state" / "session.json").read_text("utf-8"))
    windows = session["study"]["model"]["windows"]
    each = windows["warm_up_s"] + windows["measure_s"]
    runs = sorted((results / "cells").glob("*/run.json"), key=lambda p: p.stat().st_mtime)
    kept = [path.stat().st_mtime for path in runs]
    block = (results / "state" / "blocks" / "1" / "block.json").stat().st_mtime
    cleanup = (results / "cleanup.json").stat().st_mtime
    total, measured = ended - begun, each * len(runs)
    print(f"Wall time of {session['study']['name']} on the {lab} lab: {total:.1f} s for {measured:.0f} s of windows")
    print(f"  start to database ready {block - begun:.1f} s")
    print(f"  cells {kept[-1] - block:.1f} s: {(kept[-1] - block) / len(runs) - each:.2f} s a cell beyond its windows")
    print(f"  teardown {cleanup - kept[-1]:.1f} s; tables, report and package {ended - cleanup:.1f} s")
    print(f"  ratio {total / measured:.3f}x (goal {GOALS[lab]:.2f}x)")


if __name__ == "__main__":
    main(*sys.argv[1:])
