"""The environment as read back from server and kernel, one table; what differs between blocks is marked."""

from typing import Any

from poollab.report import calibrated, cells, words
from poollab.report.cells import Table, column
from poollab.report.studyview import StudyView

Row = dict[str, Any]


def build(environment: Row, study: StudyView) -> Table:
    """Return the table: what, asked for, read back. Constant values stand once, others block by block."""
    blocks = environment["blocks"]
    bodies = [
        ("PostgreSQL server", _server(blocks, study)),
        ("Caps", _caps(blocks, study)),
        ("Machine", _machine(blocks)),
        ("Software", _software(environment, blocks)),
        ("Data", _seed(blocks, study)),
        *([("Found before the first cell", found)] if (found := calibrated.rows(environment)) else []),
    ]
    return cells.table(
        "environment",
        f"Environment of {words.plural(len(blocks), 'block')}: what the study asked for, and what server and kernel "
        "read back",
        [column("item"), column("asked for"), column("read back")],
        bodies,
        ["A value that stands once was the same in every block."] if len(blocks) > 1 else [],
    )


def _merged(values: list[Any], numbers: list[int]) -> tuple[str, bool]:
    """Return one text for all blocks, and whether they differ."""
    shown = [words.MISSING if v is None or v == "" else str(v) for v in values]
    if len(set(shown)) <= 1:
        return (shown[0] if shown else words.MISSING), False
    return "; ".join(f"block {number}: {v}" for number, v in zip(numbers, shown, strict=True)), True


def _row(item: str, asked: str | None, values: list[Any], blocks: list[Row], judged: list[str] | None = None) -> Row:
    """Return a row; where values are readings that never agree, `judged` holds what must agree in their place."""
    text, differs = _merged(values, [block["block"] for block in blocks[: len(values)]])
    if judged is not None:
        differs = len(set(judged)) > 1
    got = cells.text(text, "not read")
    want = cells.text(words.MISSING if asked is None else asked, "not asked for")
    return cells.row(item, [want, got], "differs between blocks" if differs else "")


def _of(blocks: list[Row], key: str) -> list[Any]:
    return [block["environment"].get(key) for block in blocks]


def _server(blocks: list[Row], study: StudyView) -> list[Row]:
    asked = {k: str(v) for k, v in study.model["database"]["settings"].items()}
    read = [block["environment"].get("server_settings") or {} for block in blocks]
    names = [*asked, *sorted({name for settings in read for name in settings} - set(asked))]
    return [
        _row("version", f"major {study.model['database']['major']}", _of(blocks, "server_version"), blocks),
        _row("source", None, _of(blocks, "server_source"), blocks),
        *(_row(name, asked.get(name), [settings.get(name) for settings in read], blocks) for name in names),
    ]


def _caps(blocks: list[Row], study: StudyView) -> list[Row]:
    rows = []
    for side, name in (("database", "database"), ("load_generator", "load generator")):
        asked = "; ".join(f"{label}: {_asked(c)}" if label else _asked(c) for label, c in study.levels(side))
        proofs = [(block.get("proof") or {}).get(side) or {} for block in blocks]
        rows.append(_row(name, asked, [_read_back(proof.get("caps")) for proof in proofs], blocks))
        rows.append(_row(f"{name}, proof", None, [_burn(proof) for proof in proofs], blocks, verdicts(proofs)))
    return rows


def _asked(caps: Row) -> str:
    memory = f", {caps['memory_mib']:,} MiB" if caps.get("memory_mib") else ""
    if caps.get("cpus") is None:
        return f"no CPU cap{memory}"
    return f"{caps['cpus']:g} core in periods of {caps['period_ms']:g} ms{memory}"


def _read_back(caps: Row | None) -> str | None:
    if caps is None:
        return None
    memory = f", {caps['memory_bytes'] / words.MIB:,.0f} MiB" if caps.get("memory_bytes") else ""
    if caps.get("quota_us") is None:
        return f"no CPU cap{memory}"
    quota, period = caps["quota_us"], caps["period_us"]
    return f"{quota / period:g} core: {quota:,} µs of each {period:,} µs{memory}"


def _burn(proof: Row) -> str | None:
    if not proof:
        return None
    cores, throttled = proof.get("burn_cores"), proof.get("burn_throttled")
    seen = "not burnt" if cores is None else f"held {cores:.3f} cores"
    periods = "" if throttled is None else f", {words.plural(throttled, 'throttled period')}"
    note = f" ({proof['note']})" if proof.get("note") else ""
    return f"{seen}{periods}; {'enforced' if proof.get('enforced') else 'NOT enforced'}{note}"


def verdicts(proofs: list[Row]) -> list[str]:
    """Return what must agree between blocks: whether the cap held, and not how much was burnt in showing it."""
    return [str(proof.get("enforced")) for proof in proofs]


def _machine(blocks: list[Row]) -> list[Row]:
    memory = [None if v is None else f"{v / words.MIB / 1024:,.1f} GiB" for v in _of(blocks, "memory_bytes")]
    slices = [None if v is None else f"{v:,} µs" for v in _of(blocks, "cfs_slice_us")]
    return [
        _row("kernel", None, _of(blocks, "kernel"), blocks),
        _row("CPU", None, _of(blocks, "cpu_model"), blocks),
        _row("CPUs", None, _of(blocks, "cpus"), blocks),
        _row("memory", None, memory, blocks),
        _row("cgroup version", None, _of(blocks, "cgroup_version"), blocks),
        _row("CFS bandwidth slice", None, slices, blocks),
        _row("clock source", None, _of(blocks, "clocksource"), blocks),
    ]


def _software(environment: Row, blocks: list[Row]) -> list[Row]:
    drivers = sorted({name for block in blocks for name in block["environment"].get("drivers") or {}})
    lab, tool = environment["lab"], environment["poollab"]
    return [
        _row("lab", None, [f"{lab['kind']} ({lab['why']})" if lab.get("why") else lab["kind"]], blocks),
        *(
            _row(name, None, [(b["environment"].get("drivers") or {}).get(name) for b in blocks], blocks)
            for name in drivers
        ),
        _row("Python", None, _of(blocks, "python"), blocks),
        _row("Poollab", None, [f"{tool['version']}, method {tool['method']}"], blocks),
    ]


def _seed(blocks: list[Row], study: StudyView) -> list[Row]:
    rows = []
    for name, table in study.model["database"]["tables"].items():
        seeds = [(block.get("seed") or {}).get(name) for block in blocks]
        shown = [None if s is None else _seeded(s) for s in seeds]
        rows.append(_row(f"table {name}", words.plural(int(table["rows"]), "row"), shown, blocks))
    return rows


def _seeded(seed: Row) -> str:
    return (
        f"{words.plural(seed['rows'], 'row')}, {seed['bytes'] / words.MIB:,.1f} MiB with its index, checksum "
        f"{str(seed['checksum'])[:16]}"
    )
