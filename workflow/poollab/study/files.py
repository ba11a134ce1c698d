"""Read a study or machine file and say everything that is wrong with it at once."""

import difflib
import re
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from poollab.errors import ConfigError
from poollab.labels import LABEL_RULE, is_label
from poollab.study import faults
from poollab.study.model import Study

M = TypeVar("M", bound=BaseModel)


#: A whole study that is in order: it stands in for the broken parts while the sound ones are held together.
STAND_IN: dict[str, Any] = {
    "title": "stands in",
    "database": {"tables": {"t": {"rows": 1}}},
    "workloads": {"w": {"sql": "SELECT 1", "arrivals": {"uniform": {"every_ms": 1}}}},
}


class _UniqueKeys(yaml.SafeLoader):
    """YAML keeps the last of two equal keys; for a study that would be a silent change of settings."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:  # noqa: FBT001, FBT002 - as in PyYAML
        """Make a value; the day 2026-13-45 or an integer of 5,000 digits is a fault of the file, not of ours."""
        try:
            return super().construct_object(node, deep=deep)
        except (ValueError, KeyError, AttributeError, TypeError, OverflowError):
            raise yaml.MarkedYAMLError(
                problem=f"{faults.short(node.value)} looks like a date or a number and is none; put it in quotes",
                problem_mark=node.start_mark,
            ) from None


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


def _plain_int(loader: _UniqueKeys, node: yaml.ScalarNode) -> Any:
    """Make a whole number; one that YAML reads in base 8 or 60 is another than the one that stands there."""
    value = loader.construct_yaml_int(node)
    if ":" in node.value or re.match(r"[-+]?0[0-7_]", node.value):
        raise yaml.MarkedYAMLError(
            problem=f"{faults.short(node.value)} means {value} to YAML; write plain digits",
            problem_mark=node.start_mark,
        )
    return value


def _plain_float(loader: _UniqueKeys, node: yaml.ScalarNode) -> Any:
    """Make a number; 1:30.5 is one of base 60."""
    value = loader.construct_yaml_float(node)
    if ":" in node.value:
        raise yaml.MarkedYAMLError(
            problem=f"{faults.short(node.value)} means {value} to YAML; write plain digits",
            problem_mark=node.start_mark,
        )
    return value


_UniqueKeys.add_constructor("tag:yaml.org,2002:int", _plain_int)
_UniqueKeys.add_constructor("tag:yaml.org,2002:float", _plain_float)
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
    except yaml.reader.ReaderError as error:
        character = f"U+{error.character:04X}" if isinstance(error.character, int) else repr(error.character)
        where = f"position {error.position}"
        raise ConfigError([f"{path}: {where}: holds the control character {character}; remove it"]) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        said = [text for text in (getattr(error, "context", None), getattr(error, "problem", None)) if text]
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise ConfigError([f"{path}: {where}{', '.join(said) or error}; mend the YAML there"]) from None
    except RecursionError:
        raise ConfigError([f"{path}: is nested too deeply; a study has at most a few levels"]) from None
    if not isinstance(data, dict):
        what = "is empty" if data is None else f"holds {faults.short(data)}"
        raise ConfigError(
            [f"{path}: {what}; it must be a mapping of keys to values (config/README.md shows the smallest)"]
        )
    return data


def find_study(name: str, root: Path) -> Path:
    """
    Turn what the user wrote after `study` into a file.

    A bare label is looked up under config/studies/; anything else is a path, relative to the project.
    """
    folder = root / "config" / "studies"
    path = folder / f"{name}.yaml" if is_label(name) else (root / name)
    if not _is_file(path):
        known = sorted(p.stem for p in folder.glob("*.yaml"))
        close = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean {close[0]}?" if close else f"known studies: {', '.join(known)}"
        raise ConfigError([f"study = {faults.short(name)}: there is no file {_shown(path)}; {hint}"])
    if not is_label(path.stem):
        must = f"the file name {path.stem!r} names the results folder; rename it to {LABEL_RULE}"
        raise ConfigError([f"study = {faults.short(name)}: {must}"])
    return path


def _shown(path: Path) -> str:
    """Return a path as one line, however odd or long it is."""
    return str(path) if str(path).isprintable() and len(str(path)) <= 300 else faults.short(str(path))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long, or a folder that may not be entered
        return False


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
        lines = faults.sentences(error, model)
        broken = {str(e["loc"][0]) for e in error.errors() if e["loc"]}
        if model is Study and broken:
            lines += _faults_between(data, broken)
        raise ConfigError([f"{source}: {line}" for line in lines]) from None


def _faults_between(data: dict[str, Any], broken: set[str]) -> list[str]:
    """Find what is wrong between the sound parts, so that mending the broken ones brings up nothing new there."""
    sound = {key: value for key, value in data.items() if key in Study.model_fields and key not in broken}
    try:
        Study.model_validate({**STAND_IN, **sound}, context={"broken": broken})
    except ValidationError as error:
        return faults.sentences(error, Study)
    return []
