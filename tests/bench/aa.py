"""How often the comparison of pools claims something where there is nothing: aa-pools, five times by default."""

import json
import shutil
import subprocess
import sys
import time

import rig

GOAL, STUDY = 0.05, "aa-pools"
#: A safety stop loses nothing: the same command goes on, so often.
ATTEMPTS, SAFETY_STOP = 6, 75


def main(studies: int = 5) -> None:
    """Run the study again and again, each in a results folder of its own; print what each called different."""
    rows = claimed = 0
    print(f"The same pool measured twice: {STUDY}, {studies} studies")
    for number in range(1, studies + 1):
        folder = rig.ROOT / "results" / "bench-aa"
        shutil.rmtree(folder, ignore_errors=True)
        begun = time.time()
        stops = _measure()
        found = json.loads((folder / STUDY / "analysis.json").read_text("utf-8"))
        aa, counts = found["aa"], {word: n for word, n in found["counts"].items() if n}
        rows, claimed = rows + aa["rows"], claimed + len(aa["claimed"])
        print(
            f"  {number}: {counts}, claimed {aa['claimed'] or 'nothing'}, {(time.time() - begun) / 60:.1f} min, "
            f"{stops} safety stops",
            flush=True,
        )
        shutil.rmtree(folder, ignore_errors=True)
    share = f"{claimed / rows:.1%}" if rows else "no share"
    print(f"  {claimed} of {rows} rows that could be told were called different: {share} (goal at most {GOAL:.0%})")


def _measure() -> int:
    """Measure the study whole; return how often it was broken off by a busy host."""
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--config", f"study={STUDY}", "lab=embedded"]
    for stops in range(ATTEMPTS):
        done = subprocess.run(
            [*command, "results=results/bench-aa"], cwd=rig.ROOT, capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            return stops
        if done.returncode != SAFETY_STOP:
            break
    sys.exit(f"  {STUDY} ended with {done.returncode}: {done.stdout[-500:]} {done.stderr[-500:]}")


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
