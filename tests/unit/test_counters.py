"""Counters of both cgroup versions: right units, and a value that the kernel does not offer is None, never 0."""

import shutil
from pathlib import Path

import pytest

from poollab.lab.base import Counters
from poollab.lab.counters import CgroupCounters

DATA = Path(__file__).resolve().parent / "data"
#: What the recorded files hold, by hand. v1 counts CPU and throttled time in ns, v2 in us.
V1 = Counters(
    at_ns=0,
    cpu_ns=288_137_993,
    periods=57,
    throttled=57,
    throttled_ns=279_638_936,
    memory_bytes=41_947_136,
    anon_bytes=37_076_992,
    file_bytes=4_141_056,
    shmem_bytes=4_001_792,
    kernel_bytes=253_952,
    inactive_file_bytes=40_960,
    oom_kills=0,
)
V2 = Counters(
    at_ns=0,
    cpu_ns=9_870_132_000,
    periods=2407,
    throttled=311,
    throttled_ns=1_893_245_000,
    memory_bytes=134_033_408,
    anon_bytes=37_076_992,
    file_bytes=91_140_096,
    shmem_bytes=67_108_864,
    kernel_bytes=5_816_320,
    inactive_file_bytes=11_743_232,
    oom_kills=2,
)
RECORDED = {1: ("cgroup_v1", V1), 2: ("cgroup_v2", V2)}
#: Which values each file gives; without the file they are unknown.
FILES = {
    1: {
        "cpuacct.usage": ["cpu_ns"],
        "cpu.stat": ["periods", "throttled", "throttled_ns"],
        "memory.usage_in_bytes": ["memory_bytes"],
        "memory.stat": ["anon_bytes", "file_bytes", "shmem_bytes", "inactive_file_bytes"],
        "memory.kmem.usage_in_bytes": ["kernel_bytes"],
        "memory.oom_control": ["oom_kills"],
    },
    2: {
        "cpu.stat": ["cpu_ns", "periods", "throttled", "throttled_ns"],
        "memory.current": ["memory_bytes"],
        "memory.stat": ["anon_bytes", "file_bytes", "shmem_bytes", "kernel_bytes", "inactive_file_bytes"],
        "memory.events": ["oom_kills"],
    },
}
CASES = [(version, name) for version, files in FILES.items() for name in files]


def _copy(version: int, folder: Path) -> Path:
    shutil.copytree(DATA / RECORDED[version][0], folder / "group")
    return folder / "group"


def _read(version: int, folder: Path) -> dict[str, int | None]:
    counters = CgroupCounters(version, dict.fromkeys(("cpu", "cpuacct", "memory"), folder)).read()
    return {name: getattr(counters, name) for name in Counters.__slots__ if name != "at_ns"}


def _want(version: int, unknown: list[str]) -> dict[str, int | None]:
    recorded = RECORDED[version][1]
    return {n: None if n in unknown else getattr(recorded, n) for n in Counters.__slots__ if n != "at_ns"}


@pytest.mark.parametrize("version", [1, 2])
def test_recorded_files(tmp_path: Path, version: int) -> None:
    """The same quantities in the same units come out of files recorded on either version."""
    assert _read(version, _copy(version, tmp_path)) == _want(version, [])


@pytest.mark.parametrize(("version", "name"), CASES)
def test_a_missing_file_is_missing_data(tmp_path: Path, version: int, name: str) -> None:
    """Where a file is absent exactly its values are unknown, and the rest is read."""
    folder = _copy(version, tmp_path)
    (folder / name).unlink()
    assert _read(version, folder) == _want(version, FILES[version][name])


def test_no_files_at_all(tmp_path: Path) -> None:
    """A group whose files cannot be seen gives readings without values and no error."""
    assert set(_read(1, tmp_path).values()) == set(_read(2, tmp_path).values()) == {None}


@pytest.mark.parametrize("version", [1, 2])
def test_without_throttle_counters(tmp_path: Path, version: int) -> None:
    """A kernel without bandwidth control writes cpu.stat without nr_throttled: unknown, not never throttled."""
    folder = _copy(version, tmp_path)
    # The v2 file is the one of a hierarchy's root, which has no bandwidth counters.
    text = (DATA / "cgroup_v2" / "root.cpu.stat").read_text("utf-8") if version == 2 else ""
    (folder / "cpu.stat").write_text(text, "utf-8")
    found = _read(version, folder)
    assert (found["periods"], found["throttled"], found["throttled_ns"]) == (None, None, None)
    assert found["cpu_ns"] is not None
    assert found["cpu_ns"] > 0


@pytest.mark.parametrize("version", [1, 2])
def test_readings_follow_the_file(tmp_path: Path, version: int) -> None:
    """The files are opened once and read in place each time, and the quick CPU reading is the same number."""
    folder = _copy(version, tmp_path)
    source = CgroupCounters(version, dict.fromkeys(("cpu", "cpuacct", "memory"), folder))
    first = source.read()
    assert source.read_cpu() == first.cpu_ns
    memory = folder / ("memory.usage_in_bytes" if version == 1 else "memory.current")
    memory.write_text("4096\n", "utf-8")
    second = source.read()
    assert second.memory_bytes == 4096
    assert second.at_ns > first.at_ns
    source.close()


def test_values_of_the_children_count(tmp_path: Path) -> None:
    """On version 1 the hierarchical sums are taken, since the group's own lines leave its children out."""
    folder = _copy(1, tmp_path)
    own = "rss 1\ncache 2\nshmem 3\ninactive_file 4\n"
    total = "total_rss 10\ntotal_cache 20\ntotal_shmem 30\ntotal_inactive_file 40\n"
    names = ("anon_bytes", "file_bytes", "shmem_bytes", "inactive_file_bytes")
    (folder / "memory.stat").write_text(own + total, "utf-8")
    found = _read(1, folder)
    assert [found[name] for name in names] == [10, 20, 30, 40]
    (folder / "memory.stat").write_text(own, "utf-8")
    found = _read(1, folder)
    assert [found[name] for name in names] == [1, 2, 3, 4]
