"""Begin a block: a fresh database with the study's settings and data, capped, proven and recorded."""

import os
import subprocess
import sys
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from poollab.data import store
from poollab.errors import ConfigError, IdentityError, LabError, PoollabError, SafetyStop
from poollab.lab import burn, choose, leftovers, machine, place, procs, seeding
from poollab.lab.base import ROLE, Announce, Caps, Lab, LabRecord, Proof
from poollab.lab.child import signals_held
from poollab.plan import differing_keys
from poollab.run.cell import Plan
from poollab.session import calibrate, statements, teardown, threads
from poollab.session.entry import die_with_parent
from poollab.session.paths import Paths
from poollab.session.terminal import say

BURN_S = 1.0
#: Burns before a host is called too busy for a proof, each longer than the one before.
BURNS = 3
SIDES = ("database", "load generator")


def provision(record_path: Path) -> str:
    """
    Start and prove a block's lab, write its record, and return what to tell the user.

    Raises:
        LabError, IdentityError: nothing of the lab is left then.
    """
    die_with_parent()
    paths, folder = Paths.around(record_path), record_path.parent
    session = store.read_json(paths.session)
    if (folder / "lab.json").exists():
        raise IdentityError(f"block {folder.name} was begun before, and a block's number is never used again")
    leftovers.sweep()
    owner = place.Owner(**session["owner"])
    lab = choose.new(session["lab"]["kind"], owner)

    def announce(record: LabRecord) -> None:
        store.write_json(folder / "lab.json", {**record.to_json(), "owner": session["owner"]})

    announce(lab.record)
    # From here on there is something to remove, whatever kills this process or the one that started it.
    _start_keeper(folder, owner)
    try:
        block = _begin(lab, session, announce)
        _same_environment(paths, int(folder.name), block["environment"])
        enforced = bool(block["environment"]["caps_enforced"])
        found = calibrate.calibrate(lab, session, paths, int(folder.name), say, enforced=enforced)
        store.write_json(folder / "block.json", {"block": int(folder.name), **block, "lab": lab.record.to_json()})
    except PoollabError as error:
        teardown.end_block(folder, "the database could not be provided")
        # Snakemake ends with 1 whatever a job says; the hooks take reason and code from here.
        reason = paths.portable(f"Safety stop: {error}" if isinstance(error, SafetyStop) else str(error))
        store.write_json(folder / "stopped.json", {"reason": reason, "exit_code": error.exit_code})
        raise LabError("") from error
    except BaseException:
        teardown.end_block(folder, "the database could not be provided")
        raise
    return "\n".join([_summary(block), *found])


def _begin(lab: Lab, session: dict[str, Any], announce: Announce) -> dict[str, Any]:
    study = session["study"]["model"]["database"]
    settings = {key: str(value) for key, value in study["settings"].items()}
    threads.refuse_too_many(session)
    lab.start(announce, settings, study["major"])
    seeds = _seeded(lab.admin_dsn(), {name: table["rows"] for name, table in study["tables"].items()})
    _statements_hold(lab.admin_dsn(), session)
    proofs = _prove(lab, session)
    announce(lab.record)
    version, found = seeding.settings(lab.admin_dsn())
    _settings_hold(settings, found, lab.admin_dsn())
    return {
        "started_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "environment": {
            **machine.describe(),
            **lab.environment(),
            "caps_enforced": all(proof.enforced for proof in proofs),
            "server_version": version,
            "server_settings": {k: v for k, v in found.items() if not _is_beside_the_point(k)},
        },
        "proof": {
            side: {**asdict(proof), "caps": asdict(proof.caps)}
            for side, proof in zip(("database", "load_generator"), proofs, strict=True)
        },
        "seed": seeds,
    }


def _seeded(dsn: str, tables: dict[str, int]) -> dict[str, dict[str, Any]]:
    """
    Load the tables (name -> rows) and return the proof of each.

    Raises:
        LabError: the server could not take them (a full disk, too little memory), in its own words.
    """
    import psycopg  # noqa: PLC0415 - only where a server is talked to

    try:
        return seeding.seed(dsn, tables)
    except psycopg.Error as error:
        rows = ", ".join(f"{name} {count:,} rows" for name, count in tables.items())
        said = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise LabError(
            f"the tables could not be loaded ({rows}): {said}; make room, lower database.tables or raise "
            "database.limits.memory_mib, then run the same command again"
        ) from error


def _prove(lab: Lab, session: dict[str, Any]) -> tuple[Proof, Proof]:
    """Prove the tightest cap of each side that any cell asks for."""
    plans, required = [Plan.load(session, name) for name in session["planned"]], session["limits_required"]
    wanted = tightest([p.caps("database") for p in plans]), tightest([p.caps("load_generator") for p in plans])
    lab.set_caps(*wanted)
    proofs = _burnt(lab)
    for side, proof in zip(SIDES, proofs, strict=True):
        if not proof.enforced and required:
            raise LabError(f"limits = required, and the cap of the {side} is not enforced: {proof.note}")
    return proofs


def _burnt(lab: Lab) -> tuple[Proof, Proof]:
    """
    Burn inside both caps, again where others left the burn too little CPU to press against one.

    Raises:
        SafetyStop: they left too little each time, so nothing is known of the cap.
    """
    for turn in range(1, BURNS + 1):
        proofs = lab.prove(BURN_S * turn)
        weak = [(side, p) for side, p in zip(SIDES, proofs, strict=True) if not (p.enforced or burn.pressed(p))]
        if not weak:
            return proofs
    side, proof = weak[0]
    raise SafetyStop(
        f"the host is too busy to prove the cap of the {side}: {BURNS} burns got no further than "
        f"{proof.burn_cores or 0:.2f} of {proof.caps.cores or 0:g} cores. Run the same command when it is calm"
    )


