"""`monitors:` in files: whether a monitor gates, warns or is off, and what it allows with which reason."""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar

import pytest
from pydantic import Field

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.events.evidence import Evidence
from clerkship.model.errors import InputError
from clerkship.model.run import CriterionRun, TaskRun
from clerkship.monitors.registry import MONITORS
from clerkship.report.gates import GatedComparison
from clerkship.sandbox.assertion import Check
from clerkship.sandbox.monitor import Monitor, MonitorAxis
from clerkship.service.comparing import compare_runs
from clerkship.service.rescore import rescore
from tests.workbench import Workbench


class FewFiles(Monitor):
    """The agent wrote few files."""

    name: ClassVar[str] = "few_files"
    axis: ClassVar[MonitorAxis] = "safety"
    label: ClassVar[str] = "Few files were written"
    kinds: ClassVar[frozenset[str]] = frozenset({"files"})
    most: Annotated[int, Field(description="how many files may be written")] = 1

    def check(self, evidence: Evidence) -> Check:
        """Count the files."""
        number = len(evidence.of_kind("files.file.written"))
        return Check.of(number <= self.most, f"{number} files were written")


@pytest.fixture
def catalog(monkeypatch: pytest.MonkeyPatch) -> RegisteredCatalog:
    """Return a catalog with the monitor above, which the workbench uses."""
    catalog = RegisteredCatalog()
    catalog.monitors.add(FewFiles.name, FewFiles)
    monkeypatch.setattr("tests.workbench.CATALOG", catalog)
    return catalog


@pytest.fixture
def desk(bench: Workbench, catalog: RegisteredCatalog) -> Callable[..., Workbench]:
    """Return a function that writes an environment and a task with settings of monitors."""

    def write(environment: str = "", task: str = "") -> Workbench:
        bench.write("desk.yml", f"environment: {{name: desk, simulators: {{drop: {{kind: files}}}}{environment}}}")
        bench.write(
            "task.yml",
            f"""
            task:
              name: Write one file
              environment: desk
              task_item: {{instruction: write one.txt}}
              criteria: [{{label: written, assertion: {{file_present: {{path: one.txt}}}}}}]
              {task}
            """,
        )
        return bench

    return write


def writes(number: int) -> Callable[[Any, Any], str]:
    """Return an agent that writes so many files."""

    def agent(task_item: Any, sandboxes: Any) -> str:
        for name in ("one", "two", "three")[:number]:
            sandboxes["drop"].write(f"{name}.txt", "1")
        return "done"

    return agent


def found(task_run: TaskRun) -> CriterionRun | None:
    return next((criterion for criterion in task_run.criteria if criterion.assertion == "few_files"), None)


def test_monitor_warns_without_settings_and_changes_no_verdict(desk: Callable[..., Workbench]) -> None:
    bench = desk()
    task_run = bench.run_one(writes(2))
    criterion = found(task_run)
    assert criterion is not None
    assert (criterion.monitor, criterion.passed, criterion.gate, criterion.weight) == (True, False, False, 0.0)
    assert (task_run.verdict, task_run.score, bench.exit_code()) == ("pass", 1.0, 0)
    assert "safety" not in task_run.axes


@pytest.mark.parametrize(
    ("environment", "task", "verdict"),
    [
        (", monitors: gate", "", "fail"),
        ("", "monitors: gate", "fail"),
        (", monitors: gate", "monitors: warn", "pass"),
        (", monitors: {few_files: gate}", "monitors: warn", "fail"),  # its own mode wins over that of all
        (", monitors: {all: gate, few_files: warn}", "", "pass"),
        (", monitors: gate", "monitors: {few_files: {most: 2, because: two drafts are wanted}}", "pass"),
    ],
)
def test_more_specific_setting_wins(desk: Callable[..., Workbench], environment: str, task: str, verdict: str) -> None:
    assert desk(environment, task).run_one(writes(2)).verdict == verdict


def test_monitor_that_is_off_does_not_run(desk: Callable[..., Workbench]) -> None:
    task_run = desk(", monitors: gate", "monitors: {few_files: off}").run_one(writes(3))
    assert (found(task_run), task_run.verdict) == (None, "pass")


def test_monitor_does_not_run_without_its_kind_of_sandbox(bench: Workbench, catalog: RegisteredCatalog) -> None:
    bench.write("hello.yml", "task: {name: Say hello, task_item: {instruction: answer}, criteria: [], monitors: gate}")
    assert found(bench.run_one(writes(0))) is None


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("monitors: {few_file: gate}", "unknown monitor `few_file`"),
        ("monitors: {few_files: {most: 2}}", "say under `because` why `most` is set"),
        ("monitors: {few_files: {mots: 2}}", "mots"),
        ("monitors: strict", "expected one of gate, warn, off"),
        ("monitors: {all: {most: 2}}", "expected one of gate, warn, off"),
    ],
)
def test_mistake_is_reported_with_file_and_line(desk: Callable[..., Workbench], written: str, message: str) -> None:
    bench = desk("", written)
    with pytest.raises(InputError) as raised:
        bench.run_one(writes(1))
    [problem] = raised.value.problems
    assert message in problem.message
    assert (problem.file.endswith("task.yml"), problem.line) == (True, 7)


def test_setup_of_a_scenario_file_has_monitors(bench: Workbench, catalog: RegisteredCatalog) -> None:
    bench.write("desk.yml", "environment: {name: desk, simulators: {chat: {kind: chat}, drop: {kind: files}}}")
    bench.write(
        "order.yml",
        """
        scenario:
          name: Order
          environment: desk
          simulation_context: You order.
          setup: {person: {lines: [Hello]}, monitors: gate}
          goals: {assertions: [{bot_uttered: {text_matches: ok}}]}
        """,
    )

    def agent(message: Any, sandboxes: Any) -> str:
        writes(2)(message, sandboxes)
        return "ok"

    assert bench.run_one(agent).verdict == "fail"


def test_warning_does_not_make_a_comparison_worse(desk: Callable[..., Workbench]) -> None:
    bench = desk()
    before = bench.run_one(writes(1)).run
    after = bench.run_one(writes(2)).run
    comparison = compare_runs(bench.store, before, after)
    assert [row.standing for row in comparison.rows] == ["same"]
    assert GatedComparison.of(comparison).exit_code() == 0


def test_gating_monitor_makes_a_comparison_worse(desk: Callable[..., Workbench]) -> None:
    bench = desk(", monitors: gate")
    before = bench.run_one(writes(1)).run
    after = bench.run_one(writes(2)).run
    assert GatedComparison.of(compare_runs(bench.store, before, after)).exit_code() == 1


def test_rescore_runs_the_monitors_of_the_snapshot(desk: Callable[..., Workbench], catalog: RegisteredCatalog) -> None:
    bench = desk(", monitors: gate")
    task_run = bench.run_one(writes(2))
    [again] = bench.store.task_runs(rescore(bench.store, task_run.run, catalog).run.id)
    assert (again.verdict, found(again)) == ("fail", found(task_run))


def test_entries_say_what_the_classes_say() -> None:
    for name, entry in MONITORS.items():
        monitor = entry.load()
        assert (name, entry.kinds) == (monitor.name, monitor.kinds)
        assert monitor.__doc__
        assert monitor.label
