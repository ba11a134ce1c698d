"""
How long do request rows take to become tables, and how much memory?

Cells of a million simulated rows each (a run of 100,000, ten times one after another) go through the product's own
join, in a process of its own: seconds, and its largest resident memory. Twice, to see what twice the rows cost.
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support import simulator
from support.cells import Folder

from poollab.stats.rows import Rows

SHORT, TIMES = 100_000, 10
EVERY_MS = 0.5
#: Workloads x two pools x three repeats, of a million rows each.
STEPS = (2, 5)


def rows(size: int, seed: int) -> Rows:
    """Return a million requests."""
    load = simulator.Load("load", 10, EVERY_MS * 10, 0.15, window_s=SHORT * EVERY_MS / 1000)
    one = simulator.run(load, size, 1.0, simulator.World(cores=1.0), np.random.default_rng(seed))
    shift = np.repeat(np.arange(TIMES) * round(load.window_s * 1e9), SHORT)
    long = [np.tile(getattr(one, f"{name}_ns"), TIMES) + shift
            for name in ("scheduled", "started", "acquired", "result", "released")]  # fmt: skip
    return simulator.rows(*long)


def make(path: Path, workloads: int) -> int:
    """Write the cells; return the number of rows."""
    names = {f"load-{i}": {"bursts": {"size": 10, "every_ms": EVERY_MS * 10}} for i in range(workloads)}
    folder = Folder(path, names, [5, 20], SHORT * TIMES * EVERY_MS / 1000)
    drawn = {(size, r): rows(size, r) for size in (5, 20) for r in (1, 2, 3)}
    for name in names:
        for (size, repeat), requests in drawn.items():
            folder.add(name, size, repeat, requests)
    folder.finish()
    return len(folder.cells) * SHORT * TIMES


def join(path: Path) -> None:
    """Join a folder's cells; print seconds and peak memory, of the tables and then of everything."""
    from poollab.data import store  # noqa: PLC0415 - its import belongs to what is measured
    from poollab.stats import collect  # noqa: PLC0415

    begun = time.perf_counter()
    session = store.read_json(path / "state" / "session.json")
    records = [store.read_json(path / "cells" / cell / "run.json") for cell in session["planned"]]
    collect.tables(path, records, session["cells"], session["study"]["model"], study="simulated")
    print(_since(begun), flush=True)
    begun = time.perf_counter()
    collect.collect(path)
    print(_since(begun))


def _since(begun: float) -> str:
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return f"{time.perf_counter() - begun:.1f} s, {peak_mib:.0f} MiB at most"


def main() -> None:
    """Print rows, seconds and peak memory."""
    for workloads in STEPS:
        with tempfile.TemporaryDirectory(prefix="poollab-scale-") as folder:
            count = make(Path(folder), workloads)
            done = subprocess.run([sys.executable, __file__, folder], capture_output=True, text=True, check=True)
            tables, both = done.stdout.splitlines()
            print(f"scale: {count:,} rows to tables in {tables}", flush=True)
            print(f"  to everything (tables, analysis.json, series.json) in {both}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        join(Path(sys.argv[1]))
    else:
        main()
