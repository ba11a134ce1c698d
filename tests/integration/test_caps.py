"""Caps on the embedded lab: what the kernel holds, what a burn gets through, and what is said without them."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support import facts, labs, studies

from poollab.errors import LabError, MeasurementError, SafetyStop
from poollab.lab import binaries, burn, groups, machine, place, procs
from poollab.lab.base import Caps, Proof
from poollab.lab.embedded import EmbeddedLab
from poollab.run.cell import check_caps
from poollab.session import provision

WORKFLOW = Path(__file__).resolve().parents[2] / "workflow"
WAYS = {1: ("cpu.cfs_quota_us", "cpu.cfs_period_us", "memory.limit_in_bytes"), 2: ("cpu.max", "memory.max")}


def _kernel_says(lab: EmbeddedLab, side: str) -> list[str]:
    """Read a side's limit files by their names, without the code under test."""
    version = lab.record.detail["group"]["version"]
    dirs = {k: Path(v) / side for k, v in lab.record.detail["group"]["dirs"].items()}
    words = []
    for name in WAYS[version]:
        words += (dirs[name.split(".")[0]] / name).read_text("utf-8").split()
    return words


def test_caps_are_in_the_kernel(capped_lab: EmbeddedLab) -> None:
    """After setting caps the kernel's own files hold quota, period and memory of both sides."""
    database, generator = Caps(5_000, 10_000, 256 * 2**20), Caps(2_000, 20_000, 128 * 2**20)
    assert capped_lab.set_caps(database, generator) == (database, generator)
    assert _kernel_says(capped_lab, "database") == ["5000", "10000", str(256 * 2**20)]
    assert _kernel_says(capped_lab, "generator") == ["2000", "20000", str(128 * 2**20)]


def test_a_burn_does_not_get_through(capped_lab: EmbeddedLab) -> None:
    """Busy loops inside both caps get at most 1.05 times the cap, and both sides are throttled."""
    capped_lab.set_caps(labs.HALF, Caps(2_500, 10_000, 256 * 2**20))
    for proof, cores in zip(capped_lab.prove(1.0), (0.5, 0.25), strict=True):
        assert proof.enforced, proof.note
        assert proof.caps.cores == cores
        assert proof.burn_cores is not None
        assert 0.5 * cores < proof.burn_cores <= 1.05 * cores
        assert proof.burn_throttled is not None
        assert proof.burn_throttled > 0


def _proven(lab: EmbeddedLab) -> tuple[Proof, Proof]:
    """Burn as a study does, again where others on the test's machine leave too little CPU."""
    try:
        return provision._burnt(lab)
    except SafetyStop as stop:
        lab.set_caps(labs.HALF, labs.HALF)
        pytest.skip(f"somebody else works on this machine: {stop}")


@pytest.mark.skipif(burn.usable() < 2, reason="with one CPU no cap of a core and a half can be exceeded")
def test_a_cap_just_below_the_machine_is_proven(capped_lab: EmbeddedLab) -> None:
    """All but half a CPU beside an uncapped side, and caps that add up to the machine, are proven."""
    cpus = burn.usable()
    high, none = Caps(round((cpus - 0.5) * 10_000), 10_000, 256 * 2**20), Caps(None, 10_000, None)
    capped_lab.set_caps(high, none)
    database, generator = _proven(capped_lab)
    assert database.enforced, database.note
    assert database.burn_cores is not None
    assert 0.5 < database.burn_cores <= 1.05 * (cpus - 0.5)
    assert (generator.enforced, generator.burn_cores, generator.note) == (True, None, "no CPU cap asked for")
    capped_lab.set_caps(high, high)
    for proof in _proven(capped_lab):
        assert proof.enforced, proof.note
    capped_lab.set_caps(labs.HALF, labs.HALF)


def test_a_cap_of_the_whole_machine_is_no_busy_host(capped_lab: EmbeddedLab) -> None:
    """Nothing can exceed it: it is read back, says so, and provisioning goes on."""
    whole = Caps(burn.usable() * 10_000, 10_000, None)
    capped_lab.set_caps(whole, labs.HALF)
    database, generator = _proven(capped_lab)
    capped_lab.set_caps(labs.HALF, labs.HALF)
    assert (database.enforced, database.burn_cores) == (True, None)
    assert "read back, not burnt" in database.note
    assert generator.enforced, generator.note


