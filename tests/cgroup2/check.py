"""Inside the machine: the smoke study in a service of root's, and in an ordinary user's with a delegated cgroup."""

import json
import subprocess
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

STUDY = "python3 -m snakemake --cores 1 --config study=smoke lab=embedded"
WAYS = {"root": (Path("/root"), []), "user": (Path("/home/user"), ["--property=User=user", "--property=Delegate=yes"])}


def say(who: str, text: str) -> None:
    """Print a line that the script outside looks for."""
    print(f"cgroup2: {who}: {text}", flush=True)


def run(who: str) -> Path:
    """Run the study as a service of its own and return its results folder."""
    home, properties = WAYS[who]
    service = ["systemd-run", "--wait", "--pipe", "--quiet", "--collect", f"--unit=smoke-{who}", *properties]
    surroundings = [f"--setenv=HOME={home}", "--setenv=LANG=C.UTF-8", f"--working-directory={home / 'project'}"]
    began = time.monotonic()
    done = subprocess.run([*service, *surroundings, *STUDY.split()], stdin=subprocess.DEVNULL, check=False)
    say(who, f"study ended with exit code {done.returncode} after {time.monotonic() - began:.0f} s")
    assert done.returncode == 0, done.returncode
    return home / "project" / "results" / "smoke"


def check(who: str, results: Path) -> None:
    """See that the caps held on v2, that every cell was measured, and that nothing is left."""
    about = json.loads((results / "environment.json").read_text("utf-8"))
    cells = [json.loads(path.read_text("utf-8")) for path in results.glob("cells/*/run.json")]
    say(who, f"{len(cells)} of {len(about['planned'])} runs: {dict(Counter(cell['status'] for cell in cells))}")
    assert len(cells) == len(about["planned"])
    say(who, f"caps enforced: {about['lab']['caps_enforced']} ({about['lab']['caps_note'] or 'no note'})")
    assert about["lab"]["caps_enforced"] is True
    for block in about["blocks"]:
        version = block["environment"]["cgroup_version"]
        say(who, f"block {block['block']}: cgroup version {version}, kernel {block['environment']['kernel']}")
        assert version == 2, version
        for side, proof in block["proof"].items():
            say(who, f"{side}: burn {proof['burn_cores']:.3f} cores, throttled {proof['burn_throttled']}")
            assert proof["enforced"] is True, proof
            assert proof["burn_throttled"] > 0, proof
    left = [*Path("/tmp").glob("poollab-*"), *Path("/sys/fs/cgroup").glob("**/poollab-*")]  # noqa: S108
    say(who, f"left behind: {[str(path) for path in left] or 'nothing'}")
    assert not left, left


def main() -> int:
    """Check both ways, and go on to the second when the first fails."""
    failed = []
    for who in WAYS:
        try:
            check(who, run(who))
            say(who, "passed")
        except Exception:  # noqa: BLE001 - every failure must print
            traceback.print_exc()
            say(who, "FAILED")
            failed.append(who)
    if not failed:
        print("cgroup2: all passed", flush=True)
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
