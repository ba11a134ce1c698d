"""End every block of a study and record it: `teardown.py CLEANUP_RECORD`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow"))

from poollab.session.entry import entry


def main() -> None:
    """Remove what the blocks' labs left and fail when anything remains."""
    from poollab.errors import LabError
    from poollab.session.paths import Paths
    from poollab.session.teardown import write_cleanup

    target = Path(sys.argv[1])
    remaining = write_cleanup(Paths.around(target), target)
    if remaining:
        raise LabError(f"the lab could not be removed: {'; '.join(remaining)}; run `make clean`")


if __name__ == "__main__":
    entry(main)
