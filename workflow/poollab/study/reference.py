"""
What the model knows, for readers: JSON Schemas for editors and the tables of config/README.md.

Both come from one walk over one schema, so a key, its range and its effect are written down once: at
the field. pydantic's own schema is not shipped as it is, because it is laxer than the model (names of
mappings, on and off, settings of the lab) and because editors know draft 7 best.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from poollab.errors import DataError
from poollab.study.machine import Machine
from poollab.study.model import Study
from poollab.study.server import LAB_SETTINGS

Node = dict[str, Any]

DIALECT = "http://json-schema.org/draft-07/schema#"
README = "config/README.md"
BEGIN = "<!-- Made from the model by scripts/export_reference.py; change the field, not this text. -->"
END = "<!-- End of the text made from the model. -->"

#: (heading, file that the tables describe, model, exported schema)
FILES: tuple[tuple[str, str, type[BaseModel], str], ...] = (
    ("Keys of a study file", "config/studies/*.yaml", Study, "workflow/schemas/study.schema.json"),
    ("Keys of config/config.yaml", "config/config.yaml", Machine, "workflow/schemas/config.schema.json"),
)

#: Units by the last word of a key, then those of keys without such a word.
SUFFIX_UNITS = {"_per_s": "1/s", "_ms": "ms", "_s": "s", "_mib": "MiB", "_bytes": "bytes", "_cores": "cores"}
KEY_UNITS = {
    "cpus": "cores",
    "rows": "rows",
    "repeats": "runs",
    "spare_repeats": "runs",
    "pools": "connections",
    "arms.<name>.size": "connections",
    "batch.size": "requests",
    "ramp.size": "requests",
    "calibration.seconds": "s",
    "processes": "processes",
    "threads": "threads",
    "executor": "threads",
    "workers": "workers",
    "margin": "share",
    "ms": "ms",
    "times": "executions",
    "share": "share",
    "from_share": "share",
    "to_share": "share",
    "share_of_capacity": "share",
    "bursts.size": "requests",
    "allowed_errors": "share",
}
TYPE_WORDS = {"integer": "whole number", "number": "number", "string": "text", "boolean": "on or off"}


def schema(model: type[BaseModel]) -> Node:
    """Return the JSON Schema (draft 7) of a model, as strict as the model where the dialect can say it."""
    made: Node = _tidy(model.model_json_schema())
    for part in made.get("$defs", {}).values():
        settings = part.get("properties", {}).get("settings")
        if settings is not None:
            _tighten_settings(settings)
    return {"$schema": DIALECT, **made}


def _tighten_settings(node: Node) -> None:
    """Say what only validators know: unquoted on and off are fine, settings of the lab are not."""
    for values in node["patternProperties"].values():
        values["anyOf"].append({"type": "boolean"})
    node["propertyNames"] = {**node.get("propertyNames", {}), "not": {"enum": sorted(LAB_SETTINGS)}}


def _tidy(node: Any) -> Any:
    """Drop made-up titles and null branches, close mappings, and write tuples as draft 7 does."""
    if isinstance(node, list):
        return [_tidy(item) for item in node]
    if not isinstance(node, dict):
        return node
    node = {key: _tidy(value) for key, value in node.items() if not (key == "title" and isinstance(value, str))}
    # A union that is told apart by its value is `oneOf`; editors and our tables need no such distinction.
    either = node.pop("anyOf", node.pop("oneOf", []))
    branches = [_rule_apart(b) for b in either if b != {"type": "null"}]
    if len(branches) == 1:
        node = {**branches[0], **{k: v for k, v in node.items() if (k, v) != ("default", None)}}
    elif branches:
        node["anyOf"] = branches
    if "patternProperties" in node:
        node["additionalProperties"] = False
    if "prefixItems" in node:
        first, *others = node.pop("prefixItems")
        node["items"] = {key: value for item in (first, *others) for key, value in item.items()}
    return node


def _rule_apart(branch: Node) -> Node:
    """Keep the words for a pattern from being taken for the effect of the key; editors show them as the fault."""
    if "pattern" in branch and "description" in branch:
        return {**{k: v for k, v in branch.items() if k != "description"}, "patternErrorMessage": branch["description"]}
    return branch


@dataclass(frozen=True, slots=True)
class Row:
    """One key of a file; every field is a cell of the table as text."""

    key: str
    type: str
    unit: str
    allowed: str
    default: str
    effect: str


def rows(model: type[BaseModel]) -> list[Row]:
    """List every key of a file, parents before their children, in the order of the model."""
    whole = schema(model)
    return list(_children(whole, whole, "", {}))


def _children(whole: Node, node: Node, at: str, seen: dict[str, str]) -> Iterator[Row]:
    required = node.get("required", [])
    for name, child in node.get("properties", {}).items():
        path = f"{at}.{name}" if at else name
        yield from _described(whole, child, _row(path, resolve(whole, child), required=name in required), seen)


def _described(whole: Node, child: Node, row: Row, seen: dict[str, str]) -> Iterator[Row]:
    """Yield a key's row, then its children's; a part that was listed before is only named."""
    inner, below = child, row.key
    if "patternProperties" in child:
        inner, below = next(iter(child["patternProperties"].values())), f"{row.key}.<name>"
    elif child.get("type") == "array":
        inner, below = child["items"], f"{row.key}[]"
    reference = mapping_of(inner).get("$ref")
    if reference in seen:
        yield replace(row, allowed=f"the keys of `{seen[reference]}`")
        return
    yield row
    if reference is not None:
        seen[reference] = below
        yield from _children(whole, resolve(whole, mapping_of(inner)), below, seen)


def mapping_of(node: Node) -> Node:
    """Return the branch of a union that has keys of its own (there is one at most), else the node itself."""
    return next((branch for branch in node.get("anyOf", []) if "$ref" in branch), node)


def resolve(whole: Node, node: Node) -> Node:
    """Follow a reference; what stands beside it (description, default) wins."""
    reference = node.get("$ref")
    return node if reference is None else {**whole["$defs"][reference.rpartition("/")[2]], **node}


def _row(path: str, node: Node, *, required: bool) -> Row:
    default = "required" if required else _value(node.get("default"))
    return Row(path, kind(node), _unit(path), allowed(node), default, node.get("description", ""))


def _unit(path: str) -> str:
    by_suffix = (unit for suffix, unit in SUFFIX_UNITS.items() if path.endswith(suffix))
    by_key = (unit for key, unit in KEY_UNITS.items() if path == key or path.endswith(f".{key}"))
    return next(by_suffix, None) or next(by_key, "")


def kind(node: Node) -> str:
    """Return the type of a value in plain words."""
    if "anyOf" in node:
        words = [kind(branch) for branch in node["anyOf"]]
        *some, last = [word for word in words if not (word == "whole number" and "number" in words)]
        return f"{', '.join(some)} or {last}" if some else last
    if node.get("type") == "array":
        return f"{'pair' if node.get('minItems') == node.get('maxItems') == 2 else 'list'} of {kind(node['items'])}s"
    if "patternProperties" in node:
        return f"mapping of names to {_plural(next(iter(node['patternProperties'].values())))}"
    return TYPE_WORDS.get(node.get("type", "object"), "mapping")


def _plural(node: Node) -> str:
    return f"{kind(node)}s" if "anyOf" not in node else f"values, each {kind(node)}"


def allowed(node: Node) -> str:
    """Return the range, the choices or the form of a value in plain words; empty where its type says all."""
    if "const" in node or "enum" in node:
        return ", ".join(f"`{value}`" for value in node.get("enum", [node.get("const")]))
    if "anyOf" in node:
        return "; ".join(filter(None, map(allowed, node["anyOf"])))
    if node.get("type") == "array":
        each = allowed(node["items"])
        return "; ".join(filter(None, ["at least one" * (node.get("minItems") == 1), each and f"each {each}"]))
    if "patternProperties" in node:
        names = node.get("propertyNames", {}).get("description")
        return "; ".join(filter(None, ["at least one" * (node.get("minProperties") == 1), names and f"names: {names}"]))
    if "patternErrorMessage" in node:
        return str(node["patternErrorMessage"])
    text = node.get("type") == "string"
    return _bounds(node, *(("minLength", "maxLength", " characters") if text else ("minimum", "maximum", "")))


def _bounds(node: Node, low: str, high: str, what: str) -> str:
    """Say a range in words; an integer's open upper end is written as the largest value."""
    least, most = node.get(low), node.get(high)
    above, below = node.get("exclusiveMinimum"), node.get("exclusiveMaximum")
    if below is not None and node.get("type") == "integer":
        most = below - 1
    if least is not None and most is not None:
        return f"{_number(least)} to {_number(most)}{what}"
    if above is not None and most is not None:
        return f"more than {_number(above)}, at most {_number(most)}{what}"
    if above is not None and below is not None and most is None:
        return f"more than {_number(above)}, less than {_number(below)}{what}"
    return f"at most {_number(most)}{what}" if most is not None else ""


