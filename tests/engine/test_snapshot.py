"""A run is frozen first, so that later changes of files do not affect it."""

from pathlib import Path
from typing import Any

import orjson

from clerkship.engine.build import build_task
from clerkship.model.dataset import Dataset
from clerkship.model.snapshot import GRADING_VERSION, Snapshot
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.running import execute
from clerkship.settings import Settings
from tests.workbench import CATALOG, Workbench

FILES = """
    environment: {name: desk, datasets: [people, papers], simulators: {drop: {kind: files}}}
    datasets:
      - {name: people, type: records, records: [{type: Patient, id: p1, name: Ada}]}
      - {name: papers, type: files, files: {note.txt: hello}}
    task:
      name: Frozen
      entities: [{id: patient, dataset: people, where: {name: Ada}}]
      task_item: {instruction: "Greet {{ patient.name }}"}
      criteria: [{label: greets, assertion: {answer_matches: "Hello {{ patient.name }}"}}]
      solution: solution.py
"""


def greets(task_item: dict[str, Any]) -> str:
    return str(task_item["instruction"]).replace("Greet", "Hello")


def test_run_contains_everything_it_was_built_from(bench: Workbench) -> None:
    bench.write("a.yml", FILES)
    bench.write("solution.py", "def on_task(task_item):\n    return 'Hello Ada'\n")
    task_run = bench.run_one(greets)
    assert task_run.verdict == "pass"
    snapshot = Snapshot.model_validate_json(bench.store.blob(task_run.snapshot))
    assert snapshot.task.task_item == {"instruction": "Greet Ada"}
    assert snapshot.entities["patient"]["id"] == "p1"
    assert snapshot.environment.name == "desk"
    assert snapshot.solution is None  # an agent that reads the store must not find it
    assert snapshot.grading == GRADING_VERSION
    stored = orjson.loads(bench.store.blob(snapshot.datasets["papers"]))
    assert stored["files"] == {"note.txt": "hello"}
    by_oracle = Snapshot.model_validate_json(bench.store.blob(bench.run_one("oracle").snapshot))
    assert (by_oracle.solution or "").startswith("def on_task")
    assert by_oracle.task_hash == snapshot.task_hash


def test_editing_the_files_after_planning_changes_nothing(bench: Workbench) -> None:
    path = bench.write("a.yml", FILES)
    bench.write("solution.py", "def on_task(task_item):\n    return 'Hello Ada'\n")
    plan = plan_run(RunRequest(path=bench.folder, agent="oracle"), Settings(), CATALOG)
    path.write_text("task: {name: Other}")
    Path(bench.folder / "solution.py").write_text("def on_task(task_item):\n    return 'nothing'\n")
    assert execute(plan, bench.store, CATALOG).counts.passed == 1


def test_a_stored_snapshot_builds_the_same_task_again(bench: Workbench) -> None:
    bench.write("a.yml", FILES)
    bench.write("solution.py", "def on_task(task_item):\n    return 'Hello Ada'\n")
    task_run = bench.run_one("oracle")
    snapshot = Snapshot.model_validate_json(bench.store.blob(task_run.snapshot))
    datasets = {}
    for name, digest in snapshot.datasets.items():
        content = orjson.loads(bench.store.blob(digest))
        files = {path: text.encode("latin-1") for path, text in content.pop("files").items()}
        datasets[name] = Dataset(name=name, files=files, **content)
        assert datasets[name].hash == digest
    built = build_task(snapshot, datasets, CATALOG)
    assert built.snapshot.hash == task_run.snapshot
    assert built.simulators["drop"].base == {"note.txt": b"hello"}


def test_limits_and_file_paths_do_not_change_the_hash_of_a_task(bench: Workbench) -> None:
    bench.write("scenarios/talk.yml", "scenario: {name: T, simulation_context: x, setup: {person: {lines: [Hi]}}}\n")
    first = bench.run_one("nop")
    second = bench.run_one("nop", turn_timeout=9, max_turns=3, timeout=5)
    assert first.snapshot != second.snapshot
    results = [Snapshot.model_validate_json(bench.store.blob(task_run.snapshot)) for task_run in (first, second)]
    assert results[0].task_hash == results[1].task_hash
    bench.write("scenarios/talk.yml", "scenario: {name: T, simulation_context: x, setup: {person: {lines: [Ho]}}}\n")
    third = Snapshot.model_validate_json(bench.store.blob(bench.run_one("nop").snapshot))
    assert third.task_hash != results[0].task_hash
