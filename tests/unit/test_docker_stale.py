"""Images that were built from other files or packages than this project's are noticed before a study uses them."""

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from poollab.lab import docker_images, docker_spec
from poollab.lab.docker_images import CONTAINERS, Recipe, is_stale


@pytest.fixture
def containers(tmp_path: Path) -> Path:
    """A copy of the project's recipes that a test may change."""
    shutil.copytree(CONTAINERS, tmp_path / "containers")
    return tmp_path / "containers"


def _image(tag: str, containers: Path) -> Any:
    """Return what `make images` leaves: an offline build of today's files and packages."""
    if tag == docker_spec.GENERATOR_IMAGE:
        folder, facts = "loadgen", {"poollab.source": " ".join(docker_images.pins())}
    else:
        source = docker_images.binaries.source()
        folder, facts = "postgres", {"poollab.server_version": "16.14", "poollab.source": source}
    recipe = Recipe(tag, containers / folder, "base", {**facts, "poollab.base": docker_images.OFFLINE}, "part", None)
    return SimpleNamespace(tags=[tag], labels=recipe.labels())


BOTH = pytest.mark.parametrize("tag", [docker_spec.GENERATOR_IMAGE, docker_spec.DATABASE_IMAGE])


@BOTH
def test_what_was_just_built_is_current(tag: str, containers: Path) -> None:
    """Right after `make images` nothing is stale."""
    assert not is_stale(_image(tag, containers), containers)


@BOTH
def test_a_changed_recipe_is_noticed(tag: str, containers: Path) -> None:
    """Whoever edits a Dockerfile is told to build before the old image measures once more."""
    image = _image(tag, containers)
    for path in containers.glob("*/Dockerfile"):
        path.write_text(path.read_text("utf-8") + "# changed\n", "utf-8")
    assert is_stale(image, containers)


def test_another_driver_is_noticed(containers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an upgrade of the locked packages the image would measure the old driver."""
    image = _image(docker_spec.GENERATOR_IMAGE, containers)
    monkeypatch.setattr(docker_images, "pins", lambda: ["asyncpg==99"])
    assert is_stale(image, containers)


def test_an_image_without_labels_is_stale(containers: Path) -> None:
    """An image of that name that `make images` did not make is not taken for ours."""
    assert is_stale(SimpleNamespace(tags=[docker_spec.GENERATOR_IMAGE], labels={}), containers)


def test_a_project_without_recipes_has_nothing_to_compare(tmp_path: Path) -> None:
    """Where the recipes are not at hand no image is called stale."""
    assert not is_stale(SimpleNamespace(tags=[docker_spec.GENERATOR_IMAGE], labels={}), tmp_path)
