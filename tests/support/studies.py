"""Small studies as a user would write them, and the plans that follow from them."""

import copy
from typing import Any

from poollab.run.cell import Plan
from poollab.session import plan_file
from poollab.study.files import parse
from poollab.study.model import Study

BASE: dict[str, Any] = {
    "title": "Does it work?",
    "database": {
        "major": 16,
        "tables": {"pool_lab": {"rows": 2000}},
        "settings": {"max_connections": 40, "shared_buffers": "16MB"},
        "limits": {"cpus": 0.5, "period_ms": 10, "memory_mib": 256},
    },
    "load_generator": {"limits": {"cpus": 0.5, "period_ms": 10}},
    "workloads": {
        "light": {
            "sql": "SELECT balance FROM pool_lab WHERE id = $1",
            "args": [{"int": [1, 2000]}],
            "arrivals": {"uniform": {"every_ms": 10}},
        }
    },
    "pools": [1, 3],
    "repeats": 1,
    "windows": {"warm_up_s": 0.3, "measure_s": 1},
}


def data(changes: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the plain values of a small study; `changes` maps dotted paths to values (None removes the key)."""
    made = copy.deepcopy(BASE)
    for path, value in (changes or {}).items():
        *above, last = path.split(".")
        here = made
        for step in above:
            here = here.setdefault(step, {})
        if value is None:
            here.pop(last, None)
        else:
            here[last] = copy.deepcopy(value)
    return made


def study(changes: dict[str, Any] | None = None) -> Study:
    """Return a small study."""
    return parse(Study, data(changes), "test")


def plans(changes: dict[str, Any] | None = None, name: str = "test") -> dict[str, Plan]:
    """Return the plans of a small study's cells by name, in the order of execution."""
    return plan_file.cells(study(changes), name)


def one_cell(sql: str, arrivals: dict[str, Any], changes: dict[str, Any] | None = None) -> Plan:
    """Return the plan of a study with a single cell: one workload, pool size in `changes["pools"]` or 3."""
    workload = {"sql": sql, "args": [{"int": [1, 2000]}] if "$1" in sql else [], "arrivals": arrivals}
    found = plans({"pools": [3], "workloads": {"work": workload}, **(changes or {})})
    (plan,) = found.values()
    return plan
