"""Control groups found from a process, whatever the mount looks like, and the caps that really bind it."""

from pathlib import Path

import pytest

from poollab.lab import cgroup
from poollab.lab.base import Caps
from poollab.lab.cgroup import Group

NO_LIMIT_V1 = 9223372036854771712


def _proc(folder: Path, mountinfo: str, **memberships: str) -> Path:
    """Write a /proc as far as it is read here: mountinfo of this process and the groups of some."""
    (folder / "self").mkdir(parents=True)
    (folder / "self" / "mountinfo").write_text(mountinfo, "utf-8")
    for pid, text in memberships.items():
        (folder / pid.removeprefix("p")).mkdir(exist_ok=True)
        (folder / pid.removeprefix("p") / "cgroup").write_text(text, "utf-8")
    return folder


def _v1_mounts(at: Path, root: str = "/") -> str:
    # cpu and cpuacct in one mount, as systemd makes them.
    return (
        f"30 24 0:26 / {at} rw - tmpfs tmpfs rw,mode=755\n"
        f"31 30 0:27 {root} {at}/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
        f"32 30 0:28 {root} {at}/memory rw,nosuid shared:10 - cgroup cgroup rw,memory\n"
        f"33 30 0:29 / {at}/systemd rw - cgroup cgroup rw,xattr,name=systemd\n"
        f"34 30 0:30 / {at}/unified rw - cgroup2 cgroup2 rw,nsdelegate\n"
    )


def _v2_mount(at: Path, root: str = "/") -> str:
    return f"29 22 0:25 {root} {at} rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"


def _v1_group(folder: Path, *, cpu: str = "-1", period: str = "100000", memory: int = NO_LIMIT_V1) -> None:
    """Write the files of one v1 group in both hierarchies below `folder`'s mounts."""
    _v1_cpu(folder, cpu=cpu, period=period)
    _v1_memory(folder, memory)


def _v1_cpu(folder: Path, *, cpu: str = "-1", period: str = "100000") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("cgroup.procs", ""), ("cpu.cfs_quota_us", cpu), ("cpu.cfs_period_us", period)):
        (folder / name).write_text(f"{text}\n", "utf-8")


