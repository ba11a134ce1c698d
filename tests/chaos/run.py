"""
Break a study off N times in random ways at random moments, and see it finished by the same command each time.

    python tests/chaos/run.py [N] [embedded|docker|both] [SEED]

After each way: the command ends by itself, nothing of ours is left on the machine, the same command finishes the
study, every request is there exactly once, the cells were measured in the planned order, and every block stands in
the records with the confirmation that its lab was removed.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "workflow"), str(Path(__file__).parent)]

import pyarrow.parquet as pq  # noqa: E402
import ways  # noqa: E402

RESULTS = "results/chaos"
STUDY = ROOT / RESULTS / "mini"
#: Requests of the study: 2 cells of 1 s with one request every 10 ms.
EXPECTED = 200
ENDS_WITHIN_S = 60.0


def start(lab: str) -> subprocess.Popen[str]:
    """Start the study in a process group of its own."""
    words = [sys.executable, "-m", "snakemake", "--cores", "1", "--configfile", "tests/chaos/loose.yaml"]
    words += ["--config", "study=tests/chaos/mini.yaml", f"lab={lab}", f"results={RESULTS}"]
    return subprocess.Popen(
        words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )


def wait(command: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for the end (bounded); return exit code and output."""
    try:
        text, _ = command.communicate(timeout=ENDS_WITHIN_S)
    except subprocess.TimeoutExpired:
        os.killpg(command.pid, 9)
        text, _ = command.communicate()
        return -999, text + f"\nDID NOT END within {ENDS_WITHIN_S:g} s"
    return command.returncode, text


def clean_within(lab: str, seconds: float) -> list[str]:
    """Return what is left behind once it is nothing, or what is still left after some seconds."""
    deadline = time.monotonic() + seconds
    while (left := ways.left_behind(lab, ROOT / RESULTS)) and time.monotonic() < deadline:
        time.sleep(0.2)
    return left


def read(path: Path) -> Any:
    """Read a record."""
    return json.loads(path.read_text("utf-8"))


def out_of_order() -> list[str]:
    """Compare the order in which the cells were measured with the planned one; return what differs."""
    runs = sorted(map(read, STUDY.glob("cells/*/run.json")), key=lambda run: (run["block"], run["zero_ns"]))
    executed, planned = [run["cell"] for run in runs], read(STUDY / "state" / "session.json")["planned"]
    return [] if executed == planned else [f"executed {executed}, planned {planned}"]


def unrecorded(blocks: list[Path]) -> list[str]:
    """Return which blocks are missing from the study's record, or had a lab that was not confirmed as removed."""
    record = read(STUDY / "environment.json")
    known = {block["block"] for block in [*record["blocks"], *record["fruitless"]]}
    faults = [f"block {folder.name} is not recorded" for folder in blocks if int(folder.name) not in known]
    for folder in blocks:
        # One that was broken off before it had a lab has none to remove.
        if (folder / "lab.json").exists():
            ended = folder / "teardown.json"
            confirmed = ended.exists() and read(ended)["confirmed"]
            faults += [] if confirmed else [f"removal of block {folder.name} is not confirmed"]
    return faults


def once(lab: str, way: str, delay: float) -> tuple[list[str], int]:
    """Break the study off once and finish it; return what was wrong and how many blocks it took."""
    shutil.rmtree(ROOT / RESULTS, ignore_errors=True)
    command = start(lab)
    try:
        command.wait(timeout=delay)
    except subprocess.TimeoutExpired:
        ways.WAYS[lab][way](command)
    code, text = wait(command)
    faults = [f"after the break: {item}" for item in clean_within(lab, 8.0)]
    faults += ["a traceback was shown"] if "Traceback" in text else []
    faults += [f"did not end: {text[-300:]}"] if code == -999 else []
    tries = 0
    while code != 0 and tries < 2:
        code, text = wait(start(lab))
        tries += 1
    if code != 0:
        return [*faults, f"could not be finished, exit {code}: {text[-600:]}"], 0
    rows = pq.read_table(STUDY / "requests.parquet").to_pandas()
    if len(rows) != EXPECTED or rows.duplicated(["cell", "request"]).any():
        faults.append(f"{len(rows)} requests, expected {EXPECTED} each once")
    blocks = sorted(path for path in (STUDY / "state" / "blocks").iterdir() if path.name.isdigit())
    faults += out_of_order() + unrecorded(blocks)
    return faults + [f"after the end: {item}" for item in clean_within(lab, 3.0)], len(blocks)


def main(count: int, labs: list[str], seed: int) -> int:
    """Go through the ways of each lab in random order until the count is reached."""
    chance, bad, blocks = random.Random(seed), 0, 0  # noqa: S311 - chance, no secret
    for lab in labs:
        names = list(ways.WAYS[lab])
        order = [name for _ in range(-(-count // len(names))) for name in chance.sample(names, len(names))][:count]
        for number, way in enumerate(order, start=1):
            delay = chance.uniform(0.8, 7.0 if lab == "embedded" else 9.0)
            faults, took = once(lab, way, delay)
            bad, blocks = bad + bool(faults), blocks + took
            print(f"[{lab} {number}/{count}] {way} after {delay:.1f} s: {'; '.join(faults) or 'clean'}", flush=True)
    shutil.rmtree(ROOT / RESULTS, ignore_errors=True)
    total = count * len(labs)
    proven = f"all {EXPECTED} requests once, in the planned order, nothing left, {blocks} blocks recorded"
    print(f"{total - bad} of {total} clean{'' if bad else f': {proven}'} (seed {seed})")
    return 1 if bad else 0


if __name__ == "__main__":
    arguments = sys.argv[1:]
    wanted = arguments[1] if len(arguments) > 1 else "embedded"
    sys.exit(
        main(
            int(arguments[0]) if arguments else 30,
            ["embedded", "docker"] if wanted == "both" else [wanted],
            int(arguments[2]) if len(arguments) > 2 else int(time.time()),
        )
    )
