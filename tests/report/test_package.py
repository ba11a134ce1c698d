"""The data package: it explains and proves itself, and the report comes out of it again, byte for byte."""

import csv
import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from fake_results import write
from fake_study import Fake

from poollab.errors import DataError, PoollabError
from poollab.publish import describe
from poollab.publish.checksums import write_text
from poollab.publish.package import package, publish
from poollab.publish.render import render, sentence
from poollab.publish.verify import verify
from poollab.report import html, pdf
from poollab.session.open import pango_available

ROOT = Path(__file__).resolve().parents[2]
PAPER = pango_available()
# WeasyPrint leaves its own colour profile open.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed file .*sRGB2014:ResourceWarning")


@pytest.fixture(scope="module")
def made(templates: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results folder of a small finished study, with its report and package."""
    folder = write(tmp_path_factory.mktemp("finished") / "pool-size", Fake(pools=(5, 20), repeats=2, window_s=6.0))
    (folder / "study.yaml").write_text("title: a study\n", "utf-8")
    html.render(folder, templates, folder / "report" / "index.html", PAPER)
    if PAPER:
        pdf.render(folder, templates, folder / "report" / "report.pdf")
    package(folder, folder / "study.yaml", pdf=PAPER)
    return folder


@pytest.fixture
def no_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which no PDF can be made."""

    def fail(*_: Path) -> None:
        raise PoollabError("WeasyPrint does not load")

    monkeypatch.setattr(pdf, "render", fail)


@pytest.fixture
def pack(made: Path, tmp_path: Path) -> Path:
    """A copy of the package that a test may change."""
    shutil.copytree(made / "published", tmp_path / "package")
    return tmp_path / "package"


def _descriptor(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "datapackage.json").read_text("utf-8"))
    return found


def test_every_file_is_described_with_its_size_and_digest(made: Path) -> None:
    """datapackage.json names each file of the package once, as it lies there, with a licence and the moment."""
    folder = made / "published"
    about = _descriptor(folder)
    names = {path.name for path in folder.iterdir()} - {"datapackage.json", "SHA256SUMS"}
    assert {one["path"] for one in about["resources"]} == names
    assert len(about["resources"]) == len(names)
    for one in about["resources"]:
        data = (folder / one["path"]).read_bytes()
        assert (one["bytes"], one["hash"]) == (len(data), f"sha256:{hashlib.sha256(data).hexdigest()}")
        assert one["description"]
    assert about["licenses"][0]["name"] == "Apache-2.0"
    assert about["name"] == "poollab-pool-size"
    measured = json.loads((folder / "environment.json").read_text("utf-8"))["measured_to"]
    assert about["created"] == measured, "the moment of the measurement, not of the packaging"


@pytest.mark.parametrize("name", ["runs.csv", "conditions.csv"])
def test_a_csv_has_a_schema_that_fits_it(made: Path, name: str) -> None:
    """A reader who parses the CSV by its schema finds every column, in order, with a meaning, and fits each value."""
    folder = made / "published"
    schema = next(one["schema"] for one in _descriptor(folder)["resources"] if one["path"] == name)
    with (folder / name).open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    fields = schema["fields"]
    assert [field["name"] for field in fields] == rows[0]
    assert all(field["description"] and field["description"] != "not described" for field in fields)
    parse: dict[str, Callable[[str], object]] = {"integer": int, "number": float, "string": str, "datetime": str}
    for row in rows[1:]:
        for field, value in zip(fields, row, strict=True):
            if value in schema["missingValues"]:
                assert "constraints" not in field, f"{field['name']} is required and empty"
            else:
                parse[field["type"]](value)


def test_fields_are_explained_in_words(made: Path) -> None:
    """FIELDS.md names every file and every published column with its meaning."""
    text = (made / "published" / "FIELDS.md").read_text("utf-8")
    for path in (made / "published").iterdir():
        assert f"| `{path.name}` |" in text, path.name
    assert "| `overall_p95_ns` | int64 | nanoseconds | p95 of the overall time" in text
    assert "| `status` | string |  | how the request ended" in text
    assert "not described" not in text