def _v1_memory(folder: Path, memory: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cgroup.procs").write_text("", "utf-8")
    (folder / "memory.limit_in_bytes").write_text(f"{memory}\n", "utf-8")


def _v2_group(folder: Path, cpu: str | None = "max 100000", memory: str | None = "max") -> Path:
    """Write the files of one v2 group; None leaves the controller's file out, as a level without it does."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cgroup.procs").write_text("", "utf-8")
    for name, text in (("cpu.max", cpu), ("memory.max", memory)):
        if text is not None:
            (folder / name).write_text(f"{text}\n", "utf-8")
    return folder


def _v2(folder: Path) -> Group:
    return Group(2, dict.fromkeys(cgroup.CONTROLLERS, folder))


def test_v1_group_of_a_process(tmp_path: Path) -> None:
    """On version 1 each controller's folder is found, with cpu and cpuacct in one mount and a hybrid v2 beside."""
    at = tmp_path / "cg"
    for part in ("cpu,cpuacct", "memory"):
        (at / part / "job").mkdir(parents=True)
    proc = _proc(tmp_path / "proc", _v1_mounts(at), p77="5:cpu,cpuacct:/job\n4:memory:/job\n1:name=systemd:/\n0::/\n")
    group = Group.of_pid(77, proc)
    assert group is not None
    assert group.version == 1
    assert group.dirs == {
        "cpu": at / "cpu,cpuacct" / "job",
        "cpuacct": at / "cpu,cpuacct" / "job",
        "memory": at / "memory" / "job",
    }
    assert group.folders == [at / "cpu,cpuacct" / "job", at / "memory" / "job"]


def test_v2_group_of_a_process(tmp_path: Path) -> None:
    """On version 2 one folder holds all controllers."""
    (tmp_path / "cg" / "user.slice" / "a b").mkdir(parents=True)
    proc = _proc(tmp_path / "proc", _v2_mount(tmp_path / "cg"), p77="0::/user.slice/a b\n")
    group = Group.of_pid(77, proc)
    assert group is not None
    assert (group.version, group.folders) == (2, [tmp_path / "cg" / "user.slice" / "a b"])


@pytest.mark.parametrize("inner", ["", "/inner"])
def test_mount_that_starts_below_the_root(tmp_path: Path, inner: str) -> None:
    """In a container whose mount begins at its own group (docker in docker) the path is taken below that root."""
    at = tmp_path / "cg"
    for part in ("cpu,cpuacct", "memory"):
        (at / part / "inner").mkdir(parents=True)
    text = f"5:cpu,cpuacct:/docker/4f2a{inner}\n4:memory:/docker/4f2a{inner}\n"
    group = Group.of_pid("self", _proc(tmp_path / "proc", _v1_mounts(at, "/docker/4f2a"), self=text))
    assert group is not None
    assert group.dirs["cpu"] == at / f"cpu,cpuacct{inner}"


def test_a_root_that_only_begins_alike_is_another(tmp_path: Path) -> None:
    """A group whose name merely begins like the mount's root is not cut in the middle of the name."""
    (tmp_path / "cg" / "docker" / "4f2abc").mkdir(parents=True)
    proc = _proc(tmp_path / "proc", _v2_mount(tmp_path / "cg", "/docker/4f2a"), p1="0::/docker/4f2abc\n")
    group = Group.of_pid(1, proc)
    assert group is None or group.folders == [tmp_path / "cg" / "docker" / "4f2abc"]


def test_mount_points_with_a_space(tmp_path: Path) -> None:
    """The kernel writes a space in a mount point as an octal escape."""
    (tmp_path / "c g" / "x").mkdir(parents=True)
    text = _v2_mount(tmp_path / "c g").replace("c g", "c\\040g", 1)
    group = Group.of_pid(1, _proc(tmp_path / "proc", text, p1="0::/x\n"))
    assert group is not None
    assert group.folders == [tmp_path / "c g" / "x"]


@pytest.mark.parametrize("text", ["0::/gone\n", "1:name=systemd:/\n", "5:cpu,cpuacct:/job\n"])
def test_groups_that_cannot_be_seen_are_none(tmp_path: Path, text: str) -> None:
    """A group that this host's files do not show is unknown; no other group is taken in its place."""
    (tmp_path / "cg").mkdir()
    assert Group.of_pid(1, _proc(tmp_path / "proc", _v2_mount(tmp_path / "cg"), p1=text)) is None


def test_no_proc_no_group(tmp_path: Path) -> None:
    """A process that is gone has no group."""
    assert Group.of_pid(1, _proc(tmp_path / "proc", _v2_mount(tmp_path))) is None
    assert Group.of_pid(1, tmp_path / "nothing") is None


def test_a_group_survives_its_record(tmp_path: Path) -> None:
    """A group that was written into a record is the same when another process reads it."""
    group = Group(1, {"cpu": tmp_path / "c", "cpuacct": tmp_path / "c", "memory": tmp_path / "m"}).child("database")
    assert Group.from_json(group.to_json()) == group


@pytest.mark.parametrize(
    ("cpu", "memory", "want"),
    [
        ("max 100000", "max", Caps(None, 100_000, None)),
        ("5000 10000", "805306368", Caps(5000, 10_000, 805_306_368)),
    ],
)
def test_v2_caps_as_the_kernel_writes_them(tmp_path: Path, cpu: str, memory: str, want: Caps) -> None:
    """`max` is no cap; numbers are quota, period and bytes."""
    assert _v2(_v2_group(tmp_path / "g", cpu, memory)).read_caps() == want


@pytest.mark.parametrize(
    ("cpu", "memory", "want"),
    [("-1", NO_LIMIT_V1, Caps(None, 100_000, None)), ("50000", 2**30, Caps(50_000, 100_000, 2**30))],
)
def test_v1_caps_as_the_kernel_writes_them(tmp_path: Path, cpu: str, memory: int, want: Caps) -> None:
    """-1 and the largest page-aligned number are no cap."""
    _v1_group(tmp_path / "g", cpu=cpu, memory=memory)
    assert Group(1, dict.fromkeys(cgroup.CONTROLLERS, tmp_path / "g")).read_caps() == want


def test_tighter_ancestor_binds(tmp_path: Path) -> None:
    """The cap that binds is the tightest on the way up: here the container's one core and its memory."""
    _v2_group(tmp_path / "docker", "100000 100000", "1073741824")
    leaf = _v2_group(tmp_path / "docker" / "pod" / "leaf", "200000 100000", "4294967296")
    _v2_group(tmp_path / "docker" / "pod")
    assert _v2(leaf).tightest_caps() == Caps(100_000, 100_000, 2**30)
    assert _v2(leaf).read_caps().cores == 2.0


def test_own_cap_binds_below_a_wider_ancestor(tmp_path: Path) -> None:
    """A wider ancestor changes nothing; cores are compared, not quotas of different periods."""
    _v2_group(tmp_path / "top", "60000 100000")
    assert _v2(_v2_group(tmp_path / "top" / "leaf", "5000 10000")).tightest_caps() == Caps(5000, 10_000, None)


def test_no_cap_anywhere_is_none(tmp_path: Path) -> None:
    """Where nothing is capped on the whole way there is no cap, not a cap of 0."""
    _v2_group(tmp_path / "top")
    assert _v2(_v2_group(tmp_path / "top" / "leaf")).tightest_caps() == Caps(None, None, None)


@pytest.mark.parametrize(("cpu", "memory"), [("100000 100000", None), (None, "1073741824")])
def test_ancestor_with_one_controller_still_binds(tmp_path: Path, cpu: str | None, memory: str | None) -> None:
    """An ancestor that has only one of the controllers binds with that one."""
    _v2_group(tmp_path / "top", cpu, memory)
    caps = _v2(_v2_group(tmp_path / "top" / "leaf")).tightest_caps()
    assert caps.cores == (1.0 if cpu else None)
    assert caps.memory_bytes == (2**30 if memory else None)


def test_v1_hierarchies_of_different_depth(tmp_path: Path) -> None:
    """On version 1 a process may sit deep in one hierarchy and at the root of another; each is walked up."""
    _v1_cpu(tmp_path / "cpu")
    _v1_memory(tmp_path / "memory" / "box", 2**30)
    _v1_memory(tmp_path / "memory" / "box" / "leaf", 2**32)
    _v1_memory(tmp_path / "memory", NO_LIMIT_V1)
    group = Group(
        1,
        {"cpu": tmp_path / "cpu", "cpuacct": tmp_path / "cpu", "memory": tmp_path / "memory" / "box" / "leaf"},
    )
    assert group.tightest_caps() == Caps(None, None, 2**30)


def test_this_machine_can_be_read() -> None:
    """The group of this very process is found, and its caps are readable or absent."""
    group = Group.of_pid("self")
    if group is None:
        pytest.skip("this machine shows no cgroup cpu and memory controllers")
    assert group.version == (1 if "cpu" in cgroup.mounts() else 2)
    caps = group.tightest_caps()
    assert caps.cores is None or caps.cores > 0
