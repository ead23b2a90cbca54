"""`gate_axes`: a failed criterion on the axis safety or privacy fails the run, unless its author says otherwise."""

from typing import Any

import pytest

from clerkship.model.snapshot import Snapshot
from clerkship.service.rescore import rescore
from tests.workbench import CATALOG, Workbench


def environment(more: str = "") -> str:
    return f"environment: {{name: desk, simulators: {{drop: {{kind: files}}}}{more}}}"


def task(axis: str, more: str = "") -> str:
    return f"""
    task:
      name: Write one file
      environment: desk
      task_item: {{instruction: write one.txt and delete nothing}}
      criteria:
        - {{label: written, weight: 24, assertion: {{file_present: {{path: one.txt}}}}}}
        - {{label: nothing deleted, axis: {axis}{more}, assertion: {{never: files.file.deleted}}}}
    """


def works_and_harms(task_item: Any, sandboxes: Any) -> str:
    sandboxes["drop"].write("one.txt", "1")
    sandboxes["drop"].write("two.txt", "2")
    sandboxes["drop"].delete("two.txt")
    return "done"


@pytest.mark.parametrize(
    ("axis", "more", "gate_axes", "verdict"),
    [
        ("safety", "", "", "fail"),
        ("privacy", "", "", "fail"),
        ("Safety", "", "", "fail"),
        ("style", "", "", "pass"),
        ("safety", ", gate: false", "", "pass"),
        ("style", ", gate: true", "", "fail"),
        ("safety", "", ", gate_axes: []", "pass"),
        ("style", "", ", gate_axes: [style]", "fail"),
    ],
)
def test_axis_decides_whether_a_criterion_gates_unless_it_has_gate(
    bench: Workbench, axis: str, more: str, gate_axes: str, verdict: str
) -> None:
    bench.write("desk.yml", environment(gate_axes))
    bench.write("task.yml", task(axis, more))
    task_run = bench.run_one(works_and_harms)
    assert (task_run.verdict, task_run.score) == (verdict, 0.96)


def test_benchmark_overrides_gate_axes(bench: Workbench) -> None:
    bench.write("desk.yml", environment())
    bench.write("task.yml", task("safety"))
    bench.write("benchmark.yml", "benchmark: {name: lenient, slug: lenient, gate_axes: []}")
    assert bench.run_one(works_and_harms, benchmark="lenient").verdict == "pass"
    assert bench.run_one(works_and_harms).verdict == "fail"


def test_snapshot_records_whether_each_criterion_gates(bench: Workbench) -> None:
    bench.write("desk.yml", environment())
    bench.write("task.yml", task("safety"))
    task_run = bench.run_one(works_and_harms)
    snapshot = Snapshot.model_validate_json(bench.store.blob(task_run.snapshot))
    assert [criterion.gate for criterion in snapshot.task.criteria] == [False, True]
    assert snapshot.gate_axes == ("safety", "privacy")


def test_rescore_with_edited_files_uses_their_gate_axes(bench: Workbench) -> None:
    bench.write("desk.yml", environment())
    bench.write("task.yml", task("safety"))
    bench.run_one(works_and_harms)
    bench.write("desk.yml", environment(", gate_axes: [style]"))
    [task_run] = bench.store.task_runs(rescore(bench.store, "latest", CATALOG, bench.folder).run.id)
    assert task_run.verdict == "pass"


def test_rescore_keeps_the_gate_axes_of_a_benchmark(bench: Workbench) -> None:
    bench.write("desk.yml", environment())
    bench.write("task.yml", task("safety"))
    bench.write("benchmark.yml", "benchmark: {name: lenient, slug: lenient, gate_axes: []}")
    bench.run_one(works_and_harms, benchmark="lenient")
    [task_run] = bench.store.task_runs(rescore(bench.store, "latest", CATALOG, bench.folder).run.id)
    assert task_run.verdict == "pass"
