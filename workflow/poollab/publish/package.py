"""Put report and data of a finished study into one folder that explains and proves itself."""

import shutil
from pathlib import Path
from typing import Any

from poollab.data import store
from poollab.errors import DataError
from poollab.publish import checksums, describe, notes
from poollab.publish.verify import verify
from poollab.report.load import FILES

#: What a package is made of: the report, and every file that it was made from, so that it can be made again.
REPORT = ("report/index.html", "report/report.pdf")
#: What the report cannot be made without; of the requests themselves it needs to know no more than their number.
NEEDED = set(FILES) - {"requests.parquet"}
PUBLISH_BYTES = 2_000_000


def package(results: Path, study_file: Path, *, pdf: bool) -> Path:
    """
    Build `published/` anew beside the old one and swap; return it.

    Holds report and data by their own names (report.pdf only where it was made), study.yaml, FIELDS.md,
    datapackage.json and SHA256SUMS over all of them.
    """
    target, part = results / "published", results / ".published.part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    for name in (*REPORT, *FILES):
        # Without Pango no PDF is made, and one of an earlier state would say something else than the page.
        if name != "report/report.pdf" or pdf:
            _copy(results / name, part / name.removeprefix("report/"))
    shutil.copyfile(study_file, part / "study.yaml")
    _explain(part, part, [])
    _swap(part, target)
    return target


def publish(results: Path, reports: Path, limit_bytes: int = PUBLISH_BYTES) -> tuple[Path, list[str]]:
    """
    Copy a package to `reports/published/<study>/` without large Parquet files that the report does not need.

    Returns the folder and the names left out. What explains and proves the package is made anew there, and
    names size and digest of what was left out.

    Raises:
        DataError: there is no finished package, or it is not as its checksums say.
    """
    source, target = results / "published", reports / "published" / results.name
    part = target.with_name(f".{target.name}.part")
    if not (source / checksums.NAME).exists():
        raise DataError(f"{source} holds no finished package; run the study first (make study STUDY={results.name})")
    verify(source)
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    missing = []
    spare = {name for name in checksums.files(source) if name.endswith(".parquet")} - NEEDED
    for name in checksums.files(source):
        if name in spare and (source / name).stat().st_size > limit_bytes:
            missing.append(describe.left_out(source / name, name))
        elif name not in {"FIELDS.md", describe.NAME}:
            _copy(source / name, part / name)
    _explain(part, source, missing)
    _swap(part, target)
    return target, [one["path"] for one in missing]


def _swap(part: Path, target: Path) -> None:
    """Put a finished folder in the place of the old one; a kill leaves a whole one there or none, never a part."""
    old = target.with_name(f".{target.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        target.replace(old)
    part.replace(target)
    shutil.rmtree(old, ignore_errors=True)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def _explain(folder: Path, source: Path, missing: list[dict[str, Any]]) -> None:
    """Write FIELDS.md, datapackage.json and SHA256SUMS; tables and measurement are those of `source`."""
    names = [*checksums.files(folder), "FIELDS.md", describe.NAME, checksums.NAME]
    holds = {name: describe.holds(name) for name in sorted(names)}
    holds |= {one["path"]: f"{describe.holds(one['path'])}; left out here for its size" for one in missing}
    store.write_bytes(folder / "FIELDS.md", notes.fields(describe.tables(source), holds).encode())
    describe.write(folder, store.read_json(source / "environment.json"), missing)
