"""Read a study or machine file and say everything that is wrong with it at once."""

import difflib
import typing
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from poollab.errors import ConfigError
from poollab.labels import LABEL_RULE, is_label
from poollab.study.model import Study

M = TypeVar("M", bound=BaseModel)


class _UniqueKeys(yaml.SafeLoader):
    """YAML keeps the last of two equal keys; for a study that would be a silent change of settings."""


def _mapping(loader: _UniqueKeys, node: yaml.MappingNode) -> dict[Any, Any]:
    seen: dict[Any, int] = {}
    for key_node, _ in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, (str, int, float)):
            raise yaml.MarkedYAMLError(problem=f"the key {key!r} is not a word", problem_mark=key_node.start_mark)
        if key in seen:
            raise yaml.MarkedYAMLError(
                problem=f"the key {key!r} stands twice (first in line {seen[key]})", problem_mark=key_node.start_mark
            )
        seen[key] = key_node.start_mark.line + 1
    return {loader.construct_object(k, deep=True): loader.construct_object(v, deep=True) for k, v in node.value}


_UniqueKeys.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def read_yaml(path: Path) -> dict[str, Any]:
    """
    Read one YAML mapping.

    Raises:
        ConfigError: the file is missing, unreadable, no YAML, or no mapping.
    """
    try:
        data = yaml.load(path.read_text("utf-8"), Loader=_UniqueKeys)  # noqa: S506 - a SafeLoader subclass
    except FileNotFoundError:
        raise ConfigError([f"{path}: there is no such file; name one that exists"]) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError([f"{path}: cannot be read ({error}); it must be a UTF-8 text file"]) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise ConfigError([f"{path}: {where}{getattr(error, 'problem', None) or error}; mend the YAML there"]) from None
    except RecursionError:
        raise ConfigError([f"{path}: is nested too deeply; a study has at most a few levels"]) from None
    if not isinstance(data, dict):
        raise ConfigError([f"{path}: holds {_short(data)}; it must be a mapping of keys to values"])
    return data


def find_study(name: str, root: Path) -> Path:
    """
    Turn what the user wrote after `study` into a file.

    A bare label is looked up under config/studies/; anything else is a path, relative to the project.
    """
    folder = root / "config" / "studies"
    path = folder / f"{name}.yaml" if is_label(name) else (root / name)
    if not path.is_file():
        known = sorted(p.stem for p in folder.glob("*.yaml"))
        close = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean {close[0]}?" if close else f"known studies: {', '.join(known)}"
        raise ConfigError([f"study = {name}: there is no file {path}; {hint}"])
    if not is_label(path.stem):
        raise ConfigError(
            [f"study = {name}: the file name {path.stem!r} names the results folder; rename it to {LABEL_RULE}"]
        )
    return path


def load_study(path: Path) -> Study:
    """
    Read and check a study as a whole.

    Raises:
        ConfigError: with every fault, each with its path, value, what is allowed and the next step.
    """
    return parse(Study, read_yaml(path), str(path))


def parse(model: type[M], data: dict[str, Any], source: str) -> M:
    """Validate data against a model and turn pydantic's report into sentences."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        faults = [f"{source}: {line}" for e in error.errors() for line in _sentences(e, model, data)]
        raise ConfigError(list(dict.fromkeys(faults))) from None


def _sentences(error: Any, model: type[BaseModel], data: dict[str, Any]) -> list[str]:
    loc = [str(part) for part in error["loc"] if part != "[key]" and not _is_branch(part, error["loc"], data)]
    at, kind, got = ".".join(loc) or "(whole file)", error["type"], error["input"]
    if kind == "extra_forbidden":
        known = _known_keys(model, loc[:-1])
        close = difflib.get_close_matches(loc[-1], known, 1)
        return [
            f"{at}: is not a known key; " + (f"did you mean {close[0]}?" if close else f"allowed: {', '.join(known)}")
        ]
    if kind == "missing":
        return [f"{at}: is missing; add it (config/README.md describes it)"]
    if kind == "value_error":
        texts = str(error["ctx"]["error"]).split("\x1e")
        return texts if len(loc) == 0 else [f"{at} = {_short(got)}: {text}" for text in texts]
    if kind == "string_pattern_mismatch":
        rule = LABEL_RULE if "{0,38}" in error["ctx"]["pattern"] else f"text that matches {error['ctx']['pattern']}"
        return [f"{at} = {_short(got)}: must be {rule}"]
    text = error["msg"].replace("Input should be", "must be")
    return [f"{at} = {_short(got)}: {text[0].lower()}{text[1:]}; change it in that file and run the same command again"]


def _is_branch(part: Any, loc: tuple[Any, ...], data: Any) -> bool:
    """Drop the names that pydantic gives to the branches of a union (int, float, constrained-str)."""
    here: Any = data
    for step in loc:
        if step is part:
            break
        try:
            here = here[step]
        except (KeyError, IndexError, TypeError):
            continue
    if isinstance(here, dict):
        return False
    return not (isinstance(here, (list, tuple)) and isinstance(part, int))


def _known_keys(model: type[BaseModel], loc: list[str]) -> list[str]:
    here: Any = model
    for step in loc:
        fields = getattr(here, "model_fields", {})
        here = _inner(fields[step].annotation) if step in fields else here
    return sorted(getattr(here, "model_fields", {}))


def _inner(annotation: Any) -> Any:
    """Find the model inside Optional, dict, list and Annotated."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for arg in reversed(typing.get_args(annotation)):
        found = _inner(arg)
        if found is not None:
            return found
    return None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
