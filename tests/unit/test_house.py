"""The house: rooms that import one way only, a small generator, and modules that fit on a few screens."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "workflow" / "poollab"
FILES = sorted(PACKAGE.rglob("*.py"))
SCRIPTS = sorted((ROOT / "scripts").glob("*.py"))
#: Anybody may use these: errors, names, the version, the percentile.
COMMON = {"errors", "labels", "quantiles", ""}
#: Which rooms a room may look into (besides itself): study -> plan -> lab -> run(load) -> data -> stats ->
#: report -> publish. `session` ties them together and may use all.
MAY_USE = {
    "study": set(),
    "plan": {"study"},
    "lab": set(),
    "load": set(),
    "data": set(),
    "run": {"lab", "load", "data"},
    "stats": {"data"},
    "report": {"data", "stats"},
    "publish": {"data", "report"},
    "session": {"study", "plan", "lab", "load", "data", "run", "stats", "report", "publish"},
    "errors": set(),
    "labels": set(),
    "quantiles": set(),
    "": set(),
}
#: What may never be loaded while the clock runs.
HEAVY = {"pandas", "matplotlib", "scipy", "jinja2", "weasyprint"}
DRIVERS = {"asyncpg", "psycopg", "psycopg_pool", "sqlalchemy", "docker"}


def _imports(path: Path) -> Iterator[str]:
    """Give the full name of every module that a file imports, in functions too."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide which room is meant"
            module = node.module or ""
            # `from poollab import plan` names the room only in what is imported.
            yield from (f"{module}.{alias.name}" for alias in node.names) if module == "poollab" else [module]


def _name(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def _room(path: Path) -> str:
    inner = path.relative_to(PACKAGE)
    return inner.parts[0] if len(inner.parts) > 1 else inner.stem.removeprefix("__init__")


def _rooms_used(path: Path) -> set[str]:
    used = set()
    for name in _imports(path):
        if name == "poollab" or name.startswith("poollab."):
            part = name.split(".")[1] if "." in name else ""
            used.add("" if part.isupper() or part.startswith("__") else part)
    return used


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_rooms_are_used_one_way(path: Path) -> None:
    """No room looks into one that comes after it, so that each can be read and tested without the rest."""
    room = _room(path)
    assert room in MAY_USE, f"{room} has no place in the one-way flow; give it one in this test and in DESIGN"
    assert _rooms_used(path) - {room} - COMMON <= MAY_USE[room]


@pytest.mark.parametrize("path", [p for p in FILES if _room(p) in {"load", "lab"}], ids=_name)
def test_nothing_heavy_where_the_clock_runs(path: Path) -> None:
    """Load generator and lab never import tables, figures or templates."""
    assert not {name.partition(".")[0] for name in _imports(path)} & HEAVY


@pytest.mark.parametrize("path", [p for p in FILES if _room(p) in {"stats", "report"}], ids=_name)
def test_analysis_needs_no_server(path: Path) -> None:
    """Statistics and report run where no driver and no Docker is installed."""
    assert not {name.partition(".")[0] for name in _imports(path)} & DRIVERS


#: The schedule is drawn outside the cap; all the rest of `load` runs inside.
GENERATOR = sorted(p for p in (PACKAGE / "load").glob("*.py") if p.stem not in {"arrivals", "draw"})
CLIENTS = sorted((PACKAGE / "load" / "clients").glob("*.py"))
FAMILIES = sorted((PACKAGE / "load" / "families").glob("*.py"))
POOLS = [p for p in FAMILIES if p.stem.startswith("pool_")]


@pytest.mark.parametrize("path", [*GENERATOR, *CLIENTS, *FAMILIES], ids=lambda p: p.name)
def test_generator_imports_its_driver_and_the_standard_library(path: Path) -> None:
    """What runs inside the cap imports one driver, uvloop and the standard library, and of ours only `load`."""
    outside = {name.partition(".")[0] for name in _imports(path)} - set(sys.stdlib_module_names) - {"poollab"}
    drivers = {"asyncpg", "psycopg", "psycopg_pool"} if path in CLIENTS else set()
    drivers |= DRIVERS - {"docker"} if path in POOLS else set()
    assert outside <= drivers | {"uvloop"}
    ours = {name for name in _imports(path) if name.startswith("poollab")}
    assert all(name.startswith("poollab.load") for name in ours)


@pytest.mark.parametrize("client", [p.stem for p in CLIENTS if p.stem != "__init__"])
def test_generator_process_loads_nothing_else(client: str) -> None:
    """A real generator process with its driver holds no numpy, no pandas and nothing else that costs memory."""
    code = (
        f"import sys, poollab.load.generator, poollab.load.clients.{client}\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(ROOT / "workflow"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    unwanted = HEAVY | {"numpy", "pyarrow", "pydantic", "yaml", "psutil", "snakemake", "docker"}
    assert not set(done.stdout.split()) & unwanted


@pytest.mark.parametrize("path", [*FILES, *SCRIPTS], ids=lambda p: str(p.relative_to(ROOT)))
def test_modules_and_functions_stay_small(path: Path) -> None:
    """No module is longer than 300 lines and no function than 50: what is longer is two things."""
    text = path.read_text("utf-8")
    assert len(text.splitlines()) <= 300
    long = [
        f"{node.name} ({node.end_lineno - node.lineno + 1} lines)"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and node.end_lineno is not None
        and node.end_lineno - node.lineno + 1 > 50
    ]
    assert not long


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda p: p.name)
def test_scripts_are_thin(path: Path) -> None:
    """A script takes its arguments and calls the package: 60 lines are enough."""
    assert len(path.read_text("utf-8").splitlines()) <= 60


def test_every_error_is_in_one_file() -> None:
    """Who wants to know how Poollab can fail reads errors.py; no other module defines an exception."""
    for path in FILES:
        if path.name == "errors.py":
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                bases = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
                assert not {b for b in bases if b.endswith(("Error", "Exception", "Stop"))}, f"{path}: {node.name}"