def tightest(caps: list[Caps]) -> Caps:
    """Return the cap with the fewest cores, and the smallest memory cap of all."""
    cpu = min((c for c in caps if c.cores is not None), key=lambda c: c.cores or 0, default=caps[0])
    memory = min((c.memory_bytes for c in caps if c.memory_bytes is not None), default=None)
    return replace(cpu, memory_bytes=memory)


def _statements_hold(dsn: str, session: dict[str, Any]) -> None:
    """
    Let the server parse every workload's statement as the load generator's role, before the first run.

    Raises:
        ConfigError: with what the server says of each statement that it refuses, and each argument that cannot be sent.
    """
    import psycopg  # noqa: PLC0415 - only where a server is talked to

    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(f"SET ROLE {ROLE}")
        asked = _statements(session)
        faults = [f"{at}: {fault}" for at, query in asked for fault in statements.faults(connection, query)]
    if faults:
        raise ConfigError([f"{fault}; correct it and run the same command again" for fault in dict.fromkeys(faults)])


def _statements(session: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return every query of the study with the place in the file where its statement stands."""
    written, found = session["study"]["model"]["workloads"], []
    for workload, steps in {
        c["workload"]: c["settings"]["workload"]["request"] for c in session["cells"].values()
    }.items():
        own = written[workload]
        # Where a statement is another workload's, the place is the one where it stands.
        borrowed = own["same"] and own["sql"] is None and own["request"] is None
        name = own["same"] if borrowed else workload
        for number, step in enumerate(steps):
            if "query" in step:
                place = "sql" if written[name]["request"] is None else f"request[{number}].query.sql"
                found.append((f"{session['study']['file']}: workloads.{name}.{place}", step["query"]))
    return found


def _settings_hold(wanted: dict[str, str], found: dict[str, str], dsn: str) -> None:
    """Refuse a server that took a setting in another sense than the study wrote it."""
    import psycopg  # noqa: PLC0415 - only where a server is talked to

    with psycopg.connect(dsn, autocommit=True) as connection:
        for name, value in wanted.items():
            row = connection.execute("SELECT setting, unit FROM pg_settings WHERE name = %s", [name]).fetchone()
            if row is None:
                raise LabError(f"database.settings.{name}: this server knows no such setting; remove it")
            if name not in found and str(row[0]) != value:
                shown = connection.execute("SELECT current_setting(%s)", [name]).fetchone()
                if shown is None or shown[0] != value:
                    raise LabError(f"database.settings.{name} = {value}: the server reads back {shown and shown[0]}")


def _is_beside_the_point(name: str) -> bool:
    """Settings that name a folder differ in every block; those of language and time measure nothing."""
    ends, starts = (
        ("_directory", "_directories", "_file", "imezone", "imeZone"),
        ("lc_", "default_text_search", "unix_socket"),
    )
    return name.endswith(ends) or name.startswith(starts) or name in {"port", "DateStyle"}


def _same_environment(paths: Paths, number: int, environment: dict[str, Any]) -> None:
    """
    Compare with the first block that has measured: a study never mixes labs, servers or machines.

    Raises:
        IdentityError: naming the keys that differ and the ways out.
    """
    for other in paths.block_numbers():
        record = paths.block_record(other)
        if other == number or not record.exists() or not _has_runs(paths, other):
            continue
        theirs = machine.identity(store.read_json(record)["environment"])
        differing = differing_keys(machine.identity(environment), theirs)
        if differing:
            raise IdentityError(
                f"Block {other} of {paths.results} was measured in another environment; "
                "mixing them would compare machines, not pools.\n  "
                + "\n  ".join(differing)
                + "\nUse a new results folder (--config results=NAME), or go back to that environment."
            )
        return


def _has_runs(paths: Paths, block: int) -> bool:
    return any(store.read_json(path)["block"] == block for path in (paths.results / "cells").glob("*/run.json"))


def _start_keeper(folder: Path, owner: place.Owner) -> None:
    """Leave a process behind that removes the lab should the session's own process be killed."""
    # Absolute, since the keeper works in the root folder and would not find a relative one.
    where = str(folder.absolute())
    command = [sys.executable, "-m", "poollab.session.keeper", where, str(owner.pid), str(owner.started)]
    with signals_held():
        keeper = subprocess.Popen(
            command,
            cwd="/",
            env={**os.environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    store.write_json(folder / "keeper.json", {"pid": keeper.pid, "started": procs.start_time(keeper.pid)})


def _summary(block: dict[str, Any]) -> str:
    environment, proof = block["environment"], block["proof"]
    rows = ", ".join(f"{name} {seed['rows']:,} rows" for name, seed in block["seed"].items())
    line = f"Database ready: PostgreSQL {environment['server_version']}, {rows}, checksums proven."
    notes = [p["note"] for p in proof.values() if not p["enforced"]]
    if notes:
        return f"{line}\nUNCAPPED: the caps are not enforced here ({notes[0]}). The report says so in its first lines."
    parts = [
        f"{side.replace('_', ' ')} {p['burn_cores']:.2f} of {p['caps']['quota_us'] / p['caps']['period_us']:g} cores"
        for side, p in proof.items()
        if p["burn_cores"] is not None and p["caps"]["quota_us"]
    ]
    said = [f"Caps proven by a burn: {', '.join(parts)}."] if parts else []
    said += [f"Cap of the {side.replace('_', ' ')}: {p['note']}." for side, p in proof.items() if _only_read(p)]
    return " ".join([line, *said])


def _only_read(proof: dict[str, Any]) -> bool:
    """Tell whether a CPU cap was read back and could not be burnt against."""
    return bool(proof["enforced"] and proof["caps"]["quota_us"] and proof["burn_cores"] is None)
