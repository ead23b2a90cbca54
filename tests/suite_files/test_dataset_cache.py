"""The cache of loaded datasets."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from clerkship.model.dataset import Dataset
from clerkship.simulators.fhir.datasets import load as fhir_load
from clerkship.suite_files import dataset_type as caching
from clerkship.suite_files.dataset_type import CachedDataset, DatasetCache
from clerkship.suite_files.library import Library
from clerkship.suite_files.load import load_library
from tests.suite_files.library_folder import CATALOG, LibraryFolder

PATIENTS = b"".join(b'{"resourceType":"Patient","id":"p%d","x":1}\n' % number for number in range(20))


@pytest.fixture
def workspace(tmp_path: Path) -> LibraryFolder:
    """A folder with a lenient dataset, so that there are warnings to cache."""
    workspace = LibraryFolder(tmp_path / "suite")
    workspace.write("d.yml", "dataset: {name: d, type: fhir, file: x.ndjson, validation: lenient}\ntask: {name: T}\n")
    (workspace.root / "x.ndjson").write_bytes(PATIENTS)
    return workspace


def load(workspace: LibraryFolder, folder: Path) -> Library:
    """Load the folder with a cache."""
    return load_library(workspace.root, CATALOG, cache=folder)


def entries(folder: Path) -> list[Path]:
    """Return the entries of the cache."""
    return sorted((folder / "datasets").iterdir())


def fail_if_called(*_: object) -> None:
    raise AssertionError("it was made again")


def test_second_load_uses_the_cache(workspace: LibraryFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load(workspace, tmp_path)
    monkeypatch.setattr(fhir_load, "compile_dataset", fail_if_called)
    second = load(workspace, tmp_path)
    assert second.datasets["d"] == first.datasets["d"]
    assert second.datasets["d"].hash == first.datasets["d"].hash
    assert second.warnings == first.warnings != ()
    moved = LibraryFolder(tmp_path / "moved")
    shutil.copytree(workspace.root, moved.root)
    assert {warning.file for warning in load(moved, tmp_path).warnings} == {str(moved.root / "x.ndjson")}


def test_any_change_invalidates_the_cache(workspace: LibraryFolder, tmp_path: Path) -> None:
    load(workspace, tmp_path)
    (workspace.root / "x.ndjson").write_bytes(PATIENTS + b'{"resourceType":"Patient","id":"new"}\n')
    assert len(load(workspace, tmp_path).datasets["d"].lines or ()) == 21
    text = (workspace.root / "d.yml").read_text()
    workspace.write("d.yml", text.replace("lenient}", "lenient, as_of: 2026-01-01T00:00:00Z}"))
    load(workspace, tmp_path)
    assert len(entries(tmp_path)) == 3


def test_invalid_dataset_is_not_cached(workspace: LibraryFolder, tmp_path: Path) -> None:
    workspace.write("d.yml", (workspace.root / "d.yml").read_text().replace(", validation: lenient", ""))
    for _ in range(2):
        with pytest.raises(Exception, match="Patient/p0"):
            load(workspace, tmp_path)
    assert not (tmp_path / "datasets").exists()


@pytest.mark.parametrize("how", ["cut", "flipped", "empty", "other", "header"])
def test_damaged_entry_is_rebuilt(workspace: LibraryFolder, tmp_path: Path, how: str) -> None:
    whole = load(workspace, tmp_path).datasets["d"]
    [entry] = entries(tmp_path)
    data = entry.read_bytes()
    middle = len(data) // 2
    damaged = {
        "cut": data[:middle],
        "flipped": data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :],
        "empty": b"",
        "other": b"something else entirely",
        "header": data.replace(b'"warnings":', b'"Warnings":', 1),
    }[how]
    entry.write_bytes(damaged)
    assert load(workspace, tmp_path).datasets["d"] == whole
    assert entry.read_bytes() == data


def test_unwritable_cache_folder_is_ignored(
    workspace: LibraryFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, target: Path) -> Path:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "replace", refuse)  # to the superuser nothing is read-only
    assert len(load(workspace, tmp_path / "sealed").datasets["d"].lines or ()) == 20
    assert entries(tmp_path / "sealed") == []


def test_cache_path_that_is_a_file_is_ignored(workspace: LibraryFolder, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert len(load(workspace, tmp_path / "file").datasets["d"].lines or ()) == 20
    assert (tmp_path / "file").read_text() == "in the way"


@pytest.mark.slow
def test_processes_can_write_the_cache_concurrently(workspace: LibraryFolder, tmp_path: Path) -> None:
    code = "import sys; from pathlib import Path; from clerkship.suite_files.load import load_library\n"
    code += "from clerkship.engine.catalog import build_catalog_without_plugins\n"
    code += "found = load_library(Path(sys.argv[1]), build_catalog_without_plugins(), cache=Path(sys.argv[2]))\n"
    code += "print(found.datasets['d'].hash)\n"
    started = [
        subprocess.Popen([sys.executable, "-c", code, workspace.root, tmp_path], stdout=subprocess.PIPE)
        for _ in range(4)
    ]
    hashes = {process.communicate(timeout=120)[0] for process in started}
    assert hashes == {load(workspace, tmp_path).datasets["d"].hash.encode() + b"\n"}
    assert len(entries(tmp_path)) == 1


def test_oldest_entries_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caching, "MAX_ENTRIES", 3)
    cache = DatasetCache(tmp_path)
    for number in range(5):
        cache.save(f"k{number}", CachedDataset(Dataset(name="d", type="fhir", lines=(b"{}",)), ()))
        os.utime(tmp_path / "datasets" / f"k{number}", (number, number))
    assert [path.name for path in entries(tmp_path)] == ["k2", "k3", "k4"]
    assert cache.load("k0", "d") is None
    assert cache.load("k4", "d") is not None


def test_generated_dataset_is_cached(workspace: LibraryFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace.write("d.yml", "dataset: {name: d, type: fhir, generate: {patients: 1, seed: 3}}\ntask: {name: T}\n")
    first = load(workspace, tmp_path).datasets["d"]
    monkeypatch.setattr("clerkship.suite_files.synthetic.generator.generate_lines", fail_if_called)
    assert load(workspace, tmp_path).datasets["d"].hash == first.hash
    assert orjson.loads((first.lines or ())[0])["id"]


def test_empty_dataset_is_loaded_from_the_cache(tmp_path: Path) -> None:
    empty = Dataset(name="d", type="fhir", lines=())
    DatasetCache(tmp_path).save("k", CachedDataset(empty, ()))
    kept = DatasetCache(tmp_path).load("k", "d")
    assert kept is not None
    assert kept.dataset == empty
    assert kept.dataset.lines == ()