@pytest.mark.parametrize(
    "caps", [Caps(2_000, 10_000, 2**28), Caps(50_000, 100_000, 2**27), Caps(None, 10_000, None), labs.HALF]
)
def test_caps_change_on_the_live_group(capped_lab: EmbeddedLab, caps: Caps) -> None:
    """Limits are a factor: they change under the running server, to another period and to none, and read back."""
    found = capped_lab.set_caps(caps, caps)
    assert [(c.cores, c.memory_bytes) for c in found] == [(caps.cores, caps.memory_bytes)] * 2
    assert labs.sessions_of(capped_lab) == 0


def test_a_cap_the_kernel_refuses_is_named(capped_lab: EmbeddedLab) -> None:
    """A quota below the kernel's smallest is an error that names file and value, and the server lives on."""
    with pytest.raises(LabError, match="refuses"):
        capped_lab.set_caps(Caps(500, 10_000, None), labs.HALF)
    capped_lab.set_caps(labs.HALF, labs.HALF)
    assert capped_lab.alive()


def test_a_cap_that_does_not_hold_is_not_proven(capped_lab: EmbeddedLab) -> None:
    """When the kernel holds another cap than was asked for the proof says so instead of passing."""
    capped_lab.set_caps(labs.HALF, labs.HALF)
    group = capped_lab._side("database")
    assert group is not None
    group.set_caps(replace(labs.HALF, quota_us=8_000))
    database, generator = capped_lab.prove(0.3)
    capped_lab.set_caps(labs.HALF, labs.HALF)
    assert not database.enforced
    assert "0.8 cores" in database.note
    assert generator.enforced


def test_another_cap_than_wanted_is_no_measurement() -> None:
    """A run whose cap reads back otherwise is not made, on any side, for CPU and for memory."""
    check_caps(labs.HALF, labs.HALF, "database", enforced=True)
    for found in (replace(labs.HALF, quota_us=6_000), replace(labs.HALF, memory_bytes=None)):
        with pytest.raises(MeasurementError, match="cap of the database"):
            check_caps(labs.HALF, found, "database", enforced=True)
        check_caps(labs.HALF, found, "database", enforced=False)


def test_counters_grow_under_load(capped_lab: EmbeddedLab) -> None:
    """Live counters of the database's group grow with a query's work: CPU, periods, throttling, memory."""
    capped_lab.set_caps(labs.HALF, labs.HALF)
    source = capped_lab.database_counters()
    with psycopg.connect(capped_lab.admin_dsn(), autocommit=True) as connection:
        before = source.read()
        end = time.monotonic() + 0.6
        while time.monotonic() < end:
            connection.execute("SELECT count(md5(i::text)) FROM generate_series(1, 50000) i")
        after = source.read()
    for name in ("cpu_ns", "periods", "throttled", "throttled_ns"):
        assert getattr(after, name) > getattr(before, name), name
    for name in ("memory_bytes", "anon_bytes", "shmem_bytes", "file_bytes"):
        assert getattr(after, name) > 0, name
    assert after.file_bytes is not None
    assert after.shmem_bytes is not None
    assert after.file_bytes >= after.shmem_bytes
    assert after.oom_kills in (0, None)
    used = (after.cpu_ns - before.cpu_ns) / (after.at_ns - before.at_ns)  # type: ignore[operator]
    assert 0.1 < used <= 0.5 * 1.05


