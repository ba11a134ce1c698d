"""
Break a study off N times in random ways at random moments, and see it finished by the same command each time.

    python tests/chaos/run.py [N] [embedded|docker|both] [SEED]

After each way: the command ends by itself, nothing of ours is left on the machine, the same command finishes the
study, and every request is there exactly once.
"""

import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "workflow"), str(Path(__file__).parent)]

import pyarrow.parquet as pq  # noqa: E402
import ways  # noqa: E402

RESULTS = "results/chaos"
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


def once(lab: str, way: str, delay: float) -> list[str]:
    """Break the study off once and finish it; return what was wrong."""
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
        return [*faults, f"could not be finished, exit {code}: {text[-600:]}"]
    rows = pq.read_table(ROOT / RESULTS / "mini" / "requests.parquet").to_pandas()
    if len(rows) != EXPECTED or rows.duplicated(["cell", "request"]).any():
        faults.append(f"{len(rows)} requests, expected {EXPECTED} each once")
    return faults + [f"after the end: {item}" for item in clean_within(lab, 3.0)]


def main(count: int, labs: list[str], seed: int) -> int:
    """Go through the ways of each lab in random order until the count is reached."""
    chance, bad = random.Random(seed), 0  # noqa: S311 - chance, no secret
    for lab in labs:
        names = list(ways.WAYS[lab])
        order = [name for _ in range(-(-count // len(names))) for name in chance.sample(names, len(names))][:count]
        for number, way in enumerate(order, start=1):
            delay = chance.uniform(0.8, 7.0 if lab == "embedded" else 9.0)
            faults = once(lab, way, delay)
            bad += bool(faults)
            print(f"[{lab} {number}/{count}] {way} after {delay:.1f} s: {'; '.join(faults) or 'clean'}", flush=True)
    shutil.rmtree(ROOT / RESULTS, ignore_errors=True)
    print(f"{count * len(labs) - bad} of {count * len(labs)} clean (seed {seed})")
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
