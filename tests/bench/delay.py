"""Scheduling delay of the load generator beside pgbench's schedule lag, capped alike on one server."""

import re
import statistics
import subprocess
from pathlib import Path

import rig

from poollab.lab import binaries, child
from poollab.lab.base import ROLE

PAIRS, SECONDS = 5, 12
SCRIPT = "\\set id random(1, 20000)\nSELECT balance FROM pool_lab WHERE id = :id;\n"


def pgbench(lab: rig.BenchLab) -> float:
    """Run pgbench at 200 transactions a second (Poisson arrivals); return its mean schedule lag in ms."""
    script = Path(lab.record.folder) / "light.sql"
    script.write_text(SCRIPT, "utf-8")
    words = [binaries.install_folder() / "pginstall" / "bin" / "pgbench", "-n", "-R", "200", "-M", "prepared"]
    words += ["-c", "20", "-j", "1", "-T", str(SECONDS), "-f", script, "-h", lab.record.socket, "-U", ROLE, "postgres"]
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        check=True,
        env=child.clean_environment(),
        preexec_fn=child.become(binaries.Account(None, None), lab._side("generator")),
    )
    lag = re.search(r"schedule lag: avg ([\d.]+)", done.stdout)
    if lag is None:
        raise SystemExit(f"pgbench printed no schedule lag:\n{done.stdout}")
    return float(lag[1])


def main() -> None:
    """Print both means for each pair, and the median of the ratios."""
    plan, ratios = rig.light_plan(), []
    print("Mean scheduling delay, light-uniform, 200/s, both capped at 0.5 core on one server; pgbench is Poisson")
    with rig.capped_lab(plan) as lab:
        for pair in range(1, PAIRS + 1):
            ours, theirs = rig.run(lab, plan)["delay_ns"] / 1e6, pgbench(lab)
            ratios.append(ours / theirs)
            print(f"  pair {pair}: poollab {ours:.3f} ms, pgbench -R {theirs:.3f} ms, ratio {ratios[-1]:.2f}")
    print(f"  median ratio {statistics.median(ratios):.2f}x (goal 1.0x)")


if __name__ == "__main__":
    main()
