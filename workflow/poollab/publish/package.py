"""Put report and data of a finished study into one folder that explains and proves itself."""

import hashlib
import shutil
from pathlib import Path

from poollab.data import store
from poollab.data.schemas import CONDITIONS, RUNS
from poollab.errors import DataError
from poollab.publish import notes

FILES = (
    "report/index.html",
    "report/report.pdf",
    "requests.parquet",
    "runs.parquet",
    "runs.csv",
    "conditions.parquet",
    "conditions.csv",
    "environment.json",
    "cleanup.json",
)


def package(results: Path, study_file: Path, *, pdf: bool) -> Path:
    """
    Build `published/` anew beside the old one and swap; return it.

    Holds the files above by their own names (report.pdf only where it was made), study.yaml, FIELDS.md and
    SHA256SUMS over all of them.
    """
    target, part = results / "published", results / ".published.part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    for name in FILES:
        # Without Pango no PDF is made, and one of an earlier state would say something else than the page.
        if name != "report/report.pdf" or pdf:
            shutil.copyfile(results / name, part / Path(name).name)
    shutil.copyfile(study_file, part / "study.yaml")
    (part / "FIELDS.md").write_text(notes.fields({"runs": RUNS, "conditions": CONDITIONS}), "utf-8")
    store.write_bytes(part / "SHA256SUMS", checksums(part).encode())
    shutil.rmtree(target, ignore_errors=True)
    part.replace(target)
    return target


def checksums(folder: Path) -> str:
    """Return the text of SHA256SUMS over a folder's files, in order of their names (check with sha256sum -c)."""
    names = sorted(p.name for p in folder.iterdir() if p.name != "SHA256SUMS")
    return "".join(f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in names)


def publish(results: Path, reports: Path, limit_bytes: int = 2_000_000) -> tuple[Path, list[str]]:
    """
    Copy a package to `reports/published/<study>/`, leaving out what is over the size limit.

    Returns the folder and the names left out. The checksums there cover what is there.
    """
    source, target = results / "published", reports / "published" / results.name
    if not (source / "SHA256SUMS").exists():
        raise DataError(f"{source} holds no finished package; run the study first (make study STUDY={results.name})")
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    left_out = []
    for path in sorted(source.iterdir()):
        if path.name == "SHA256SUMS":
            continue
        if path.stat().st_size > limit_bytes:
            left_out.append(path.name)
        else:
            shutil.copyfile(path, target / path.name)
    store.write_bytes(target / "SHA256SUMS", checksums(target).encode())
    return target, left_out
