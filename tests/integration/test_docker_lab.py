"""The docker lab against a real daemon: caps, hardening, counters, clean-up."""

import os
import secrets
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import docker
import psycopg
import pytest

from poollab.errors import LabError
from poollab.lab import docker_clean, docker_spec, place
from poollab.lab.base import Caps, LabRecord
from poollab.lab.docker import DockerLab, availability
from poollab.lab.docker_counters import DockerStatsCounters

pytestmark = pytest.mark.docker

HALF = Caps(5_000, 10_000, 768 * 2**20)
SMALL = Caps(5_000, 10_000, 512 * 2**20)
SETTINGS = {"max_connections": "110", "shared_buffers": "64MB", "max_parallel_workers_per_gather": "2"}
#: In the place of the load generator: reports who it is, reaches the server, waits to be watched.
STAND_IN = """
import asyncio, os, sys, time
import asyncpg, numpy, uvloop
import poollab.errors

async def main():
    connection = await asyncpg.connect(host="/run/poollab/socket", user="postgres", database="postgres")
    version = await connection.fetchval("SHOW server_version")
    open("out.txt", "w").write(f"{version} {os.getuid()}")
    await asyncio.sleep(0.4)
    await connection.close()

asyncio.run(main())
sys.stderr.write("the end")
sys.exit(3)
"""


@pytest.fixture(scope="module")
def client() -> Iterator[docker.DockerClient]:
    usable, why = availability()
    if not usable:
        if os.environ.get("POOLLAB_REQUIRE_DOCKER") == "1":
            pytest.fail(why)
        pytest.skip(why)
    connected = docker.from_env(timeout=60)
    yield connected
    connected.close()


@pytest.fixture(scope="module")
def lab(client: docker.DockerClient) -> Iterator[DockerLab]:
    made = DockerLab.new(place.Owner.this_process())
    made.set_caps(HALF, SMALL)
    made.start(lambda _: None, SETTINGS, 16)
    yield made
    made.remove()
    made.close()


def _inspect(client: docker.DockerClient, lab: DockerLab) -> dict[str, Any]:
    return client.api.inspect_container(lab.record.detail["container"])["HostConfig"]


def _cell(lab: DockerLab) -> Path:
    folder = Path(lab.record.folder) / "cells" / secrets.token_hex(3)
    folder.mkdir()
    return folder


def _ended(generator: Any) -> int:
    deadline = time.monotonic() + 20
    while (code := generator.poll()) is None:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return int(code)


def test_caps_hold_on_both_sides(lab: DockerLab) -> None:
    """A burn inside each container gets no more than 1.05 of its cap and is throttled."""
    read = lab.set_caps(HALF, SMALL)
    assert read == (HALF, SMALL)
    for proof, caps in zip(lab.prove(1.0), (HALF, SMALL), strict=True):
        assert proof.caps == caps
        assert proof.enforced, proof.note
        assert proof.burn_cores is not None
        assert proof.burn_cores <= 1.05 * 0.5
        assert proof.burn_throttled


def test_caps_change_on_the_live_server(lab: DockerLab) -> None:
    """Period, quota and memory can change between cells and are lifted where none is asked for."""
    for caps in (Caps(50_000, 100_000, 512 * 2**20), Caps(None, 100_000, None), HALF):
        assert lab.set_caps(caps, SMALL)[0] == caps


def test_database_is_hardened(client: docker.DockerClient, lab: DockerLab) -> None:
    """The daemon itself says that the server has no network, privilege, capability or writable root."""
    config = _inspect(client, lab)
    assert config["NetworkMode"] == "none"
    assert config["CapDrop"] == ["ALL"]
    assert config["ReadonlyRootfs"] is True
    assert config["SecurityOpt"] == ["no-new-privileges:true"]
    assert config["PidsLimit"] > 110
    assert config["NanoCpus"] == 0
    assert config["ShmSize"] == lab.environment()["shm_bytes"]


