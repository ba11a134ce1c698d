"""The Docker daemon's connection, and its failures in plain words: one line with cause and next step."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import docker
from docker.errors import APIError, DockerException, ImageNotFound
from requests.exceptions import RequestException, Timeout

from poollab.errors import LabError

DEFAULT_HOST = "unix:///var/run/docker.sock"

#: What the daemon or the SDK says -> (cause, next step); the first match counts.
_KNOWN = (
    (
        ("http+docker", "adapter for unix"),
        "the docker and requests packages of this environment do not fit together",
        "reinstall the locked requirements",
    ),
    (
        ("Permission denied", "PermissionError"),
        "this user may not use {host}",
        "join the group docker and log in again",
    ),
    (("paramiko",), "{host} is another machine's daemon", "unset DOCKER_HOST; Poollab needs a daemon on this machine"),
    (("already in use by container",), "a container of that name exists", "remove or rename it"),
    (("no space left on device",), "Docker's disk is full", "free some space (`docker system df` shows what uses it)"),
    (("is too old", "is too new"), "this daemon speaks another version of the API", "update Docker to 20.10 or newer"),
)
_SILENT = (
    "No such file",
    "Connection refused",
    "FileNotFoundError",
    "ConnectionRefused",
    "Name or service",
    "Max retries",
)


def host() -> str:
    """Return the daemon's address as the SDK will use it."""
    return os.environ.get("DOCKER_HOST") or DEFAULT_HOST


def connect(timeout_s: int) -> docker.DockerClient:
    """
    Return a client whose every call ends within a number of seconds.

    Raises:
        LabError: the daemon does not answer; says why and what to do.
    """
    with plain("Docker cannot be used"):
        _knock(timeout_s)
        return docker.from_env(timeout=timeout_s)


def _knock(timeout_s: int) -> None:
    """Try the daemon's socket without the SDK, which leaves its own open when nobody answers."""
    if host().startswith("unix://"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as knock:
            knock.settimeout(timeout_s)
            knock.connect(host().removeprefix("unix://"))


@contextmanager
def plain(doing: str) -> Iterator[None]:
    """Turn the SDK's errors inside a `with` block into a LabError that starts with `doing`."""
    try:
        yield
    except (DockerException, RequestException, OSError) as error:
        raise LabError(f"{doing}: {cause(error)}") from None


def cause(error: Exception) -> str:
    """Return the cause of an SDK error and the next step, in one line."""
    text = str(error.explanation if isinstance(error, APIError) and error.explanation else error)
    for signs, what, cure in _KNOWN:
        if any(sign in text for sign in signs):
            return f"{what.format(host=host())}; {cure}"
    if isinstance(error, ImageNotFound):
        return "the image is not here; run `make images`"
    if isinstance(error, APIError):
        return f"the daemon says: {_one_line(text)}"
    if isinstance(error, Timeout) or "timed out" in text:
        return f"the daemon at {host()} does not answer in time; look at `docker info`"
    if any(sign in text for sign in _SILENT):
        return _not_running()
    return f"{_one_line(text)}; check DOCKER_HOST = {host()}" if "DOCKER_HOST" in os.environ else _one_line(text)


def _not_running() -> str:
    if "DOCKER_HOST" in os.environ:
        return f"nothing answers at DOCKER_HOST = {host()}; start that daemon or unset DOCKER_HOST"
    rootless = Path(os.environ.get("XDG_RUNTIME_DIR", "/nonexistent")) / "docker.sock"
    if rootless.exists():
        return f"the daemon does not run, but a rootless one does; export DOCKER_HOST=unix://{rootless}"
    return "the daemon does not run; start it (`systemctl start docker`), or use lab: embedded"


def _one_line(text: str) -> str:
    return " ".join(text.split())[:300]
