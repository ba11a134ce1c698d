"""
Run the benchmarks: all but aa and wall-docker, or those that are named.

Ratios from one run on one machine; nothing here is asserted, since a shared machine would make it lie.
"""

import os
import platform
import sys
from datetime import UTC, datetime

import aa
import cpu
import delay
import honesty
import rate
import rig
import scale
import stub
import wall

PARTS = {
    "delay": delay.main,
    "cpu": cpu.main,
    "rate": rate.main,
    "wall": wall.main,
    "honesty": honesty.main,
    "scale": scale.main,
    "stub": stub.main,
    "aa": aa.main,
    "wall-docker": lambda: wall.main("docker"),
}


def main(names: list[str]) -> int:
    """Run the named parts in order."""
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        print(f"unknown: {', '.join(unknown)}; known: {', '.join(PARTS)}", file=sys.stderr)
        return 2
    # For the parts that start processes of their own, when this is not called by make.
    os.environ["PYTHONPATH"] = str(rig.ROOT / "workflow")
    system = f"{platform.machine()}, Linux {platform.release()}, Python {platform.python_version()}"
    print(f"{datetime.now(UTC):%Y-%m-%d}, {system}", flush=True)
    for name in names or ["delay", "cpu", "rate", "wall", "honesty", "scale", "stub"]:
        PARTS[name]()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
