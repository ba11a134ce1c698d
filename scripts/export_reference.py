"""
Write the JSON Schemas and the tables of config/README.md from the model, or check that they are current.

    python scripts/export_reference.py [--check]
"""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "workflow"))

from poollab.errors import PoollabError
from poollab.study import reference


def main(words: list[str] | None = None) -> int:
    """Return 0 when all files are current (or were written), 1 when --check found stale ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a file is not current")
    check = parser.parse_args(words).check
    texts = reference.outputs(ROOT)
    stale = [path for path, text in texts.items() if not path.is_file() or path.read_text("utf-8") != text]
    for path in stale:
        if check:
            print(f"{path.relative_to(ROOT)}: is not current; run scripts/export_reference.py", file=sys.stderr)
        else:
            path.write_text(texts[path], "utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PoollabError as error:
        sys.exit(str(error))