def _number(value: float) -> str:
    whole = {2**31 - 1: "2^31 - 1", -(2**31): "-2^31", 2**63 - 1: "2^63 - 1"}
    return whole.get(int(value), f"{value:.10g}")


def _value(value: Any) -> str:
    if value is None or isinstance(value, (dict, list)):
        return "none" if not value or isinstance(value, list) else "see its keys"
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def tables() -> str:
    """Return the generated part of config/README.md."""
    parts = []
    for heading, described, model, exported in FILES:
        lines = [f"## {heading}", "", f"`{described}`; schema for editors: `{exported}`.", ""]
        lines += ["| Key | Type | Unit | Allowed | Default | Effect |", "| --- | --- | --- | --- | --- | --- |"]
        for row in rows(model):
            cells = (f"`{row.key}`", row.type, row.unit, row.allowed, row.default, row.effect)
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def outputs(root: Path) -> dict[Path, str]:
    """
    Return every generated file with the text it should have.

    Raises:
        DataError: config/README.md has lost the marks between which the tables stand.
    """
    texts = {root / name: json.dumps(schema(model), indent=2, ensure_ascii=False) + "\n" for _, _, model, name in FILES}
    readme = root / README
    authored, begin, rest = readme.read_text("utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise DataError(f"{README}: one of the two marks is gone; put these two lines back: {BEGIN} and {END}")
    texts[readme] = f"{authored}{BEGIN}\n\n{tables()}\n\n{END}{after}"
    return texts
