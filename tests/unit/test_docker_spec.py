"""The docker lab without a daemon: container arguments, plain causes, Docker's own counters."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from docker.errors import APIError, DockerException
from requests.exceptions import ReadTimeout

from poollab.errors import LabError
from poollab.lab import docker_clean, docker_counters, docker_errors, docker_spec
from poollab.lab.base import Caps
from poollab.lab.docker import availability
from poollab.lab.docker_images import Recipe

HALF = Caps(5_000, 10_000, 768 * 2**20)
OPEN = Caps(None, None, None)


def _database(settings: dict[str, str] | None = None) -> dict[str, Any]:
    return docker_spec.database("ab12cd34", Path("/x/socket"), HALF, settings or {})


def _generator(tmp_path: Path) -> dict[str, Any]:
    return docker_spec.generator("ab12cd34", Path("/x/socket"), tmp_path, HALF, ("true",))


def test_both_sides_are_hardened(tmp_path: Path) -> None:
    """Neither side gets a network, a capability, a new privilege, a writable root or endless processes."""
    for side in (_database(), _generator(tmp_path)):
        assert side["network_mode"] == "none"
        assert side["cap_drop"] == ["ALL"]
        assert side["security_opt"] == ["no-new-privileges:true"]
        assert side["read_only"] is True
        assert 0 < side["pids_limit"] < 10_000
        assert side["labels"] == {"poollab": "ab12cd34", "poollab.part": side["labels"]["poollab.part"]}


def test_room_for_the_threads_of_an_arm(tmp_path: Path) -> None:
    """An arm with thousands of threads in each process gets room for all of them; others keep the ordinary bound."""
    ordinary = _generator(tmp_path)["pids_limit"]
    for arm, processes, least in (({"size": 5}, 1, 0), ({"threads": 4000}, 2, 8000), ({"executor": 3000}, 1, 3000)):
        (tmp_path / "spec.json").write_text(json.dumps({"pool": arm, "processes": processes}), "utf-8")
        assert _generator(tmp_path)["pids_limit"] >= max(least, ordinary)
    (tmp_path / "spec.json").write_text(json.dumps({"pool": {"size": 5}, "processes": 1}), "utf-8")
    assert _generator(tmp_path)["pids_limit"] == ordinary


def test_caps_keep_their_period(tmp_path: Path) -> None:
    """Quota and period are given apart, since NanoCpus would replace the period by 100 ms."""
    for side in (_database(), _generator(tmp_path)):
        assert (side["cpu_quota"], side["cpu_period"]) == (5_000, 10_000)
        assert side["mem_limit"] == side["memswap_limit"] == 768 * 2**20
        assert "nano_cpus" not in side


def test_uncapped_sides_name_no_limit() -> None:
    """A cap that is not asked for is left out at creation and lifted on a live container."""
    assert docker_spec.limits(OPEN) == {}
    lifted = docker_spec.update(OPEN)
    assert lifted["cpu_quota"] == -1
    assert lifted["mem_limit"] == lifted["memswap_limit"] == docker_spec.NO_MEMORY_LIMIT


@pytest.mark.parametrize("caps", [HALF, Caps(50_000, 100_000, None), Caps(None, 100_000, None)])
def test_inspect_reads_back_what_was_set(caps: Caps) -> None:
    """The fallback reading gives the same caps that the update wrote."""
    values = docker_spec.update(caps)
    config = {"CpuQuota": values["cpu_quota"], "CpuPeriod": values["cpu_period"], "Memory": values["mem_limit"]}
    assert docker_spec.read_back({"HostConfig": config}) == caps


def test_the_labs_settings_win() -> None:
    """A study cannot open the server to a network, whatever its settings say."""
    words = _database({"listen_addresses": "*", "max_connections": "110"})["command"]
    assert "listen_addresses=" in words
    assert "listen_addresses=*" not in words
    assert "max_connections=110" in words


def test_sessions_fit_the_process_limit() -> None:
    """The limit on processes leaves room for every session the server allows."""
    assert _database({"max_connections": "2000"})["pids_limit"] > 2000


def test_generator_sees_code_read_only_and_runs_as_the_owner(tmp_path: Path) -> None:
    """The package is mounted read-only, only the cell's folder is writable, and its files get our uid."""
    side = _generator(tmp_path)
    writable = {m["Target"]: m["Source"] for m in side["mounts"] if not m["ReadOnly"]}
    assert writable == {docker_spec.SOCKET: "/x/socket", docker_spec.CELL: str(tmp_path)}
    assert any(m["Target"] == docker_spec.PACKAGE and m["ReadOnly"] for m in side["mounts"])
    assert side["user"] == f"{os.getuid()}:{os.getgid()}"


