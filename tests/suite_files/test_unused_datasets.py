"""A dataset of an environment that nothing uses is a warning."""

import pytest

from clerkship.service.checking import ValidationRequest, validate
from clerkship.settings import Settings
from tests.suite_files.library_folder import CATALOG, LibraryFolder

DATASETS = """
datasets:
  - {name: people, type: records, records: [{id: p1}]}
  - {name: drop, type: files, files: {a.txt: x}}
"""
UNUSED = "`people` is not used: no simulator of `desk` is loaded from a dataset of type records, and no task binds"


def _write(folder: LibraryFolder, simulators: str, task: str = "{name: T}") -> None:
    folder.write("d.yml", DATASETS)
    folder.write("t.yml", f"environment: {{name: desk, datasets: [people, drop], simulators: {simulators}}}\n")
    folder.write("u.yml", f"task: {task}\n")


def test_dataset_that_no_simulator_uses_is_a_warning(folder: LibraryFolder) -> None:
    _write(folder, "{partner: {kind: files}}")
    [warning] = folder.warnings()
    assert warning.startswith(f"t.yml:1:38: environment.datasets.0: {UNUSED}")
    assert warning.endswith("; remove it, or add a simulator that is loaded from it")


def test_validate_shows_the_warning_and_exits_0(folder: LibraryFolder) -> None:
    _write(folder, "{partner: {kind: files}}")
    validation = validate(ValidationRequest(path=folder.root), Settings(), CATALOG)
    assert validation.exit_code() == 0
    assert any(UNUSED in warning.message for warning in validation.warnings)


@pytest.mark.parametrize(
    "task",
    [
        "{name: T, entities: [{id: p, dataset: people}]}",
        "{name: T, for_each: {id: p, dataset: people}}",
    ],
)
def test_dataset_with_bound_records_counts_as_used(folder: LibraryFolder, task: str) -> None:
    _write(folder, "{partner: {kind: files}}", task)
    assert folder.warnings() == []


def test_dataset_with_a_file_in_a_step_counts_as_used(folder: LibraryFolder) -> None:
    steps = "{files.drop: {path: b.txt, dataset: drop, file: a.txt}}"
    folder.write("d.yml", DATASETS)
    folder.write("t.yml", "environment: {name: desk, datasets: [drop], simulators: {partner: {kind: files}}}\n")
    folder.write("u.yml", f"task: {{name: T, scenario: [{steps}]}}\n")
    assert folder.warnings() == []


def test_without_simulators_no_dataset_is_used(folder: LibraryFolder) -> None:
    _write(folder, "{}")
    assert len(folder.warnings()) == 2