def test_uncapped_is_said_and_never_claimed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where no group can be made everything runs, reads back as uncapped, and is reported as not enforced."""
    monkeypatch.setattr(groups, "make", lambda _token: (None, "no cgroup of this user's own"))
    with labs.running(rows=100) as lab:
        assert lab.set_caps(labs.HALF, labs.HALF) == (Caps(None, None, None), Caps(None, None, None))
        for proof in lab.prove(0.1):
            assert not proof.enforced
            assert (proof.burn_cores, proof.burn_throttled) == (None, None)
            assert "no cgroup of this user's own" in proof.note
        plan = studies.one_cell("SELECT 1", {"uniform": {"every_ms": 20}}, {"windows.measure_s": 0.5})
        record = labs.record_of(lab, plan, tmp_path)
        assert labs.words(record) == set(), record["reasons"]
        assert record["caps"]["database"]["quota_us"] is None
        assert record["caps"]["load_generator"]["quota_us"] is None
        # CPU use is still known, from the process trees; what only a group knows is absent.
        start, end = record["counters"]["database"]
        assert end["cpu_ns"] >= start["cpu_ns"] > 0
        assert end["throttled"] is None
        assert end["memory_bytes"] is None
        assert record["sessions_before"] == record["sessions_after"] == 3
        folder = lab.record.folder
    assert facts.processes_in(folder) == []


def _as_nobody(code: str, home: str) -> "subprocess.CompletedProcess[str]":
    """Run Python as an ordinary user: this one, or the system's of its version where this lies in a private home."""
    packages = str(Path(psycopg.__file__).parents[1])
    env = {"PYTHONPATH": f"{home}:{packages}", "PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1"}
    nobody: dict[str, Any] = {"user": 65534, "group": 65534, "extra_groups": []}
    for python in (sys.executable, f"/usr/bin/python{sys.version_info[0]}.{sys.version_info[1]}"):
        words, rest = [python, "-c"], {"cwd": home, "env": env, "capture_output": True, "text": True, **nobody}
        try:
            if subprocess.run([*words, "import psycopg, asyncpg"], check=False, **rest).returncode == 0:
                return subprocess.run([*words, code], check=False, **rest)
        except OSError:
            continue
    pytest.skip("no other user may run Python with these packages: they lie in a private folder")


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user runs every other test here in this way")
def test_an_ordinary_user_needs_no_root() -> None:
    """A user without a cgroup of their own gets a server, a whole removal, and the word that nothing is capped."""
    code = (
        "import json, sys\n"
        "from poollab.lab import place; from poollab.lab.base import Caps\n"
        "from poollab.lab.embedded import EmbeddedLab\n"
        "lab = EmbeddedLab.new(place.Owner.this_process())\n"
        "try:\n"
        "    lab.start(lambda _: None, {'max_connections': '20'}, 16)\n"
        "    lab.set_caps(Caps(5000, 10000, None), Caps(5000, 10000, None))\n"
        "    said = [[proof.enforced, proof.note] for proof in lab.prove(0.1)]\n"
        "    print(json.dumps([said, lab.alive()]))\n"
        "finally:\n"
        "    lab.remove()\n"
        "print(json.dumps(lab.leftovers()))"
    )
    with tempfile.TemporaryDirectory() as home:
        shutil.copytree(WORKFLOW / "poollab", Path(home) / "poollab", ignore=shutil.ignore_patterns("__pycache__"))
        Path(home).chmod(0o755)
        done = _as_nobody(code, home)
    assert done.returncode == 0, done.stderr
    said, left = map(json.loads, done.stdout.splitlines())
    for enforced, note in said[0]:
        assert not enforced
        assert "caps need a writable cgroup" in note
    assert said[1]
    assert left == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's server runs as another user")
def test_a_private_home_is_no_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root's environment may lie below a home that only root may enter; the server's user still gets its programs."""
    tree = binaries.install_folder()
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    for part in (tree, tree.parent / f"{tree.name}.libs"):
        if part.is_dir():
            shutil.copytree(part, home / part.name, symlinks=True)
    monkeypatch.setattr(binaries, "install_folder", lambda: home / tree.name)
    with labs.running(rows=10) as lab:
        command = procs.title(lab.record.detail["postmaster"][0])
        assert command.startswith(f"{lab.record.folder}/server/")
        assert Path(f"/proc/{lab.record.detail['postmaster'][0]}").stat().st_uid != 0
        assert labs.sessions_of(lab) == 0
        folder = lab.record.folder
    assert not Path(folder).exists()


def test_required_limits_refuse_an_uncapped_lab(monkeypatch: pytest.MonkeyPatch) -> None:
    """`limits: required` stops before the first cell where a cap cannot be enforced, and says which side."""
    monkeypatch.setattr(groups, "make", lambda _token: (None, "no cgroup of this user's own"))
    (plan,) = studies.plans({"pools": [1]}).values()
    cell = {slot: getattr(plan, slot) for slot in type(plan).__slots__}
    session = {"planned": [plan.cell], "cells": {plan.cell: cell}, "limits_required": True}
    lab = EmbeddedLab.new(place.Owner.this_process())
    lab.record.detail |= {"group": None, "caps_note": "no cgroup of this user's own"}
    try:
        with pytest.raises(LabError, match=r"limits = required.*database.*no cgroup"):
            provision._prove(lab, session)
    finally:
        lab.remove()


def test_own_caps_are_recorded() -> None:
    """The block's record says whether this very process is capped already, as inside a container."""
    own = machine.describe()["own_caps"]
    assert set(own) == {"cores", "memory_bytes"}
    assert own["cores"] is None or own["cores"] > 0
