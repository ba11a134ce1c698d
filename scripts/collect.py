"""Join a study's cells into its tables: `collect.py ENVIRONMENT_RECORD`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow"))

from poollab.session.entry import entry
from poollab.stats.collect import collect

if __name__ == "__main__":
    entry(lambda: collect(Path(sys.argv[1]).parent))
