"""Measure one cell of the present block: `measure.py RUN_RECORD BLOCK_RECORD`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow"))

from poollab.session.entry import entry


def main() -> None:
    """Measure."""
    from poollab.session.cell import measure_cell

    measure_cell(Path(sys.argv[1]), Path(sys.argv[2]))


if __name__ == "__main__":
    entry(main)