def test_data_volume_is_anonymous_and_labelled(client: docker.DockerClient, lab: DockerLab) -> None:
    """The data cannot be met again under a name, and the sweep can find them."""
    volumes = client.volumes.list(filters={"label": f"poollab={lab.record.token}"})
    assert len(volumes) == 1
    assert len(volumes[0].name) == 64


def test_generator_runs_capped_and_reaches_the_server(client: docker.DockerClient, lab: DockerLab) -> None:
    """The generator starts at once, sees code, socket and its cell's folder, and is capped from the start."""
    lab.set_caps(HALF, SMALL)
    lab.GENERATOR_COMMAND = ("python3", "-c", STAND_IN)
    scratch, before = _cell(lab), time.monotonic()
    generator = lab.start_generator(scratch)
    took = time.monotonic() - before
    assert took < 2  # a fifth of a second on an idle machine
    assert generator.caps == SMALL
    config = client.containers.get(docker_spec.name(lab.record.token, f"generator-{scratch.name}")).attrs["HostConfig"]
    assert (config["NetworkMode"], config["CapDrop"], config["ReadonlyRootfs"]) == ("none", ["ALL"], True)
    assert config["NanoCpus"] == 0
    first = generator.counters.read()
    assert first.cpu_ns is not None
    assert _ended(generator) == 3
    assert (scratch / "out.txt").read_text() == f"{lab.record.detail['labels']['poollab.server_version']} {os.getuid()}"
    assert generator.errors() == "the end"
    generator.stop()
    generator.stop()
    assert generator.errors() == "the end"


def test_generator_can_be_stopped(lab: DockerLab) -> None:
    """Stopping a generator in mid-run ends it and removes its container."""
    lab.GENERATOR_COMMAND = ("sleep", "60")
    generator = lab.start_generator(_cell(lab))
    assert generator.poll() is None
    generator.stop()
    assert generator.poll() is not None
    assert not [line for line in lab.leftovers() if "generator" in line]


def test_counters_grow(lab: DockerLab) -> None:
    """Work in the server moves its CPU counter, and Docker's own figures agree with the cgroup's."""
    source = lab.database_counters()
    before = source.read()
    with psycopg.connect(lab.admin_dsn(), autocommit=True) as connection:
        connection.execute("SELECT sum(length(md5(n::text))) FROM generate_series(1, 200000) n")
    after = source.read()
    assert before.cpu_ns is not None
    assert after.cpu_ns is not None
    assert after.cpu_ns - before.cpu_ns > 10_000_000
    assert after.memory_bytes
    stats = DockerStatsCounters(lab._container()).read()
    assert stats.cpu_ns is not None
    assert stats.cpu_ns >= after.cpu_ns


def test_sessions_are_counted_without_a_query(lab: DockerLab) -> None:
    """Each client session is seen in the process list while it lasts."""
    with psycopg.connect(lab.admin_dsn()), psycopg.connect(lab.admin_dsn()):
        assert lab.sessions() == 2


def test_parallel_queries_find_shared_memory(lab: DockerLab) -> None:
    """A parallel hash join does not fail for want of shared memory, as it does with Docker's 64 MiB."""
    query = "SELECT count(*) FROM big a JOIN big b USING (n)"
    with psycopg.connect(lab.admin_dsn(), autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE big AS SELECT n, repeat('x', 40) t FROM generate_series(1, 300000) n; ANALYZE big"
        )
        for setting in ("min_parallel_table_scan_size = 0", "parallel_setup_cost = 0", "work_mem = '128MB'"):
            connection.execute(f"SET {setting}".encode())
        plan = "\n".join(str(row[0]) for row in connection.execute(f"EXPLAIN {query}".encode()))
        assert "Parallel Hash" in plan
        assert connection.execute(query.encode()).fetchone() == (300000,)
        connection.execute("DROP TABLE big")


def test_another_process_can_take_over(lab: DockerLab) -> None:
    """A lab rebuilt from its record's JSON, as each cell does, uses the same server."""
    again = DockerLab(LabRecord(**lab.record.to_json()))
    assert again.alive()
    assert again.sessions() == 0
    assert "16" in lab.record.detail["labels"]["poollab.server_version"]
    again.close()