def test_the_same_measurement_gives_the_same_package(made: Path, tmp_path: Path) -> None:
    """Packaging again changes no byte, so a published package can be compared with one that was made anew."""
    copy = tmp_path / "pool-size"
    shutil.copytree(made, copy)
    package(copy, copy / "study.yaml", pdf=PAPER)
    for path in (made / "published").iterdir():
        assert (copy / "published" / path.name).read_bytes() == path.read_bytes(), path.name


def test_a_whole_package_is_found_good(made: Path) -> None:
    """One line says how many files were checked; the ordinary tool agrees."""
    folder = made / "published"
    assert f"{len(list(folder.iterdir())) - 1} files" in verify(folder)
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=folder, check=True)


def _append(folder: Path) -> None:
    with (folder / "runs.csv").open("a", encoding="utf-8") as file:
        file.write("x")


def _lie(folder: Path) -> None:
    about = _descriptor(folder)
    about["resources"][0]["bytes"] += 1
    (folder / "datapackage.json").write_text(json.dumps(about), "utf-8")
    (folder / "SHA256SUMS").write_text(write_text(folder), "utf-8")


def _undescribed(folder: Path) -> None:
    (folder / "more.csv").write_text("a\n1\n", "utf-8")
    (folder / "SHA256SUMS").write_text(write_text(folder), "utf-8")


def _escaping(folder: Path) -> None:
    with (folder / "SHA256SUMS").open("a", encoding="utf-8") as file:
        file.write(f"{'0' * 64}  ../secret\n")


FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "changed": (_append, "runs.csv differs from its checksum"),
    "missing": (lambda f: (f / "runs.parquet").unlink(), "runs.parquet is missing"),
    "extra": (lambda f: (f / "notes.txt").write_text("x", "utf-8"), "notes.txt does not belong to it"),
    "hidden": (lambda f: (f / ".cache").write_text("x", "utf-8"), ".cache does not belong to it"),
    "link": (lambda f: (f / "more").symlink_to("/etc/passwd"), "more is no plain file"),
    "lying description": (_lie, "datapackage.json gives another size or hash of"),
    "undescribed": (_undescribed, "datapackage.json does not name more.csv"),
    "no sums": (lambda f: (f / "SHA256SUMS").unlink(), "is no package: it holds no SHA256SUMS"),
    "garbage": (lambda f: (f / "SHA256SUMS").write_text("hello\n", "utf-8"), "SHA256SUMS, line 1"),
    "escaping": (_escaping, "'" + "0" * 64 + "  ../secret'"),
    "broken json": (
        lambda f: [(f / "datapackage.json").write_text("{", "utf-8"), (f / "SHA256SUMS").write_text(write_text(f))],
        "datapackage.json cannot be read",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_not_as_published_is_named(pack: Path, fault: str) -> None:
    """Each way in which a package can be damaged or added to is refused with the file's name."""
    spoil, says = FAULTS[fault]
    spoil(pack)
    with pytest.raises(DataError) as caught:
        verify(pack)
    assert says in str(caught.value)


def _tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_report_comes_out_of_the_package_again(pack: Path, tmp_path: Path) -> None:
    """`make report` makes the same page and the same PDF from the package alone, and leaves the package as it was."""
    before = _tree(pack)
    done = _command("report_from.py", f"--from={pack}", f"--out={tmp_path / 'again'}")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "again" / "index.html").read_bytes() == (pack / "index.html").read_bytes()
    if PAPER:
        assert (tmp_path / "again" / "report.pdf").read_bytes() == (pack / "report.pdf").read_bytes()
    assert "The page has the same bytes as the package's." in done.stderr
    assert _tree(pack) == before


