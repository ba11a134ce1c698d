#!/bin/sh
# Make .venv hold exactly what requirements.lock names, and say what this machine lacks before anything starts.
#
#   sh scripts/setup.sh              with the first suitable python3
#   PYTHON=python3.12 sh scripts/setup.sh
#
# Exit codes: 0 ready (perhaps without the PDF report), 1 the installation failed, 2 this machine lacks something.
set -eu
cd -- "$(dirname -- "$0")/.."

say() { printf 'setup: %s\n' "$*"; }
fail() {
    code=$1
    shift
    printf 'setup: %s\n' "$@" >&2
    exit "$code"
}

# Locked packages with compiled parts exist for these versions of Python.
suits() { "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null; }

if [ -n "${PYTHON:-}" ]; then
    suits "$PYTHON" || fail 2 "PYTHON=$PYTHON is no Python 3.11 to 3.14; name one that is"
    python=$PYTHON
else
    python=
    for name in python3 python3.14 python3.13 python3.12 python3.11; do
        if suits "$name"; then python=$name && break; fi
    done
    [ -n "$python" ] || fail 2 "no Python 3.11 to 3.14 was found; install it, or name it: PYTHON=/path/to/python3.12 make env"
fi

# One look at the system: a line "lacks <apt package>" for each thing that is missing, then the stamp.
# The libraries are asked for as WeasyPrint does it, and by the same names.
look=$("$python" - <<'PY'
import ctypes, hashlib, importlib.util, os, pathlib, sys

def has(*names):
    for name in names:
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return True
    return False

def has_font():
    folders = ["/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts", "/Library/Fonts"]
    paths = [pathlib.Path(os.path.expanduser(folder)) for folder in folders]
    return any(True for path in paths for _ in path.rglob("DejaVuSans.ttf"))

wanted = {
    "python3-venv": all(importlib.util.find_spec(name) for name in ("venv", "ensurepip")),
    "libpango-1.0-0": has("libpango-1.0.so.0", "libpango-1.0-0", "libpango-1.0.dylib"),
    "libpangoft2-1.0-0": has("libpangoft2-1.0.so.0", "libpangoft2-1.0-0", "libpangoft2-1.0.dylib"),
    "libharfbuzz-subset0": has("libharfbuzz-subset.so.0", "libharfbuzz-subset-0", "libharfbuzz-subset.0.dylib"),
    "fonts-dejavu-core": has_font(),
}
for package, present in wanted.items():
    if not present:
        print("lacks", package)
lock = hashlib.sha256(pathlib.Path("requirements.lock").read_bytes()).hexdigest()
print("python", "%d.%d" % sys.version_info[:2])
print("lock", lock)
PY
) || fail 1 "$python could not look at this machine"
field() { printf '%s\n' "$look" | sed -n "s/^$1 //p"; }

lacking=$(field lacks | tr '\n' ' ')
lacking=${lacking% }
sudo=
[ "$(id -u)" = 0 ] || sudo="sudo "
cure="${sudo}apt-get install --no-install-recommends $lacking"
case " $lacking " in
    *" python3-venv "*) fail 2 "$python cannot make an environment of its own; nothing was started. This cures it:" "  $cure" ;;
    "  ") ;;
    *)
        say "no PDF report can be made on this machine; all else works. This cures it:"
        say "  $cure"
        ;;
esac

# A venv holds absolute paths, so a moved or copied project gets a new one.
want="lock $(field lock) in $PWD"
is_current() {
    [ "$(cat .venv/poollab.stamp 2>/dev/null)" = "$want" ] &&
        has_version=$(.venv/bin/python -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) &&
        { [ -z "${PYTHON:-}" ] || [ "$has_version" = "$(field python)" ]; }
}
if is_current; then exit 0; fi

# The lock is held by this shell's descriptor 9 and ends with it, however it ends.
exec 9>.venv.lock
"$python" -c 'import fcntl; fcntl.flock(9, fcntl.LOCK_EX | fcntl.LOCK_NB)' 2>/dev/null || {
    say "another setup is at work in this folder; waiting for it"
    "$python" -c 'import fcntl; fcntl.flock(9, fcntl.LOCK_EX)' || fail 1 "this folder cannot be locked; move the project to a disk of this machine"
}
if is_current; then exit 0; fi

count=$(grep -c '^[a-z0-9].*==' requirements.lock)
say "installing $count locked packages into .venv (once; a minute or two)"
trap 'fail 130 "interrupted; the same command starts the installation again"' INT TERM HUP
log=.venv/setup.log
{
    rm -rf .venv &&
        "$python" -m venv .venv &&
        .venv/bin/python -m pip install --quiet --no-input --disable-pip-version-check \
            --require-hashes -r requirements.lock >"$log" 2>&1
} || {
    [ ! -s "$log" ] || tail -n 30 "$log" >&2
    fail 1 "the installation failed (above: the end of $log); mend the cause, then the same command starts again"
}
# Written last and moved into place: an installation that was broken off has no stamp and is done anew.
printf '%s\n' "$want" >.venv/poollab.stamp.part
mv .venv/poollab.stamp.part .venv/poollab.stamp
say "ready"