def test_nothing_is_left_after_removal(client: docker.DockerClient) -> None:
    """Removal takes containers, volume and folder, in the middle of a run and any number of times."""
    lab = DockerLab.new(place.Owner.this_process())
    lab.start(lambda _: None, SETTINGS, 16)
    lab.GENERATOR_COMMAND = ("sleep", "60")
    lab.start_generator(_cell(lab))
    assert len(lab.leftovers()) == 4
    count = lab.remove()
    assert (count["container"], count["volume"], count["socket"]) == (2, 1, 1)
    assert lab.leftovers() == []
    assert not lab.alive()
    assert sum(lab.remove().values()) == 0
    lab.close()


def test_removal_needs_only_the_token(client: docker.DockerClient) -> None:
    """A record written before anything was made is enough to remove what was made after it."""
    records: list[LabRecord] = []
    lab = DockerLab.new(place.Owner.this_process())
    lab.start(lambda record: records.append(replace(record, detail=dict(record.detail))), SETTINGS, 16)
    lab.close()
    assert "container" not in records[0].detail
    early = DockerLab(records[0])
    assert early.remove()["container"] == 1
    assert early.leftovers() == []
    early.close()


def test_a_foreign_container_is_refused_and_kept(client: docker.DockerClient) -> None:
    """A container with our name but without our label stops the start and survives removal and sweep."""
    lab = DockerLab.new(place.Owner.this_process())
    foreign = client.containers.create(
        docker_spec.DATABASE_IMAGE, name=docker_spec.name(lab.record.token, "database"), network_mode="none"
    )
    try:
        with pytest.raises(LabError, match="is not Poollab's"):
            lab.start(lambda _: None, SETTINGS, 16)
        lab.remove()
        docker_clean.sweep(set())
        foreign.reload()
    finally:
        foreign.remove(force=True, v=True)
        lab.remove()
        lab.close()


def test_sweep_keeps_the_living(lab: DockerLab, client: docker.DockerClient) -> None:
    """What a killed session left is swept; a lab whose owner runs, or that is named, stays."""
    token = secrets.token_hex(4)
    labels = docker_spec.labels(token, "database")
    left = client.volumes.create(labels=labels)
    assert docker_clean.sweep({token})["volume"] == 0
    assert docker_clean.sweep(set())["volume"] == 1
    assert left.id not in [volume.id for volume in client.volumes.list()]
    assert lab.alive()


def test_a_start_that_fails_leaves_nothing(client: docker.DockerClient) -> None:
    """A setting the server refuses is named in one error, and nothing of that lab remains."""
    lab = DockerLab.new(place.Owner.this_process())
    with pytest.raises(LabError, match="no_such_setting"):
        lab.start(lambda _: None, {"no_such_setting": "1"}, 16)
    assert lab.leftovers() == []
    lab.close()


def test_a_server_that_ended_is_named(client: docker.DockerClient) -> None:
    """When the server's container has ended, the lab is not alive and says so wherever it is asked."""
    lab = DockerLab.new(place.Owner.this_process())
    lab.start(lambda _: None, SETTINGS, 16)
    client.containers.get(lab.record.detail["container"]).kill()
    deadline = time.monotonic() + 5
    while lab.alive() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not lab.alive()
    for ask in (lab.database_counters, lambda: lab.set_caps(HALF, SMALL), lambda: lab.prove(0.1)):
        with pytest.raises(LabError, match="ended with 137"):
            ask()
    lab.remove()
    lab.close()


def test_another_major_is_refused(client: docker.DockerClient) -> None:
    """A server of another major than the study's is refused before anything is made."""
    lab = DockerLab.new(place.Owner.this_process())
    with pytest.raises(LabError, match=r"database\.major = 15"):
        lab.start(lambda _: None, SETTINGS, 15)
    lab.remove()
    lab.close()