@pytest.mark.usefixtures("no_paper")
def test_a_published_copy_without_its_requests_gives_the_same_page(made: Path, templates: Path, tmp_path: Path) -> None:
    """What is left out for its size is named with size and digest, and the report does not need it."""
    folder, left_out = publish(made, tmp_path, limit_bytes=100_000)
    assert left_out == ["requests.parquet"]
    assert not (folder / "requests.parquet").exists()
    verify(folder)
    (gone,) = _descriptor(folder)["poollab"]["left_out"]
    data = (made / "published" / "requests.parquet").read_bytes()
    assert (gone["bytes"], gone["hash"]) == (len(data), f"sha256:{hashlib.sha256(data).hexdigest()}")
    assert "left out here for its size" in (folder / "FIELDS.md").read_text("utf-8")
    assert any(line.startswith("| `scheduled_ns` |") for line in (folder / "FIELDS.md").read_text("utf-8").splitlines())
    again = render(folder, templates, tmp_path / "again")
    assert again.same
    assert again.pdf is None
    assert "no PDF: WeasyPrint does not load" in sentence(again) or not PAPER


@pytest.mark.usefixtures("no_paper")
def test_other_templates_are_noticed(pack: Path, templates: Path, tmp_path: Path) -> None:
    """A report made by other templates than the package's own says that it differs."""
    shutil.copytree(templates.parent, tmp_path / "reports", ignore=shutil.ignore_patterns("published"))
    style = tmp_path / "reports" / "templates" / "base.css"
    style.write_text(style.read_text("utf-8") + "/* more */\n", "utf-8")
    again = render(pack, tmp_path / "reports" / "templates", tmp_path / "again")
    assert not again.same
    assert "differs from the package's" in sentence(again)


def test_a_package_of_another_version_names_it(pack: Path, templates: Path, tmp_path: Path) -> None:
    """A whole package whose tables have another format is refused with the version that can make its report."""
    table = pq.read_table(pack / "runs.parquet")
    pq.write_table(table.replace_schema_metadata({"poollab_format": "0"}), pack / "runs.parquet")
    describe.write(pack, json.loads((pack / "environment.json").read_text("utf-8")), [])
    with pytest.raises(DataError, match=r"says format = 0.*made by Poollab 0\.1\.0, commit abc1234"):
        render(pack, templates, tmp_path / "again")


def test_a_package_is_never_written_into(pack: Path, templates: Path) -> None:
    """Neither the package nor a folder in it is taken for the report."""
    for out in (pack, pack / "new"):
        with pytest.raises(DataError, match="never changed"):
            render(pack, templates, out)


def test_a_damaged_package_gives_no_report_and_is_not_published(made: Path, templates: Path, tmp_path: Path) -> None:
    """Numbers that were edited after the measurement reach neither a report nor reports/published."""
    copy = tmp_path / "pool-size"
    shutil.copytree(made, copy)
    _append(copy / "published")
    with pytest.raises(DataError, match=r"runs\.csv differs"):
        render(copy / "published", templates, tmp_path / "again")
    with pytest.raises(DataError, match=r"runs\.csv differs"):
        publish(copy, tmp_path / "reports")
    assert not (tmp_path / "reports" / "published").exists()


def _command(script: str, *words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(ROOT / "scripts" / script), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_commands_answer_in_one_line(pack: Path, tmp_path: Path) -> None:
    """`make verify` ends with one line and 0; a damaged package ends both commands with the file's name and 2."""
    good = _command("verify.py", f"--from={pack}")
    assert (good.returncode, good.stderr.count("\n")) == (0, 1), good.stderr
    _append(pack)
    for script, more in (("verify.py", []), ("report_from.py", [f"--out={tmp_path / 'x'}"])):
        bad = _command(script, f"--from={pack}", *more)
        assert bad.returncode == 2
        assert "runs.csv differs from its checksum" in bad.stderr
        assert "Traceback" not in bad.stderr


@pytest.mark.parametrize("words", [["--from=/nowhere"], ["--study=unheard-of"], ["--study=../up"]])
def test_what_is_no_package_is_said_so(words: list[str]) -> None:
    """A folder or a study that has no package gets one message, exit 2 and no traceback."""
    done = _command("verify.py", *words)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "package" in done.stderr or "must be" in done.stderr


@pytest.mark.parametrize("folder", sorted((ROOT / "reports" / "published").iterdir()), ids=lambda p: p.name)
def test_published_packages_are_as_they_were_published(folder: Path) -> None:
    """What stands under reports/published is what its checksums say."""
    verify(folder)
