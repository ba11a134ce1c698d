"""Where the data packages of a study lie, and where a report made from one goes."""

import os
from pathlib import Path

from poollab.data import store
from poollab.errors import ConfigError, DataError
from poollab.labels import LABEL_RULE, is_label
from poollab.session.open import configured_results

_EXAMPLE = "results/pool-size/published"


def of_study(root: Path, study: str | None, results: str | None = None) -> list[Path]:
    """
    Return the packages of a study, in its results and under reports/published; None is config.yaml's study.

    Raises:
        ConfigError: the name is no label, or there is no package of it.
    """
    if study is not None and not is_label(study):
        raise ConfigError([f"study = {study!r}: must be {LABEL_RULE}; name a folder with FROM=..."])
    ours = configured_results(root, study, results)
    places = [ours / "published", root / "reports" / "published" / ours.name]
    found = [_short(place) for place in places if place.is_dir()]
    if not found:
        looked = " or ".join(str(_short(place)) for place in places)
        raise ConfigError(
            [f"study = {ours.name}: there is no package in {looked}; run the study first, or name a folder with FROM="]
        )
    return found


def place_for(root: Path, package: Path) -> Path:
    """
    Return the folder in which a report made from a package goes: from-<study>/ in the results folder.

    Raises:
        DataError: the package does not say whose it is.
    """
    if not (package / "environment.json").is_file():
        raise DataError(f"{package} is no package: it holds no environment.json; name one, such as {_EXAMPLE}")
    try:
        name = str(store.read_json(package / "environment.json")["study"]["name"])
    except (KeyError, TypeError):
        name = ""
    if not is_label(name):
        raise DataError(f"{package} does not say which study it is of; name the folder for the report with OUT=...")
    return _short(configured_results(root, f"from-{name}"))


def _short(path: Path) -> Path:
    """Write a path as the user would, where it lies below the present folder."""
    relative = Path(os.path.relpath(path))
    return path if relative.parts[:1] == ("..",) else relative
