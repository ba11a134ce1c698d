"""Nothing left behind: processes, control groups, shared memory, sockets and files, after every kind of ending."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support import facts, labs

from poollab.errors import LabError
from poollab.lab import groups, leftovers, place, procs
from poollab.lab.base import Caps, LabRecord
from poollab.lab.embedded import EmbeddedLab

WORKFLOW = Path(__file__).resolve().parents[2] / "workflow"
#: Starts a lab on its own behalf, says where it is, and does as it is told.
OWNER = """
import json, os, sys
from poollab.lab import place
from poollab.lab.base import Caps
from poollab.lab.embedded import EmbeddedLab
lab = EmbeddedLab.new(place.Owner.this_process())
lab.start(lambda _: None, {"max_connections": "20", "shared_buffers": "1MB"}, 16)
print(json.dumps(lab.record.to_json()), flush=True)
sys.stdin.readline()
os._exit(0)
"""


def _leave_traces(lab: EmbeddedLab) -> list[str]:
    """Say what of a lab exists, by looks of our own."""
    token, folder = lab.record.token, lab.record.folder
    found = [f"process {pid}" for pid in facts.processes_in(folder)]
    found += facts.cgroups_of(token)
    found += [str(segment) for segment in facts.segments() if segment == lab.record.detail.get("segment")]
    return found + ([folder] if Path(folder).exists() else [])


def _make() -> EmbeddedLab:
    lab = EmbeddedLab.new(place.Owner.this_process())
    lab.start(lambda _record: None, labs.SETTINGS, 16)
    return lab


def test_removal_leaves_nothing() -> None:
    """After removal no process, group, shared memory or file of the lab exists, and what went is counted."""
    lab = _make()
    assert facts.processes_in(lab.record.folder)
    assert lab.record.detail["segment"] in facts.segments()
    assert len(lab.leftovers()) >= 3
    removed = lab.remove()
    assert _leave_traces(lab) == []
    assert lab.leftovers() == []
    assert removed["process"] >= 5
    assert removed["file"] > 500
    if labs.capped(lab):
        assert removed["cgroup"] >= 3


def test_removing_twice_is_fine() -> None:
    """A second removal finds nothing and harms nobody."""
    lab = _make()
    lab.remove()
    again = lab.remove()
    assert set(again.values()) == {0}
    assert lab.leftovers() == []


def test_removal_by_another_process() -> None:
    """The record alone is enough to remove a lab: that is how a later process cleans up."""
    lab = _make()
    copy = EmbeddedLab(type(lab.record)(**lab.record.to_json()))
    copy.remove()
    assert _leave_traces(lab) == []


def test_removal_of_a_frozen_server() -> None:
    """A server of which every process is stopped is removed like any other."""
    lab = _make()
    for pid in facts.processes_in(lab.record.folder):
        os.kill(pid, 19)
    lab.remove()
    assert _leave_traces(lab) == []


def test_removal_after_the_postmaster_was_killed() -> None:
    """When the postmaster died hard its orphans and its shared memory are removed as well."""
    lab = _make()
    os.kill(lab.record.detail["postmaster"][0], 9)
    lab.remove()
    assert _leave_traces(lab) == []


def test_removal_of_what_never_started() -> None:
    """A lab that got no further than its folder is removed too."""
    lab = EmbeddedLab.new(place.Owner.this_process())
    assert lab.leftovers() == [f"folder {lab.record.folder}"]
    lab.remove()
    assert _leave_traces(lab) == []


@pytest.mark.parametrize(
    ("settings", "major", "said"),
    [
        ({"shared_buffers": "lots"}, 16, "shared_buffers"),
        ({"no_such_setting": "1"}, 16, "no_such_setting"),
        ({}, 15, "database.major = 15"),
    ],
)
def test_a_failed_start_is_explained_and_removable(settings: dict[str, str], major: int, said: str) -> None:
    """A server that does not come up gives its own reason, and its lab can be removed completely."""
    lab = EmbeddedLab.new(place.Owner.this_process())
    try:
        with pytest.raises(LabError, match=said):
            lab.start(lambda _record: None, settings, major)
    finally:
        lab.remove()
    assert _leave_traces(lab) == []


@contextmanager
def _owned(tmpdir: str | None = None) -> Iterator[tuple["subprocess.Popen[str]", EmbeddedLab]]:
    """Start a lab from a process of its own; both are gone afterwards."""
    with subprocess.Popen(
        [sys.executable, "-c", OWNER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(WORKFLOW), "PATH": os.defpath, **({"TMPDIR": tmpdir} if tmpdir else {})},
    ) as process:
        assert process.stdout is not None
        lab = EmbeddedLab(LabRecord(**json.loads(process.stdout.readline())))
        try:
            yield process, lab
        finally:
            process.kill()
            lab.remove()


def test_sweep_removes_the_dead_and_leaves_the_living(lab: EmbeddedLab) -> None:
    """The sweep removes labs of processes that are gone, wholly, and touches no lab whose owner lives."""
    with _owned() as (gone, dead), _owned() as (_, living):
        assert gone.stdin is not None
        gone.stdin.write("\n")
        gone.stdin.flush()
        gone.wait(10)
        if labs.capped(dead):
            # So slow that it cannot end in an orderly way within the sweep's grace and has to be killed.
            dead.set_caps(Caps(1_000, 100_000, None), labs.HALF)
        assert facts.processes_in(dead.record.folder), "the server outlives its owner until somebody sweeps"
        swept = leftovers.sweep()
        assert _leave_traces(dead) == []
        assert swept["process"] >= 1
        assert living.alive()
        assert Path(living.record.folder).is_dir()
        assert lab.alive()
        assert labs.sessions_of(lab) == 0


def test_sweep_leaves_a_living_lab_of_another_temporary_folder() -> None:
    """A lab whose owner lives is left alone although its folder lies where this process would not look for it."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="t-") as elsewhere:
        Path(elsewhere).chmod(0o711)
        with _owned(elsewhere) as (_, living):
            assert living.record.folder.startswith(elsewhere)
            leftovers.sweep()
            assert living.alive()
            assert facts.processes_in(living.record.folder)
            assert bool(facts.cgroups_of(living.record.token)) == labs.capped(living)


