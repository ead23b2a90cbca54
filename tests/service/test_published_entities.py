"""Tasks of a published version are those of the folder when it was published, with the records that they refer to."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clerkship.model.snapshot import Snapshot
from clerkship.service.publishing import PublishRequest, publish
from clerkship.settings import Settings
from clerkship.suite_files.load import load_library
from tests.service.published_bench import PublishedBench
from tests.workbench import CATALOG, Workbench, get_dataset_cache

SUITES = Path(__file__).parents[2] / "suites"
SMALLEST = "conversations"
CHART = """
    environment: {name: clinic, now: 2026-03-02T09:00:00-05:00, datasets: [chart], simulators: {ehr: {kind: fhir}}}
    dataset:
      name: chart
      type: fhir
      records:
        - {resourceType: Patient, id: p1, name: [{family: Lopez}], birthDate: "1965-03-15"}
        - {resourceType: Patient, id: p2, name: [{family: Kim}], birthDate: "1990-01-01"}
    task:
      name: Call
      entities: [{id: patient, dataset: chart, type: Patient, where: {birthdate: "1965-03-15"}}]
      task_item: {patient: "{{ patient.id }}"}
      criteria:
        - label: The flag is about the patient
          input_entity_id: patient
          gate: true
          assertion: {fhir_resource_state: {resource_type: Flag, fields: [{path: status, expected: active}]}}
"""


@pytest.fixture
def published(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> PublishedBench:
    """Return the folders of an author and a user."""
    published = PublishedBench(bench, monkeypatch)
    published.write(CHART)
    published.publish("call@1")
    return published


def flag(id: str) -> Any:
    """Return an agent that writes a flag for a patient."""

    def write(task_item: dict[str, Any], sandboxes: Any) -> str:
        code = {"text": "Call the patient"}
        subject = {"reference": f"Patient/{id}"}
        sandboxes["ehr"].create({"resourceType": "Flag", "status": "active", "code": code, "subject": subject})
        return str(task_item["patient"])

    return write


def test_criterion_is_about_the_record_as_published_when_the_dataset_changes(published: PublishedBench) -> None:
    swapped = CHART.replace('"1965-03-15"}\n        -', '"1990-01-01"}\n        -')
    swapped = swapped.replace('[{family: Kim}], birthDate: "1990-01-01"', '[{family: Kim}], birthDate: "1965-03-15"')
    published.write(swapped)
    of_version, of_folder = published.run("call@1", flag("p1")), published.run(published.bench.folder, flag("p1"))
    assert published.verdicts(of_version) == {"Call": "pass"}
    assert published.verdicts(of_folder) == {"Call": "fail"}
    assert [each.answer for each in published.task_runs(of_version)] == ["p1"]
    assert [each.answer for each in published.task_runs(of_folder)] == ["p2"]


def freeze_all(path: Path) -> dict[str, Snapshot]:
    """Return the snapshot of every task of a folder or a version."""
    library = load_library(path, CATALOG, cache=get_dataset_cache())
    return {name: library.snapshot(task, 1.0) for name, task in library.tasks.items()}


def list_suites() -> Iterator[Any]:
    """Yield the suites that ship; all but the smallest are slow."""
    for path in sorted(SUITES.iterdir()):
        if path.is_dir():
            yield pytest.param(path, id=path.name, marks=() if path.name == SMALLEST else pytest.mark.slow)


@pytest.mark.parametrize("suite", [*list_suites()])
def test_snapshots_of_an_archive_are_those_of_the_folder(suite: Path, tmp_path: Path) -> None:
    [version] = publish(
        PublishRequest(path=suite, name="copy@1", to=tmp_path), Settings(cache=get_dataset_cache()), CATALOG
    )
    written, archived = freeze_all(suite), freeze_all(version.path)
    assert list(written) == list(archived)
    assert written
    different = [name for name, snapshot in written.items() if snapshot.hash != archived[name].hash]
    assert different == []
    assert [name for name in written if written[name].variables() != archived[name].variables()] == []
