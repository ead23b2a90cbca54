"""Steps about files: they arrive, late or half, get other names, and go away."""

from pathlib import Path
from typing import Any

from clerkship.actors.python import PythonSolver
from clerkship.engine.build import build_task
from clerkship.model.snapshot import Snapshot
from clerkship.sandbox.handle import Sandboxes
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.running import execute
from clerkship.settings import Settings
from clerkship.simulators.files.handle import Files
from tests.workbench import CATALOG, Workbench

PLACE = """
    environment: {name: desk, now: "2026-03-02T09:00:00Z", simulators: {drop: {kind: files}}}
    datasets: [{name: people, type: records, records: [{id: p1, name: Ada}]}]
"""


def write(bench: Workbench, steps: str, criteria: str = "[{label: x, assertion: {file_present: done.txt}}]") -> None:
    """A task with some steps."""
    bench.write("place.yml", PLACE)
    bench.write(
        "task.yml",
        f"""
        task:
          name: T
          entities: [{{id: patient, dataset: people, where: {{id: p1}}}}]
          scenario: {{steps: {steps}}}
          criteria: {criteria}
        """,
    )


def test_files_arrive_with_the_given_content_and_time(bench: Workbench) -> None:
    steps = """[
        {files.drop: {path: in/a.txt, text: "for {{ patient.name }}", modified: 3d}},
        {files.drop: {path: in/b.bin, base64: AAH/, modified: "2026-02-01T08:00:00+01:00"}},
        {files.drop: {path: in/c.bin, bytes: AAH/}},
        {drop_file_inbox: {path: d.txt, text: d}},
        {files.drop_inbox: {path: elsewhere/e.txt, text: e}},
    ]"""
    write(bench, steps)
    seen: dict[str, Any] = {}

    def agent(task_item: Any, sandboxes: Sandboxes) -> None:
        drop = sandboxes.get_as(Files)
        seen["paths"] = drop.list()
        seen["data"] = [drop.read(path) for path in ("in/a.txt", "in/b.bin", "in/c.bin")]
        seen["modified"] = [drop.stat(path)["modified"] for path in ("in/a.txt", "in/b.bin", "in/c.bin")]

    bench.run_one(agent)
    assert seen["paths"] == ["elsewhere/e.txt", "in/a.txt", "in/b.bin", "in/c.bin", "inbox/d.txt"]
    assert seen["data"] == [b"for Ada", b"\x00\x01\xff", b"\x00\x01\xff"]
    assert seen["modified"] == ["2026-02-27T09:00:00+00:00", "2026-02-01T07:00:00+00:00", "2026-03-02T09:00:00+00:00"]


def test_late_file_is_not_found_before_its_time(bench: Workbench) -> None:
    write(bench, "[{at: +10m, files.drop_inbox: {path: late.csv, text: a}}]")
    seen: list[list[str]] = []

    def agent(task_item: Any, sandboxes: Sandboxes) -> None:
        drop = sandboxes.get_as(Files)
        seen.append(drop.list())
        sandboxes.wait("9m")
        seen.append(drop.list())
        sandboxes.wait("1m")
        seen.append(drop.list())
        drop.write("done.txt", drop.stat("inbox/late.csv")["modified"])

    assert bench.run_one(agent).verdict == "pass"
    assert seen == [[], [], ["inbox/late.csv"]]


def test_upload_gets_its_final_name_by_a_rename(bench: Workbench) -> None:
    steps = """[
        {files.drop_inbox: {path: r.csv.tmp, text: half, complete: false}},
        {at: +5m, files.drop_inbox: {path: r.csv.tmp, text: whole}},
        {at: +5m, files.rename: {from: inbox/r.csv.tmp, to: inbox/r.csv}},
        {at: +10m, files.delete: {path: inbox/r.csv}},
    ]"""
    write(bench, steps)
    seen: list[list[str]] = []

    def agent(task_item: Any, sandboxes: Sandboxes) -> None:
        drop = sandboxes.get_as(Files)
        for _ in range(3):
            seen.append(drop.list())
            sandboxes.wait("5m")

    task_run = bench.run_one(agent)
    assert seen == [["inbox/r.csv.tmp"], ["inbox/r.csv"], []]
    events = [event for event in bench.events(task_run) if event["kind"].startswith("files.file")]
    assert [event["kind"] for event in events] == [
        "files.file.written",
        "files.file.written",
        "files.file.renamed",
        "files.file.deleted",
    ]
    assert [event["payload"].get("complete") for event in events[:2]] == [False, True]


def test_step_made_impossible_by_the_agent_is_not_an_error_of_the_task(bench: Workbench) -> None:
    write(bench, "[{files.drop_inbox: {path: a, text: a}}, {at: +5m, files.rename: {from: inbox/a, to: inbox/b}}]")

    def agent(task_item: Any, sandboxes: Sandboxes) -> None:
        sandboxes.get_as(Files).rename("inbox/a", "archive/a")
        sandboxes.get_as(Files).write("done.txt", "")
        sandboxes.wait("5m")

    task_run = bench.run_one(agent)
    assert (task_run.status, task_run.verdict) == ("completed", "pass")
    failed = next(event for event in bench.events(task_run) if event["kind"] == "scenario.step.failed")
    assert failed["payload"]["by_agent"]


def test_impossible_step_is_an_error_of_the_task(bench: Workbench) -> None:
    write(bench, "[{files.rename: {from: inbox/a, to: nowhere/b}}]")
    task_run = bench.run_one("nop")
    assert task_run.status == "errored"
    assert "there is no file or folder inbox/a" in (task_run.error or "")


def test_content_of_a_template_is_stored_with_the_run(bench: Workbench) -> None:
    write(bench, "[{files.drop: {path: done.txt, template: t.txt}}]")
    template = bench.write("t.txt", "for {{ patient.name }}")
    agent = PythonSolver("agent", lambda task_item: "done")
    plan = plan_run(RunRequest(path=bench.folder, agent=agent), Settings(), CATALOG)
    template.unlink()
    result = execute(plan, bench.store, CATALOG)
    assert result.counts.passed == 1
    [task_run] = bench.store.task_runs(result.run.id)
    snapshot = Snapshot.model_validate_json(bench.store.blob(task_run.snapshot))
    assert snapshot.task.scenario is not None
    assert snapshot.task.scenario.steps[0].args == {"path": "done.txt", "text": "for Ada"}
    assert build_task(snapshot, {}, CATALOG).steps[0][1].model_dump()["text"] == "for Ada"
    assert not Path(template).exists()