def test_sweep_leaves_what_it_cannot_judge() -> None:
    """A folder of our name whose owner cannot be read (another user's, or just being made) is left alone."""
    folder = place.base_folder() / "poollab-deadbeef"
    folder.mkdir()
    try:
        (folder / "owner.json").write_text("{", "utf-8")
        leftovers.sweep()
        assert folder.is_dir()
    finally:
        (folder / "owner.json").unlink()
        folder.rmdir()


def test_groups_are_made_and_removed_as_one() -> None:
    """A lab's group and its two sides come and go together."""
    token = place.new_token()
    group, note = groups.make(token)
    if group is None:
        assert note
        return
    try:
        assert all(group.child(side).exists() for side in groups.SIDES)
        assert facts.cgroups_of(token)
    finally:
        groups.remove(group)
    assert facts.cgroups_of(token) == []


def test_generator_dies_with_its_parent(lab: EmbeddedLab, tmp_path: Path) -> None:
    """When the measuring process is killed its load generator goes too, so that no orphan loads the server."""
    scratch = Path(lab.record.folder) / "cells" / "orphan"
    scratch.mkdir(parents=True)
    code = (
        "import json, sys, time; from pathlib import Path\n"
        "from poollab.lab.base import LabRecord; from poollab.lab.embedded import EmbeddedLab\n"
        "lab = EmbeddedLab(LabRecord(**json.loads(sys.argv[1])))\n"
        "from poollab.lab import child\n"
        "command = [sys.executable, '-c', 'import time; time.sleep(60)']\n"
        "child.EmbeddedGenerator(command, Path(sys.argv[2]), lab._side('generator'))\n"
        "print('ready', flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, json.dumps(lab.record.to_json()), str(scratch)],
        stdout=subprocess.PIPE,
        env={"PYTHONPATH": str(WORKFLOW), "PATH": os.defpath},
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"ready\n"
        (orphan,) = facts.processes_in(scratch)
        started = procs.start_time(orphan)
        parent.kill()
    for _ in range(200):
        if not procs.alive(orphan, started):
            break
        time.sleep(0.01)
    assert not procs.alive(orphan, started)
