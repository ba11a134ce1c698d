"""Remove what labs left behind on this machine, and say what; measurements are never touched: `clean.py`."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow"))

from poollab.session.clean import clean
from poollab.session.entry import entry
from poollab.session.terminal import say

if __name__ == "__main__":
    entry(lambda: say(clean(ROOT)))
