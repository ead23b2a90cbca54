"""Resume, rerun and rescore of stored runs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clerkship.actors.python import PythonSolver
from clerkship.engine.build import build_tasks
from clerkship.model.errors import InputError
from clerkship.model.run import TaskRun
from clerkship.report.gates import GatedComparison
from clerkship.service import resume as resuming
from clerkship.service import stored_runs
from clerkship.service.comparing import compare_runs
from clerkship.service.planning import plan as planning
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.rerun import plan_rerun
from clerkship.service.rescore import rescore
from clerkship.service.resume import plan_resume, resume
from clerkship.service.running import execute
from clerkship.service.task_view import show_task
from clerkship.settings import Settings
from clerkship.store.contract import RunBusy, SealBroken
from tests.workbench import CATALOG, Workbench, unseal, written

pytestmark = pytest.mark.databases(slow=True)

SUITE = """
    environment: {name: desk, datasets: [forms], simulators: {drop: {kind: files}}}
    dataset: {name: forms, type: files, files: {form.txt: "NAME: Ada"}}
    tasks:
      - name: Copy
        task_item: {from: form.txt, to: out.txt}
        criteria:
          - {label: there, gate: true, assertion: {file_present: {path: out.txt, text: {contains: Ada}}}}
          - {label: answered, assertion: {answer_matches: done}}
      - name: Leave
        task_item: {}
        criteria: [{label: nothing written, assertion: {never: {event: files.file.written}}}]
