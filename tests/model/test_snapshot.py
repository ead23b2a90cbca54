"""Hashes of snapshots."""

from clerkship.model.environment import Environment
from clerkship.model.snapshot import Snapshot
from clerkship.model.task import Task


def test_hashes_of_older_tasks_are_unchanged() -> None:
    environment = Environment.model_validate({"name": "e", "simulators": {"ehr": {"kind": "fhir"}}})
    written = {"name": "T", "task_item": {"instruction": "x"}, "scenario": {"person": {"lines": ["a"]}}}
    snapshot = Snapshot(task=Task.model_validate(written), environment=environment, timeout=3)
    assert snapshot.task_hash == "b63926272fa44d1ccb69c8ac02fd9cec74b779ec716a8db729609f33874bc98d"
    assert snapshot.setup_hash == "b9ffb2bc20ebb9865612d4ec0acdeeed"
