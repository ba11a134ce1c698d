# Open the study: validated, planned, and compared with what is measured already.
import sys
from pathlib import Path

from poollab.errors import PoollabError
from poollab.session.open import open_session, use_this_python
from poollab.session.terminal import looking

# Every command starts with plain `python3`: this interpreter, without a path of this machine in the text
# that Snakemake compares when it looks for changes.
use_this_python(ROOT)

try:
    SESSION = open_session(ROOT, config, looking=looking(sys.argv))
except PoollabError as error:
    print(error, file=sys.stderr)
    sys.exit(error.exit_code)

RESULTS = SESSION.folder

if Path.cwd().resolve() != ROOT:
    print(f"Nothing was started: run snakemake in the project's folder ({ROOT}), not in {Path.cwd()}", file=sys.stderr)
    sys.exit(2)


wildcard_constraints:
    cell=r"[a-z0-9.-]+",
    block=r"\d+",