"""


def copy_first_file(task_item: dict[str, Any], sandboxes: Any) -> str:
    """Do the first task, and skip the second."""
    if "to" in task_item:
        sandboxes["drop"].write(task_item["to"], sandboxes["drop"].read(task_item["from"]))
    return "done"


def heads(task_runs: list[TaskRun]) -> dict[tuple[str, int], tuple[str, str | None]]:
    """Return what two equal runs have in common."""
    return {(t.task, t.trial): (t.head, t.verdict) for t in task_runs}


def test_rerun_uses_snapshots_and_ignores_edited_files(bench: Workbench) -> None:
    file = bench.write("a.yml", SUITE)
    first = bench.run(copy_first_file, trials=2)
    file.unlink()
    plan = plan_rerun(bench.store, "latest", CATALOG, Settings(), PythonSolver("agent", copy_first_file))
    execute(plan, bench.store, CATALOG)
    again = bench.store.run("latest")
    assert (again.made_by, again.origin, again.plan) == ("rerun", first[0].run, bench.store.run(first[0].run).plan)
    assert heads(bench.store.task_runs(again.id)) == heads(first)


def test_rerun_with_another_agent_records_that_agent(bench: Workbench) -> None:
    bench.write("a.yml", SUITE)
    bench.run(copy_first_file)
    execute(plan_rerun(bench.store, "latest", CATALOG, Settings(), "nop"), bench.store, CATALOG)
    run = bench.store.run("latest")
    assert run.solver == "nop"
    comparison = compare_runs(bench.store, run.origin, run.id)
    assert [(row.task, row.standing) for row in comparison.rows] == [("Copy", "worse"), ("Leave", "worse")]
    assert GatedComparison.of(comparison).exit_code() == 1
    assert GatedComparison.of(comparison, ["overall"]).exit_code() == 2  # two tasks are too few to decide


@pytest.mark.databases("sqlite")
def test_rerun_refuses_a_changed_snapshot(bench: Workbench) -> None:
    bench.write("a.yml", SUITE)
    bench.run(copy_first_file)
    run = bench.store.run("latest")
    bench.store._db.execute("UPDATE blobs SET data = x'7b7d' WHERE sha256 = ?", (run.plan,))
    with pytest.raises(SealBroken, match="the run itself: plan"):
        plan_rerun(bench.store, "latest", CATALOG, Settings(), "nop")


def test_rescore_applies_edited_criteria_to_the_stored_log(bench: Workbench) -> None:
    bench.write("a.yml", SUITE)
    first = bench.run(copy_first_file)
    bench.write("a.yml", SUITE.replace("answer_matches: done", "answer_matches: finished"))
    result = rescore(bench.store, "latest", CATALOG, bench.folder)
    again = bench.store.task_runs(result.run.id)
    copy = next(t for t in again if t.task == "Copy")
    assert (copy.verdict, copy.score) == ("partial", 0.5)
    assert [c.passed for c in written(copy)] == [True, False]
    assert {t.task: t.head for t in again} == {t.task: t.head for t in first}
    assert bench.store.task_runs(first[0].run) == first  # both verdicts are kept
    assert (result.run.made_by, result.run.origin) == ("rescore", first[0].run)
    view = show_task(bench.store, result.run.id, "Copy")
    assert view.intact
    assert view.events == show_task(bench.store, first[0].run, "Copy").events
    assert view.snapshot.task.criteria[1].assertion.args == "finished"


def test_rescore_with_the_same_criteria_keeps_verdicts(bench: Workbench) -> None:
    bench.write("a.yml", SUITE)
    first = bench.run(copy_first_file, trials=2)
    result = rescore(bench.store, "latest", CATALOG)
    again = bench.store.task_runs(result.run.id)
    assert [t.model_copy(update={"run": ""}) for t in again] == [t.model_copy(update={"run": ""}) for t in first]
    rescore(bench.store, result.run.id, CATALOG)  # and so does doing it to what was rescored
    assert show_task(bench.store, "latest", "Copy").intact


def test_rescoring_a_crashed_trial_keeps_the_verdict_fail(bench: Workbench) -> None:
    def copies_and_crashes(task_item: dict[str, Any], sandboxes: Any) -> None:
        copy_first_file(task_item, sandboxes)
        raise RuntimeError("out of ideas")

    bench.write("a.yml", SUITE)
    first = bench.run(copies_and_crashes)
    result = rescore(bench.store, "latest", CATALOG)
    assert {t.verdict for t in first} == {t.verdict for t in bench.store.task_runs(result.run.id)} == {"fail"}


def test_rescore_records_the_new_grading_version(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.write("a.yml", SUITE)
    bench.run(copy_first_file)
    for module in (resuming, stored_runs, planning):
        monkeypatch.setattr(module, "GRADING_VERSION", "99")
    result = rescore(bench.store, "latest", CATALOG)
    assert result.run.grading == "99"
    assert show_task(bench.store, result.run.id, "Copy").snapshot.grading == "99"
    with pytest.raises(InputError, match="the current version is"):
        plan_resume(bench.store, result.run.origin, CATALOG, Settings())


@pytest.mark.databases("sqlite")
def test_changed_log_gets_no_verdict(bench: Workbench) -> None:
    bench.write("a.yml", SUITE)
    bench.run(copy_first_file)
    for row, data in bench.store._db.execute("SELECT id, data FROM log_segments").fetchall():
        bench.store._db.execute("UPDATE log_segments SET data = ? WHERE id = ?", (data.replace(b"out", b"but"), row))
    with pytest.raises(SealBroken, match=r"Copy \(trial 1\): log"):
        rescore(bench.store, "latest", CATALOG)
    unseal(bench.store._db)
    result = rescore(bench.store, "latest", CATALOG)
    copy = next(t for t in bench.store.task_runs(result.run.id) if t.task == "Copy")
    assert (copy.status, copy.verdict) == ("errored", None)
    assert "not the one that was graded" in copy.error
    assert result.exit_code() == 2


def test_rescore_with_a_file_grades_only_its_tasks(bench: Workbench, tmp_path: Path) -> None:
    bench.write("a.yml", SUITE)
    bench.run(copy_first_file)
    other = tmp_path / "other"
    other.mkdir()
    (other / "b.yml").write_text("task: {name: Else, criteria: []}")
    with pytest.raises(InputError, match="no trial of a task in"):
        rescore(bench.store, "latest", CATALOG, other)
    (other / "b.yml").write_text("task: {name: Leave, criteria: [{label: x, assertion: {answer_matches: done}}]}")
    with pytest.raises(InputError, match="has no task `Copy`"):
        rescore(bench.store, "latest", CATALOG, other)
    result = rescore(bench.store, "latest", CATALOG, other / "b.yml")
    assert [t.task for t in bench.store.task_runs(result.run.id)] == ["Leave"]


class ProcessKilled(Exception):
    """Stands for anything that ends a process."""


def run_interrupted_after(
    bench: Workbench, finished: int, agent: Callable[..., Any] = copy_first_file, **options: Any
) -> str:
    """Start a run that is interrupted after this number of saved trials; return its id."""
    plan = plan_run(
        RunRequest(path=bench.folder, agent=PythonSolver("agent", agent), **options), Settings(timeout=20), CATALOG
    )
    seen: list[TaskRun] = []

    def watch(task_run: TaskRun) -> None:
        seen.append(task_run)
        if len(seen) >= finished:
            raise ProcessKilled

    with pytest.raises(ProcessKilled):
        execute(plan, bench.store, CATALOG, [watch])
    return plan.run.id


def resume_run(bench: Workbench, run: str, agent: Callable[..., Any] = copy_first_file, **options: Any) -> Any:
    resumed = plan_resume(
        bench.store, run, CATALOG, Settings(timeout=20), agent=PythonSolver("agent", agent), **options
    )
    return resume(resumed, bench.store, CATALOG)


def test_resume_runs_only_unfinished_trials(bench: Workbench) -> None:
    bench.write("a.yml", SUITE)
    whole = bench.run(copy_first_file, trials=10)
    calls: list[Any] = []

    def counted(task_item: dict[str, Any], sandboxes: Any) -> str:
        calls.append(task_item)
        return copy_first_file(task_item, sandboxes)

    run = run_interrupted_after(bench, 7, counted, trials=10)
    assert bench.store.run(run).status == "active"
    assert not bench.store.held(run)
    kept = {(t.task, t.trial): t for t in bench.store.task_runs(run)}
    result = resume_run(bench, run, counted)
    assert result.run.status == "completed"
    found = bench.store.task_runs(run)
    assert heads(found) == heads(whole)
    assert all(t == kept[t.task, t.trial] for t in found if (t.task, t.trial) in kept)
    attempts = bench.store.task_runs(run, attempts=True)
    assert len(calls) == len(attempts)
    assert result.counts.done == 20


def test_interrupted_attempt_is_stored_as_cancelled(bench: Workbench) -> None:
    bench.write("a.yml", SUITE)
    run = run_interrupted_after(bench, 1, trials=2, concurrency=1)
    with bench.store.hold(run) as hold:
        lost = [a for a in hold.begun if a[:2] not in {(t.task, t.trial) for t in bench.store.task_runs(run)}]
        assert lost or hold.begun
        raise_again = hold.begun
    hold = bench.store.hold(run)
    for attempt in raise_again:
        hold.begin(attempt)
    hold.__exit__(ProcessKilled)
    resume_run(bench, run)
    for attempt in lost:
        first, second = (
            t for t in bench.store.task_runs(run, attempts=True) if (t.task, t.trial) == (attempt.task, attempt.trial)
        )
        assert (first.attempt, first.status, second.attempt, second.verdict) == (1, "cancelled", 2, "pass")
        assert "its process ended" in first.error
        assert show_task(bench.store, run, attempt.task, attempt.trial).attempts == (first,)


def test_resume_repeats_cancelled_trials_and_errored_ones_on_request(bench: Workbench) -> None:
    bench.write("a.yml", "tasks: [{name: One, criteria: [{label: a, assertion: {answer_matches: 1}}]}]")
    broken = True

    def sometimes(task_item: Any) -> int:
        return 1

    class Fails:
        name = "agent"

        def open(self, solution: str | None, trial: int = 1) -> Any:
            if broken:
                raise InputError.of("the model is out")
            return PythonSolver("agent", sometimes).open(solution)

    assert bench.run_one(Fails()).status == "errored"
    run = bench.store.run("latest").id
    assert plan_resume(bench.store, run, CATALOG, Settings(), agent=Fails()).left == 0
    resume(plan_resume(bench.store, run, CATALOG, Settings(), agent=Fails()), bench.store, CATALOG)
    assert len(bench.store.task_runs(run, attempts=True)) == 1
    broken = False
    result = resume(
        plan_resume(bench.store, run, CATALOG, Settings(), agent=Fails(), retry_errored=True), bench.store, CATALOG
    )
    assert result.counts.verdicts == {"pass": 1}
    assert result.counts.statuses == {"completed": 1}
    assert [t.attempt for t in bench.store.task_runs(run, attempts=True)] == [1, 2]
    assert [t.attempt for t in bench.store.task_runs(run)] == [2]


def test_resume_continues_until_sure(bench: Workbench) -> None:
    bench.write("a.yml", SUITE)
    whole = bench.run(copy_first_file, trials=30, until_sure=0.8)
    run = run_interrupted_after(bench, 13, trials=30, until_sure=0.8)
    resume_run(bench, run)
    assert heads(bench.store.task_runs(run)) == heads(whole)


def test_run_cannot_be_resumed_by_two_processes(bench: Workbench) -> None:
    bench.write("a.yml", SUITE)
    run = run_interrupted_after(bench, 1, trials=50)
    with bench.store.hold(run):
        assert bench.store.held(run)
        with pytest.raises(RunBusy, match="another process is at work"):
            resume_run(bench, run)
    resume_run(bench, run)


def test_resume_refuses_another_agent(bench: Workbench) -> None:
    bench.write("a.yml", SUITE)
    run = run_interrupted_after(bench, 1)
    with pytest.raises(InputError, match="not of other"):
        plan_resume(bench.store, run, CATALOG, Settings(), agent=PythonSolver("other", copy_first_file))
    rescored = rescore(bench.store, run, CATALOG).run.id
    with pytest.raises(InputError, match="cannot be resumed"):
        plan_resume(bench.store, rescored, CATALOG, Settings())


def test_rerun_passes_the_same_input_in_the_same_order(bench: Workbench) -> None:
    bench.write(
        "a.yml",
        """
        environment: {name: desk, simulators: {web: {kind: files}, app: {kind: files}}}
        task:
          name: Order
          task_item: {instruction: x, zeta: 1, alpha: {b: 1, a: 2}}
          criteria: [{label: a, assertion: {answer_matches: {exists: true}}}]
        """,
    )

    def tells(task_item: dict[str, Any], sandboxes: Any) -> list[str]:
        return [*task_item, *task_item["alpha"], *sandboxes]

    [first] = bench.run(tells)
    solver = PythonSolver("agent", tells)
    execute(plan_rerun(bench.store, "latest", CATALOG, Settings(), solver), bench.store, CATALOG)
    [again] = bench.store.task_runs(bench.store.run("latest").id)
    assert first.answer == again.answer == ["instruction", "zeta", "alpha", "b", "a", "web", "app"]
    assert first.head == again.head


def test_rerun_has_the_limits_of_the_original_run(bench: Workbench) -> None:
    bench.write("a.yml", SUITE)
    bench.run(copy_first_file, concurrency=3)
    plan = plan_rerun(bench.store, "latest", CATALOG, Settings(), "nop")
    assert plan.run.concurrency == 3


def test_loaded_snapshots_share_the_records_of_a_dataset(bench: Workbench) -> None:
    bench.write("a.yml", SUITE)
    bench.run(copy_first_file)
    plan = plan_rerun(bench.store, "latest", CATALOG, Settings(), "nop")
    one, other = build_tasks(plan.snapshots, plan.datasets, CATALOG)
    assert one.simulators is other.simulators


def test_interrupted_rescore_is_marked_cancelled(bench: Workbench) -> None:
    bench.write("a.yml", SUITE)
    bench.run(copy_first_file, trials=2)

    def stop(task_run: TaskRun) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rescore(bench.store, "latest", CATALOG, watch=[stop])
    run = bench.store.run("latest")
    assert (run.made_by, run.status) == ("rescore", "cancelled")
