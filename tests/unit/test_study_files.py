"""Study and machine files as files: what is no study, what is not found, what the machine's file must hold."""

import tracemalloc
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from support.faulty import ROOT

from poollab.errors import ConfigError
from poollab.study.files import find_study, load_study, parse, read_yaml
from poollab.study.machine import Machine


def _shared_without_end() -> bytes:
    """YAML of 300 bytes whose value has 43 million parts if it is written out: slow, but no danger to the machine."""
    levels = "abcdefgh"
    lines = ["a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"{x}: &{x} [{', '.join([f'*{below}'] * 9)}]" for below, x in pairwise(levels)]
    return "\n".join([*lines, "title: *h"]).encode()


BAD_FILES = {
    "empty": (b"", ["is empty", "mapping"]),
    "only a comment": (b"# later\n", ["is empty", "mapping"]),
    "a list": (b"- title\n", ["holds ['title']", "mapping"]),
    "a word": (b"title\n", ["holds 'title'", "mapping"]),
    "not UTF-8": (b"title: \xff\n", ["UTF-8"]),
    "UTF-16": ("title: a".encode("utf-16"), ["UTF-8"]),
    "NUL": (b"title: a\0b\n", ["control character U+0000", "remove it"]),
    "key twice": (b"title: a\npools: [5]\ntitle: b\n", ["line 3, column 1", "'title' stands twice", "line 1"]),
    "key twice below": (b"order:\n  seed: 1\n  seed: 2\n", ["line 3, column 3", "'seed' stands twice"]),
    "open quote": (b'title: "a\npools: [5]\n', ["line 3", "quoted scalar", "mend"]),
    "open bracket": (b"pools: [5, 20\ntitle: a\n", ["line 2", "mend"]),
    "tab": (b"title: a\n\tpools: [5]\n", ["line 2, column 1", "mend"]),
    "two documents": (b"title: a\n---\ntitle: b\n", ["line 2", "another document"]),
    "list as a key": (b"? [a]\n: 1\n", ["line 1", "is not a word"]),
    "tag of Python": (b"title: !!python/object/apply:os.getcwd []\n", ["line 1", "python/object"]),
    "holds itself": (b"title: &a [*a]\n", ["line 1", "recursive"]),
    "no such day": (b"title: 2026-13-45\n", ["line 1, column 8", "2026-13-45", "quotes"]),
    "number without end": (b"repeats: " + b"9" * 5000, ["line 1, column 10"]),
    "tag that does not fit": (b"repeats: !!int abc\n", ["line 1, column 10", "'abc'"]),
    "nested without end": (b"[" * 100_000, ["nested too deeply"]),
    "shared without end": (_shared_without_end(), ["title = [[[", "must be text"]),
}


@pytest.mark.parametrize(("content", "parts"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_file_that_is_no_study_is_refused_with_its_place(content: bytes, parts: list[str], tmp_path: Path):
    """A file that is no YAML, no mapping or no study is refused with line and column."""
    path = tmp_path / "my-study.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load_study(path)
    first = caught.value.faults[0]
    assert first.startswith(f"{path}: ")
    assert [part for part in parts if part not in first] == [], first
    assert "\n" not in first


@pytest.mark.parametrize(("written", "read"), [("010", "8"), ("1:30", "90"), ("1:30.5", "90.5")])
def test_a_number_that_yaml_reads_as_another_one_is_refused(written: str, read: str, tmp_path: Path):
    """Octal and base 60 look like decimal numbers and are others; a study must never run with those."""
    path = tmp_path / "my-study.yaml"
    path.write_text(f"title: x\npools: [{written}]\n", "utf-8")
    with pytest.raises(ConfigError) as caught:
        read_yaml(path)
    assert f"line 2, column 9: '{written}' means {read} to YAML; write plain digits" in caught.value.faults[0]


def test_a_value_that_is_shared_without_end_is_never_written_out(tmp_path: Path):
    """A small file that would unfold without end costs no memory."""
    path = tmp_path / "my-study.yaml"
    path.write_bytes(_shared_without_end())
    tracemalloc.start()
    with pytest.raises(ConfigError):
        load_study(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000


def test_a_byte_order_mark_and_windows_line_ends_are_no_fault(tmp_path: Path):
    """A file that was saved on Windows is the same study."""
    path = tmp_path / "my-study.yaml"
    text = (ROOT / "config/studies/pool-size.yaml").read_text("utf-8")
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert load_study(path) == load_study(ROOT / "config/studies/pool-size.yaml")


@pytest.mark.parametrize("make", ["missing", "folder"])
def test_a_file_that_cannot_be_read_is_named(make: str, tmp_path: Path):
    """A missing file, or a folder in its place, is named."""
    path = tmp_path / "my-study.yaml"
    if make == "folder":
        path.mkdir()
    with pytest.raises(ConfigError) as caught:
        read_yaml(path)
    assert caught.value.faults[0].startswith(f"{path}: ")


NAMES = {
    "near a known one": ("pool-sise", "did you mean pool-size?"),
    "unknown": ("nope", "known studies: "),
    "empty": ("", "known studies"),
    "a folder": ("config/studies", "known studies"),
    "too long for a file": ("x" * 300, "known studies"),
    "with NUL": ("a\0b", "known studies"),
    "outside": ("../nope.yaml", "known studies"),
}


@pytest.mark.parametrize(("name", "part"), NAMES.values(), ids=NAMES)
def test_a_study_that_is_not_there_is_refused_with_the_known_ones(name: str, part: str):
    """A wrong name is answered with a near or with the known ones."""
    with pytest.raises(ConfigError) as caught:
        find_study(name, ROOT)
    assert part in caught.value.faults[0]


def test_a_study_is_found_by_its_name_and_by_its_path(tmp_path: Path):
    """A study is called by its name or by any path."""
    path = ROOT / "config/studies/smoke.yaml"
    copied = tmp_path / "my-copy.yaml"
    copied.write_bytes(path.read_bytes())
    assert find_study("smoke", ROOT) == path
    assert find_study("config/studies/smoke.yaml", ROOT) == path
    assert find_study(str(copied), ROOT) == copied


def test_a_file_name_that_cannot_name_a_results_folder_is_refused(tmp_path: Path):
    """A file's name becomes a folder's, so it must be a label."""
    path = tmp_path / "My Study.yaml"
    path.write_bytes((ROOT / "config/studies/smoke.yaml").read_bytes())
    with pytest.raises(ConfigError, match="'My Study' names the results folder; rename it to 1 to 40"):
        find_study(str(path), ROOT)


MACHINE = {
    "unknown key": ({"labs": "docker"}, "labs: is not a known key; did you mean lab?"),
    "unknown lab": ({"lab": "podman"}, "lab = 'podman': must be auto or docker or embedded"),
    "unknown rule": ({"limits": True}, "limits = True: must be preferred or required"),
    "empty folder": ({"results": ""}, "results = '': must be text, 1 to 4096 characters"),
    "study is a number": ({"study": 5}, "study = 5: must be text"),
}


@pytest.mark.parametrize(("data", "part"), MACHINE.values(), ids=MACHINE)
def test_a_wrong_machine_file_is_refused_in_the_same_way(data: dict[str, Any], part: str):
    """config.yaml is checked with the same care and in the same words."""
    with pytest.raises(ConfigError) as caught:
        parse(Machine, data, "config/config.yaml")
    assert len(caught.value.faults) == 1
    assert part in caught.value.faults[0]
