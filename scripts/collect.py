"""Join a study's cells into its tables: `collect.py ENVIRONMENT_RECORD`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow"))

from poollab.session.entry import entry


def main() -> None:
    """Join."""
    from poollab.stats.collect import collect

    collect(Path(sys.argv[1]).parent)


if __name__ == "__main__":
    entry(main)
