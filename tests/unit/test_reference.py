"""The exported schemas and config/README.md say what the model does."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from poollab.errors import DataError
from poollab.study import reference
from poollab.study.files import load_study, parse, read_yaml
from poollab.study.machine import Machine
from poollab.study.model import Study

ROOT = Path(__file__).resolve().parents[2]
STUDIES = sorted((ROOT / "config" / "studies").glob("*.yaml"))


@pytest.fixture(scope="module")
def study_schema() -> dict[str, Any]:
    return reference.schema(Study)


def _faults(schema: dict[str, Any], data: Any) -> list[str]:
    return [error.message for error in jsonschema.Draft7Validator(schema).iter_errors(data)]


def test_generated_files_are_current():
    stale = [str(p.relative_to(ROOT)) for p, text in reference.outputs(ROOT).items() if p.read_text("utf-8") != text]
    assert stale == [], "run scripts/export_reference.py"


def test_check_fails_on_a_stale_file_and_writing_mends_it(tmp_path: Path):
    for name in ("config", "workflow/schemas", "workflow/poollab", "scripts"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).symlink_to(ROOT / name) if "poollab" in name else (tmp_path / name).mkdir()
    (tmp_path / "config/README.md").write_text((ROOT / "config/README.md").read_text("utf-8") + "more\n", "utf-8")
    script = tmp_path / "scripts/export_reference.py"
    script.write_text((ROOT / "scripts/export_reference.py").read_text("utf-8"), "utf-8")

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, str(script), *words], capture_output=True, text=True, check=False)

    stale = run("--check")
    assert stale.returncode == 1
    assert "workflow/schemas/study.schema.json: is not current; run scripts/export_reference.py" in stale.stderr
    assert run().returncode == 0
    assert run("--check").returncode == 0
    assert (tmp_path / "config/README.md").read_text("utf-8").endswith("more\n"), "the authored part is kept"


def test_a_lost_mark_is_named(tmp_path: Path):
    (tmp_path / "config").mkdir()
    (tmp_path / "config/README.md").write_text("no marks here", "utf-8")
    with pytest.raises(DataError, match="put these two lines back"):
        reference.outputs(tmp_path)


@pytest.mark.parametrize("path", STUDIES, ids=lambda p: p.stem)
def test_shipped_studies_pass_model_and_schema(path: Path, study_schema: dict[str, Any]):
    assert path.read_text("utf-8").splitlines()[0].startswith("# yaml-language-server: $schema=")
    assert load_study(path).title
    assert _faults(study_schema, yaml.safe_load(path.read_text("utf-8"))) == []


def test_shipped_machine_file_passes_model_and_schema():
    data = read_yaml(ROOT / "config/config.yaml")
    assert parse(Machine, data, "config/config.yaml").study == "pool-size"
    assert _faults(reference.schema(Machine), data) == []


@pytest.mark.parametrize("path", [ROOT / "config/config.yaml", *STUDIES], ids=lambda p: p.stem)
def test_first_line_leads_an_editor_to_an_existing_schema(path: Path):
    target = path.read_text("utf-8").splitlines()[0].partition("$schema=")[2]
    assert json.loads((path.parent / target).read_text("utf-8"))["$schema"] == reference.DIALECT


@pytest.mark.parametrize("model", [Study, Machine])
def test_schema_is_valid_and_has_a_text_for_every_key(model: Any):
    schema = reference.schema(model)
    jsonschema.Draft7Validator.check_schema(schema)
    assert [row.key for row in reference.rows(model) if not row.effect] == []


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"repeat": 3}, id="unknown key"),
        pytest.param({"pools": []}, id="no pool"),
        pytest.param({"pools": [5.5]}, id="half a connection"),
        pytest.param({"workloads": {"Light": {"arrivals": {}}}}, id="label with a capital"),
        pytest.param(
            {"database": {"tables": {"t": {"rows": 1}}, "settings": {"listen_addresses": "*"}}}, id="lab's setting"
        ),
        pytest.param({"database": {"tables": {}}}, id="no table"),
        pytest.param({"windows": {"measure_s": 0}}, id="empty window"),
        pytest.param({"repeats": None}, id="null"),
    ],
)
def test_schema_refuses_in_the_editor_what_the_model_refuses(change: dict[str, Any], study_schema: dict[str, Any]):
    good = yaml.safe_load((ROOT / "config/studies/pool-size.yaml").read_text("utf-8"))
    assert _faults(study_schema, {**good, **change}) != []


def test_schema_takes_unquoted_on_and_off_as_the_model_does(study_schema: dict[str, Any]):
    data = yaml.safe_load((ROOT / "config/studies/pool-size.yaml").read_text("utf-8"))
    data["database"]["settings"]["jit"] = False
    assert _faults(study_schema, data) == []
    assert parse(Study, data, "study").database.settings["jit"] == "off"


def _keys(schema: dict[str, Any]) -> Iterator[str]:
    for part in (schema, *schema.get("$defs", {}).values()):
        yield from part.get("properties", {})


@pytest.mark.parametrize("model", [Study, Machine])
def test_tables_list_every_key_with_its_unit(model: Any):
    rows = reference.rows(model)
    assert {key.rpartition(".")[2] for key in (row.key for row in rows)} == set(_keys(reference.schema(model)))
    assert len({row.key for row in rows}) == len(rows)
    assert [
        r.key for r in rows if r.key.endswith(("_ms", "_s", "_mib", ".cpus", ".rows", ".size")) and not r.unit
    ] == []


def test_a_row_says_type_range_default_and_effect():
    row = next(row for row in reference.rows(Study) if row.key == "database.limits.period_ms")
    assert (row.type, row.unit, row.allowed, row.default) == ("number", "ms", "1 to 1000", "`10`")
    assert "quota period" in row.effect


def _examples() -> list[str]:
    authored = (ROOT / "config/README.md").read_text("utf-8").partition(reference.BEGIN)[0]
    return re.findall(r"```yaml\n(.*?)```", authored, re.DOTALL)


@pytest.mark.parametrize("text", _examples())
def test_examples_in_the_readme_are_right(text: str):
    part = yaml.safe_load(text)
    base = yaml.safe_load(_examples()[0])
    if "arms" in part:
        del base["pools"]
    assert parse(Study, {**base, **part}, "config/README.md").workloads
