"""One study at a time, a lock that outlives no process, and damaged or foreign results."""

import os
import shutil
import signal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.project import Project, wait_for


def test_a_second_study_in_the_folder_is_refused(three: Project) -> None:
    """While one runs, a second says who holds the folder, exits 2 and disturbs nothing."""
    first = three.start()
    wait_for(lambda: list(three.results.glob("state/blocks/*/block.json")))
    second = three.run()
    assert second.code == 2, second
    assert f"process {first.pid} has been working on study tiny" in second.text
    assert "Traceback" not in second.text
    text, _ = first.communicate(timeout=90)
    assert first.returncode == 0, text


def test_a_study_elsewhere_on_the_machine_is_refused(three: Project, fresh: Project) -> None:
    """Another folder's study would disturb the first one's measurement, so it is refused, too."""
    first = three.start()
    wait_for(lambda: list(three.results.glob("state/blocks/*/block.json")))
    second = fresh.run()
    assert second.code == 2, second
    assert f"process {first.pid} measures another study on this machine" in second.text
    text, _ = first.communicate(timeout=90)
    assert first.returncode == 0, text


@pytest.mark.slow
def test_two_that_start_together_never_both_measure(three: Project, fresh: Project) -> None:
    """Of two studies begun at the same moment one is refused before it has a lab, and the other one finishes."""
    both = {project.folder: project.start() for project in (three, fresh)}
    texts = {folder: process.communicate(timeout=90)[0] for folder, process in both.items()}
    codes = {folder: process.returncode for folder, process in both.items()}
    assert sorted(codes.values()) == [0, 2], texts
    refused = next(folder for folder, code in codes.items() if code == 2)
    other = next(process for folder, process in both.items() if folder != refused)
    assert f"process {other.pid} measures another study on this machine (user " in texts[refused]
    assert not list((refused / "results").glob("*/state/blocks/*/lab.json"))


def test_a_killed_study_continues_by_the_same_command(three: Project) -> None:
    """After kill -9 of everything the lab goes, the stale lock is no obstacle, and a dry run leaves it alone."""
    process = three.start()
    wait_for(lambda: list(three.results.glob("cells/*/run.json")))
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=30)
    wait_for(lambda: three.traces() == [], within_s=10)
    locks = three.folder / ".snakemake" / "locks"
    assert list(locks.iterdir())
    three.run("-n")
    assert list(locks.iterdir())
    kept = three.cells()
    done = three.run()
    assert done.code == 0, done
    assert "its lock was removed" in done.text
    assert len(three.runs()) == 3
    assert all(three.cells()[name] == kept[name] for name in kept if name.split("/")[1] in done_cells(kept))


def done_cells(kept: dict[str, tuple[int, bytes]]) -> set[str]:
    """Return the cells that had their record."""
    return {name.split("/")[1] for name in kept if name.endswith("run.json")}


def test_a_truncated_file_costs_its_cell_only(finished: Project) -> None:
    """A truncated result is moved aside by name and its cell measured again; every other file stays as it was."""
    before = finished.cells()
    victim = sorted(finished.results.glob("cells/*/requests.parquet"))[1]
    victim.write_bytes(victim.read_bytes()[:-8])
    cell = victim.parent.name
    done = finished.run()
    assert done.code == 0, done
    assert "requests.parquet is truncated; moved to" in done.text
    assert list(finished.results.glob(f"attempts/{cell}.damaged.1/requests.parquet"))
    after = finished.cells()
    changed = {name for name in before if before[name] != after.get(name)}
    assert {name.split("/")[1] for name in changed} == {cell}


def test_a_foreign_file_is_refused_and_kept(finished: Project) -> None:
    """A whole Parquet file of something else is named and refused with exit 2, and left where it is."""
    victim = min(finished.results.glob("cells/*/requests.parquet"))
    pq.write_table(pa.table({"a": [1, 2, 3]}), victim)
    foreign = victim.read_bytes()
    done = finished.run()
    assert done.code == 2, done
    assert victim.parent.name in done.text
    assert "is not the file that was measured for this cell" in done.text
    assert victim.read_bytes() == foreign


def test_a_cell_without_a_record_is_measured_again(finished: Project) -> None:
    """What a kill left of a cell before its record was written is moved aside, never completed from halves."""
    victim = min(finished.results.glob("cells/*/run.json"))
    victim.unlink()
    done = finished.run()
    assert done.code == 0, done
    assert "run.json is missing" in done.text
    assert victim.exists()


@pytest.mark.slow
def test_a_deleted_results_folder_starts_over(finished: Project) -> None:
    """Deleting the results is a fresh start, whatever Snakemake remembers of them."""
    shutil.rmtree(finished.results)
    done = finished.run()
    assert done.code == 0, done
    assert len(finished.runs()) == 4


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("runs.parquet", "requests.parquet", "analysis.json")]


@pytest.mark.parametrize("name", ["conditions.csv", *SLOW])
def test_a_damaged_table_is_made_again_and_never_published(finished: Project, name: str) -> None:
    """A table of the whole study that lost its end is made again with the same bytes, and no cell is measured."""
    path, cells = finished.results / name, finished.cells()
    whole, package = path.read_bytes(), (finished.results / "published" / "SHA256SUMS").read_bytes()
    path.write_bytes(whole[:-8])
    looked = finished.run("-n")
    assert looked.code == 0, looked
    assert path.read_bytes() == whole[:-8]
    done = finished.run()
    assert done.code == 0, done
    assert f"results/tiny/{name}: is not as it was made" in done.text
    assert path.read_bytes() == whole
    assert (finished.results / "published" / name).read_bytes() == whole
    assert (finished.results / "published" / "SHA256SUMS").read_bytes() == package
    assert finished.cells() == cells