@pytest.mark.parametrize(
    ("error", "cause", "step"),
    [
        (DockerException("Not supported URL scheme http+docker"), "do not fit together", "locked requirements"),
        (DockerException("PermissionError(13, 'Permission denied')"), "may not use", "group docker"),
        (DockerException("FileNotFoundError(2, 'No such file or directory')"), "does not run", "start it"),
        (ReadTimeout("Read timed out. (read timeout=2)"), "does not answer in time", "docker info"),
        (DockerException("Install paramiko package to enable ssh:// support"), "another machine", "unset DOCKER_HOST"),
        (APIError("409", explanation='The name "x" is already in use by container "y"'), "name exists", "rename"),
        (APIError("500", explanation="write /x: no space left on device"), "disk is full", "free some"),
        (APIError("400", explanation="client version 1.18 is too old"), "another version", "update Docker"),
    ],
)
def test_every_failure_has_one_line(monkeypatch: pytest.MonkeyPatch, error: Exception, cause: str, step: str) -> None:
    """Cause and next step stand in one line, whatever the SDK raised."""
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    with pytest.raises(LabError) as raised, docker_errors.plain("Docker cannot be used"):
        raise error
    text = str(raised.value)
    assert cause in text
    assert step in text
    assert "\n" not in text


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "unix:///nowhere/docker.sock", "ssh://nobody@127.0.0.1:1"])
def test_an_unreachable_daemon_is_a_reason(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """DOCKER_HOST that leads nowhere makes the lab unavailable with a line that names it."""
    monkeypatch.setenv("DOCKER_HOST", address)
    usable, why = availability()
    assert not usable
    assert address in why
    assert "\n" not in why


def test_a_rootless_daemon_is_pointed_at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where only a rootless daemon runs, the line says how to use it."""
    (tmp_path / "docker.sock").touch()
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert f"DOCKER_HOST=unix://{tmp_path}" in docker_errors.cause(DockerException("Connection refused"))


def test_docker_stats_of_both_versions() -> None:
    """Memory names of cgroup v1 and v2 lead to the same columns, and absent values stay None."""
    cpu = {
        "cpu_usage": {"total_usage": 7},
        "throttling_data": {"periods": 3, "throttled_periods": 2, "throttled_time": 5},
    }
    one = docker_counters.parse(
        {
            "cpu_stats": cpu,
            "memory_stats": {"usage": 9, "stats": {"total_rss": 4, "total_cache": 5, "total_inactive_file": 6}},
        },
        1,
    )
    two = docker_counters.parse(
        {
            "cpu_stats": cpu,
            "memory_stats": {"usage": 9, "stats": {"anon": 4, "file": 5, "shmem": 1, "inactive_file": 6}},
        },
        1,
    )
    for counters in (one, two):
        assert (counters.cpu_ns, counters.periods, counters.throttled, counters.throttled_ns) == (7, 3, 2, 5)
        assert (counters.memory_bytes, counters.anon_bytes, counters.file_bytes) == (9, 4, 5)
        assert counters.inactive_file_bytes == 6
    assert one.shmem_bytes is None
    assert two.shmem_bytes == 1
    assert docker_counters.parse({}, 1).throttled is None


def test_a_sweep_needs_no_daemon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The embedded lab's sweep goes on where Docker is not running."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    assert docker_clean.sweep(set()) == {"container": 0, "volume": 0, "network": 0}


def test_an_image_is_built_again_when_its_recipe_changes(tmp_path: Path) -> None:
    """The label that decides it covers the recipe's files and every fact of the image."""
    (tmp_path / "Dockerfile").write_text("FROM x")
    recipe = Recipe("a:1", tmp_path, "x", {"poollab.source": "s"}, "server", None)
    first = recipe.labels()
    assert recipe.labels() == first
    (tmp_path / "Dockerfile").write_text("FROM y")
    changed = recipe.labels()
    assert first["poollab.inputs"] != changed["poollab.inputs"]
    assert first["poollab"] == "1"
    assert replace(recipe, facts={"poollab.source": "t"}).labels()["poollab.inputs"] != changed["poollab.inputs"]


class _Thing:
    def __init__(self, token: str) -> None:
        self.attrs = {"Labels": {"poollab": token}}


def test_token_of_a_thing() -> None:
    """The token comes from the label alone, never from a name."""
    assert docker_clean.token_of(_Thing("ab12cd34")) == "ab12cd34"
