"""Use of the library by a program, without the command line."""

from pathlib import Path

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.service.checking import ValidationRequest, validate
from clerkship.service.exporting import write_reports
from clerkship.service.report_targets import ReportTargets
from clerkship.service.task_view import show_task
from clerkship.settings import Settings
from tests.workbench import Workbench


def test_task_file_is_run_scored_and_stored(bench: Workbench, tmp_path: Path) -> None:
    bench.write("a.yml", "task: {name: Only, criteria: [{label: right, assertion: {answer_matches: 4}}]}")
    assert validate(ValidationRequest(path=bench.folder), Settings(), RegisteredCatalog()).exit_code() == 0

    def adds(task_item: dict[str, object]) -> int:
        return 2 + 2

    task_run = bench.run_one(adds)
    view = show_task(bench.store, task_run.run, "Only")
    assert view.intact
    assert view.snapshot.task.name == "Only"
    page = write_reports(bench.store, task_run.run, ReportTargets(html=tmp_path / "report.html"))["html"]
    assert "Only" in page.read_text(encoding="utf-8")


def test_benchmark_selects_tasks_and_sets_limits(bench: Workbench) -> None:
    bench.write(
        "a.yml",
        """
        environment: {name: desk, simulators: {drop: {kind: files}}}
        benchmark: {name: Nights, slug: nights, environment: desk, tasks: ["Night *"], tags: [hard], timeout: 7}
        tasks:
          - {name: Night one, tags: [hard]}
          - {name: Night two, tags: [easy]}
          - {name: Day, tags: [hard]}
          - {name: Night three, tags: [hard], timeout: 3}
        """,
    )
    task_runs = bench.run("nop", benchmark="nights")
    assert [task_run.task for task_run in task_runs] == ["Night one", "Night three"]
    views = [show_task(bench.store, task_run.run, task_run.task) for task_run in task_runs]
    assert [view.snapshot.timeout for view in views] == [7, 3]
    assert bench.store.run("latest").name == "nights"
