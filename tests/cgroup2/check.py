# ruff: noqa: S108, PLC0415, BLE001 - a machine of its own, in which every failure must print
"""Inside the machine: the embedded lab on cgroup v2, as root or as an ordinary user with a subtree of their own."""

import os
import sys
import traceback
from pathlib import Path


def check(who: str) -> None:
    """Start a lab, prove its caps, measure a cell under them, and see that nothing is left."""
    from poollab.lab import seeding
    from poollab.lab.cgroup import Group
    from poollab.lab.embedded import EmbeddedLab
    from poollab.lab.place import Owner
    from poollab.run.cell import measure
    from poollab.run.guard import Guard, Thresholds
    from poollab.session.plan_file import cells
    from poollab.study.files import load_study

    study = load_study(Path("/poollab/mini.yaml"))
    plan = next(iter(cells(study, "mini").values()))
    lab = EmbeddedLab.new(Owner.this_process())
    try:
        lab.start(lambda _: None, {k: str(v) for k, v in study.database.settings.items()}, study.database.major)
        seeding.seed(lab.admin_dsn(), {name: table.rows for name, table in study.database.tables.items()})
        group = Group.from_json(lab.record.detail["group"])
        assert group.version == 2, group
        lab.set_caps(plan.caps("database"), plan.caps("load_generator"))
        for proof in lab.prove(1.0):
            say(who, f"burn {proof.burn_cores:.3f} cores, throttled {proof.burn_throttled}, caps {proof.caps}")
            assert proof.enforced, proof
        reading = lab.database_counters().read()
        seen = (reading.cpu_ns, reading.periods, reading.throttled, reading.memory_bytes, reading.shmem_bytes)
        assert None not in seen, reading
        limits = Thresholds(1, 1000, 1, 0, 0, 200, 2, 30)
        out = Path("/tmp") / f"cell-{who}"
        record = measure(lab, plan, out, 1, Guard(limits, [], [Path("/tmp")]), enforced=True)
        say(who, f"cell {record['status']}: {record['reasons'] or 'no reasons'}; sessions {record['sessions_before']}")
        assert record["sessions_before"] == plan.settings["arm"]["size"], record["sessions_before"]
        assert record["files"]["requests.parquet"]["rows"] == 100
        assert "errors" not in record["status"], record
    finally:
        lab.remove()
    assert lab.leftovers() == [], lab.leftovers()


def say(who: str, text: str) -> None:
    """Print a line that the script outside looks for."""
    print(f"cgroup2: {who}: {text}", flush=True)


if __name__ == "__main__":
    if sys.argv[1] != "root":
        os.setgroups([])
        os.setgid(int(sys.argv[1]))
        os.setuid(int(sys.argv[1]))
    try:
        check(sys.argv[1])
    except BaseException:
        traceback.print_exc()
        say(sys.argv[1], "FAILED")
        sys.exit(1)
    say(sys.argv[1], "passed")
