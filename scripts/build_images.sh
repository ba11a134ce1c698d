#!/bin/sh
# Builds the images of the docker lab (make images): the official bases where a registry answers, else offline.
#
#   PYTHON   the Python whose environment holds the locked packages (default: .venv/bin/python)
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
python=${PYTHON:-$root/.venv/bin/python}
if ! command -v "$python" >/dev/null; then
    echo "build_images: $python is missing; make the environment first, or set PYTHON" >&2
    exit 2
fi
PYTHONPATH=$root/workflow exec "$python" -c 'import sys; from poollab.lab.docker_images import main; sys.exit(main())'
