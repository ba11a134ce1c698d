"""The main study with faults put into it, and the sentences that say so."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from poollab.errors import ConfigError
from poollab.study.files import parse
from poollab.study.model import Study

ROOT = Path(__file__).resolve().parents[2]
GOOD: dict[str, Any] = yaml.safe_load((ROOT / "config/studies/pool-size.yaml").read_text("utf-8"))
GONE = object()
LABEL = "1 to 40 lower-case letters, digits and inner hyphens"
LIGHT = "workloads.light-uniform"

#: pydantic's vocabulary and Python's: nobody who writes a study should have to know it.
JARGON = (
    "valid dictionary", "instance of", "valid string", "valid integer", "valid number", "valid list", "valid tuple",
    "after validation", "Input", "literal", "NoneType", "Traceback", "{0,", "^[", "constrained", "[key]", "function-",
    "base 10", "\n",
)  # fmt: skip


def with_changes(changes: dict[str, Any]) -> dict[str, Any]:
    """Return the main study with values put at (or taken from) places such as database.limits.cpus."""
    data = copy.deepcopy(GOOD)
    for place, value in changes.items():
        here: Any = data
        *way, last = place.split(".")
        for step in way:
            here = here[step]
        if value is GONE:
            del here[last]
        else:
            here[last] = copy.deepcopy(value)
    return data


def faults_of(changes: dict[str, Any]) -> list[str]:
    """Return every sentence with which the changed study is refused."""
    with pytest.raises(ConfigError) as caught:
        parse(Study, with_changes(changes), "my-study.yaml")
    assert caught.value.exit_code == 2
    return list(caught.value.faults)


def check_one(changes: dict[str, Any], parts: list[str]) -> None:
    """See that a fault is one line that holds the parts, no jargon, and a next step."""
    faults = faults_of(changes)
    assert len(faults) == 1, faults
    assert faults[0].startswith("my-study.yaml: ")
    assert [part for part in parts if part not in faults[0]] == [], faults[0]
    assert [word for word in JARGON if word in faults[0]] == [], faults[0]
    assert any(c in faults[0] for c in ";?"), f"no next step: {faults[0]}"
