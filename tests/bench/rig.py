# ruff: noqa: E402 - the package's folder is put on the path first
"""A capped embedded lab for the benchmarks, and one run of light-uniform on it."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "workflow"))

from poollab.errors import LabError
from poollab.lab import seeding
from poollab.lab.child import EmbeddedGenerator
from poollab.lab.embedded import EmbeddedLab
from poollab.lab.place import Owner
from poollab.run import cell, tables
from poollab.run.cell import Plan
from poollab.session.plan_file import cells
from poollab.study.files import load_study

BARE = Path(__file__).with_name("bare.py")


class BenchLab(EmbeddedLab):
    """The embedded lab, whose generator may be another program."""

    program: Path | None = None

    def start_generator(self, scratch: Path) -> EmbeddedGenerator:
        """Start the load generator, or the program in its place."""
        if self.program is None:
            return super().start_generator(scratch)
        return EmbeddedGenerator([sys.executable, str(self.program), str(scratch)], scratch, self._side("generator"))


@contextmanager
def capped_lab(plan: Plan, kind: type[BenchLab] = BenchLab) -> Iterator[Any]:
    """Yield a seeded server with the study's caps on both sides; refuse where they are not enforced."""
    lab = kind.new(Owner.this_process())
    try:
        database = plan.settings["database"]
        lab.start(lambda _: None, {k: str(v) for k, v in database["settings"].items()}, database["major"])
        seeding.seed(lab.admin_dsn(), {name: table["rows"] for name, table in database["tables"].items()})
        lab.set_caps(plan.caps("database"), plan.caps("load_generator"))
        if not all(proof.enforced for proof in lab.prove(1.0)):
            raise LabError("the caps are not enforced here, so there is nothing to compare")
        yield lab
    finally:
        lab.remove()


def light_plan(pool: int = 20) -> Plan:
    """Return the main study's first light-uniform cell with some pool size."""
    plans = cells(load_study(ROOT / "config" / "studies" / "pool-size.yaml"), "pool-size")
    return plans[f"light-uniform.pool-{pool}.r1"]


def short(plan: Plan, measure_s: float) -> Plan:
    """Return the same cell with another window, for a benchmark that needs many runs."""
    return replace(plan, settings={**plan.settings, "windows": {"warm_up_s": 2.0, "measure_s": measure_s}})


def run(lab: BenchLab, plan: Plan, program: Path | None = None) -> dict[str, Any]:
    """Send one window; return the mean scheduling delay (ns) where rows exist, and CPU for each request (ns)."""
    lab.program = program
    scratch = Path(lab.record.folder) / "cells" / plan.cell
    scratch.mkdir(parents=True)
    caps, _ = lab.set_caps(plan.caps("database"), plan.caps("load_generator"))
    try:
        observed = cell.observe(lab, plan, scratch, caps, None, facts=program is None)
        count = observed.spec["measure"]["count"]
        start, end = observed.counters["generator"]
        found: dict[str, Any] = {"cpu_ns": ((end.cpu_ns or 0) - (start.cpu_ns or 0)) / count}
        if program is None:
            rows = tables.read_columns(scratch / "measure.bin", count)
            found["delay_ns"] = float((rows["started"] - rows["scheduled"]).mean())
        return found
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
