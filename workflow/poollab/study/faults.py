"""
Turn pydantic's report into sentences: place, value, what is allowed, next step.

What is allowed at a place comes from the same schema as the editors' and config/README.md's, so the three
never disagree, and no message has pydantic's own vocabulary in it.
"""

import difflib
import reprlib
from typing import Any

from pydantic import BaseModel, ValidationError

from poollab.study import reference
from poollab.study.reference import Node

NEXT = "change it and run the same command again"

#: Between several faults that one validator reports.
SEPARATOR = "\x1e"


def sentences(error: ValidationError, model: type[BaseModel]) -> list[str]:
    """Return one line for each fault, each fault once."""
    whole = reference.schema(model)
    lines: dict[str, None] = {}
    unions: set[str] = set()
    for each in error.errors():
        at, node = _locate(whole, each["loc"])
        # Where one of several kinds of value is due, pydantic reports each kind that it is not.
        # A pair that lacks its second value is one kind of wrong value, not a key that is missing.
        within = each["type"] == "missing" and isinstance(each["loc"][-1], int)
        if "anyOf" in node and (within or each["type"] not in {"extra_forbidden", "value_error", "missing"}):
            if _join(at) in unions:
                continue
            unions.add(_join(at))
        lines |= dict.fromkeys(_sentence(each, at, node, whole))
    return list(lines)


def _sentence(error: Any, at: list[Any], node: Node, whole: Node) -> list[str]:
    kind, got = error["type"], short(error["input"])
    if kind == "extra_forbidden":
        keys = reference.resolve(whole, reference.mapping_of(node))
        return [f"{_join([*at, error['loc'][-1]])}: is not a known key; {_known(error['loc'][-1], keys)}"]
    if kind == "missing":
        return [f"{_join(at)}: is missing; add it: {must_be(node)} (config/README.md describes it)"]
    if kind == "value_error":
        texts = str(error["ctx"]["error"]).split(SEPARATOR)
        place = f"{_join(at)}: " if error["loc"][-1:] == ("[key]",) else f"{_join(at)} = {got}: "
        return [text if not at else place + text for text in texts]
    if error["loc"][-1:] == ("[key]",) or kind == "invalid_key":
        rule = node.get("propertyNames", {}).get("description") or "a word, such as title"
        return [f"{_join(at)}: the name {got} must be {rule}; {NEXT}"]
    return [f"{_join(at)} = {got}: must be {must_be(node)}; {_hint(error['input'], node) or NEXT}"]


def _locate(whole: Node, loc: tuple[Any, ...]) -> tuple[list[Any], Node]:
    """
    Walk a place down the schema.

    Returns the steps that lie in the file (pydantic also names the branches of a union) and the node that they
    lead to. For the name of a key that is the node of its mapping, as the rule for names stands there.
    """
    at: list[Any] = []
    node = whole
    for part in loc:
        below = _below(whole, node, part)
        if below is not None:
            at.append(f"[{part}]" if "items" in node else part)
            node = below if loc[-1] != "[key]" or part != loc[-2] else node
    return at, node


def _below(whole: Node, node: Node, part: Any) -> Node | None:
    node = reference.resolve(whole, reference.mapping_of(node))
    if isinstance(part, int) and "items" in node:
        return reference.resolve(whole, node["items"])
    if part in node.get("properties", {}):
        return reference.resolve(whole, node["properties"][part])
    if "patternProperties" in node and part != "[key]":
        return reference.resolve(whole, next(iter(node["patternProperties"].values())))
    return None


def _join(steps: list[Any]) -> str:
    text = "".join(step if str(step).startswith("[") else f".{step}" for step in steps)
    return "".join(c if c.isprintable() else "?" for c in text.removeprefix(".")) or "(top level)"


def _known(name: Any, node: Node) -> str:
    known = sorted(node.get("properties", {}))
    close = difflib.get_close_matches(str(name), known, 1)
    return f"did you mean {close[0]}?" if close else f"allowed here: {', '.join(known)}"


def must_be(node: Node) -> str:
    """Say what is allowed at a place, as it goes on after 'must be'."""
    if "const" in node or "enum" in node:
        return reference.allowed(node).replace("`", "").replace(", ", " or ")
    if "properties" in node:
        return f"a mapping of keys to values (keys: {', '.join(sorted(node['properties']))})"
    if "anyOf" in node:
        words = [_branch(branch) for branch in node["anyOf"]]
        return " or ".join(word for word in words if (word, "a number" in words) != ("a whole number", True))
    return ", ".join(filter(None, [f"a {reference.kind(node)}".replace("a text", "text"), reference.allowed(node)]))


def _branch(node: Node) -> str:
    """Say one of several kinds of value."""
    if "$ref" in node:
        return "a mapping of keys to values"
    if "const" in node:
        return f"the word {node['const']}"
    plain = node.get("type") in {"string", "boolean"}
    return reference.allowed(node) or reference.kind(node) if plain else must_be(node)


def _hint(got: Any, node: Node) -> str:
    """Name the usual slip behind a value of the wrong type."""
    number = node.get("type") in {"integer", "number"}
    if number and isinstance(got, str):
        return "write it without quotes, and in plain digits (1e3 is text in YAML)"
    if number and isinstance(got, bool):
        return "yes, no, on, off, true and false are no numbers"
    if node.get("type") == "string" and isinstance(got, (int, float)):
        return "put it in quotes"
    if node.get("type") == "array" and not isinstance(got, list):
        return "put it in brackets" if isinstance(got, dict) else "write it in brackets, such as [5, 20]"
    return ""


def short(value: Any) -> str:
    """Return a value as one line of at most 60 characters, at a bounded cost however deep or shared it is."""
    text = reprlib.repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
