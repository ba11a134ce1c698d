"""environment.json: the study, its blocks with what was read back from each, and how each ended."""

from pathlib import Path
from typing import Any

from poollab import METHOD_VERSION
from poollab.data import store
from poollab.data.schemas import FORMAT_VERSION


def environment(results: Path, session: dict[str, Any], records: list[dict[str, Any]], version: str) -> dict[str, Any]:
    """Return the content of environment.json; the report reads nothing else about where and how."""
    blocks = [_block(results, number, records) for number in sorted({record["block"] for record in records})]
    proofs = [proof for block in blocks for proof in block["proof"].values()]
    notes = list(dict.fromkeys(proof["note"] for proof in proofs if not proof["enforced"]))
    begun = sorted(record["started_at"] for record in records)
    # All that is planned has a record by now; one without rows was found not to be needed.
    measured = {record["cell"] for record in records}
    return {
        "format": FORMAT_VERSION,
        "study": session["study"],
        "poollab": {"version": version, "method": METHOD_VERSION, **_measured_at(blocks)},
        "study_hash": session["study_hash"],
        "lab": {**session["lab"], "caps_enforced": not notes, "caps_note": "; ".join(notes)},
        "planned": [cell for cell in session["planned"] if cell in measured],
        "not_needed": [cell for cell in session["planned"] if cell not in measured],
        "measured_from": begun[0],
        "measured_to": begun[-1],
        "blocks": blocks,
        "calibration": _calibration(results),
        "fruitless": [_fruitless(results, n) for n in _numbers(results) if n not in {b["block"] for b in blocks}],
        "attempts": sorted(path.name for path in (results / "attempts").glob("*") if path.is_dir()),
    }


def _block(results: Path, number: int, records: list[dict[str, Any]]) -> dict[str, Any]:
    folder = results / "state" / "blocks" / str(number)
    block = store.read_json(folder / "block.json")
    end = (
        store.read_json(folder / "teardown.json")
        if (folder / "teardown.json").exists()
        else {"at": None, "ended": "unknown"}
    )
    stopped = folder / "stopped.json"
    mine = sorted((r for r in records if r["block"] == number), key=lambda r: int(r["zero_ns"]))
    return {
        "block": number,
        "started_at": block["started_at"],
        "ended_at": end["at"],
        "ended": store.read_json(stopped)["reason"] if stopped.exists() else end["ended"],
        "cells": [record["cell"] for record in mine],
        "environment": block["environment"],
        "proof": block["proof"],
        "seed": block["seed"],
        "clock_stepped": [r["cell"] for r in mine if r.get("host", {}).get("clock_stepped_s")],
        "waited_s": round(_rested(folder) + sum(r.get("host", {}).get("waited_s", 0.0) for r in mine), 1),
    }


def _calibration(results: Path) -> list[dict[str, Any]]:
    """Return what was found on the machine before the first cell, each with what was measured for it."""
    path = results / "state" / "calibration.json"
    return list(store.read_json(path)["found"].values()) if path.exists() else []


def _numbers(results: Path) -> list[int]:
    return sorted(int(path.name) for path in (results / "state" / "blocks").iterdir() if path.name.isdigit())


def _fruitless(results: Path, number: int) -> dict[str, Any]:
    """Say how a block ended that measured no cell which is kept."""
    folder = results / "state" / "blocks" / str(number)
    found = [store.read_json(folder / name) for name in ("stopped.json", "teardown.json") if (folder / name).exists()]
    reasons = [record.get("reason") or record.get("ended") for record in found]
    return {"block": number, "ended": next(iter(reasons), "unknown"), "waited_s": _rested(folder)}


def _rested(folder: Path) -> float:
    """Return how long the command rested after this block before it went on by itself, in seconds."""
    path = folder / "waited.json"
    return float(store.read_json(path)["waited_s"]) if path.exists() else 0.0


def _measured_at(blocks: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the project's commit when the first block was measured (not when the report is made)."""
    return dict(blocks[0]["environment"].get("project") or {"commit": None, "dirty": None})
