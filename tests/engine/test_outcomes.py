"""The table of outcomes in the design, row by row."""

import asyncio
from typing import Any

import pytest

from clerkship.engine.score import compute_score
from clerkship.model.run import Counts, CriterionRun
from tests.workbench import Workbench, written

ENVIRONMENT = """
    environment:
      name: desk
      simulators: {drop: {kind: files}, spare: {kind: files}}
"""


def task(criteria: str, timeout: float = 20) -> str:
    return f"""
    task:
      name: A task
      timeout: {timeout}
      task_item: {{instruction: write two files}}
      criteria: {criteria}
    """


GOOD = "{label: one, assertion: {file_present: {sandbox: drop, path: one.txt}}}"
GOOD_GATE = "{label: one, gate: true, assertion: {file_present: {sandbox: drop, path: one.txt}}}"
OTHER = "{label: two, assertion: {file_present: {sandbox: drop, path: two.txt}}}"
OTHER_GATE = "{label: two, gate: true, assertion: {file_present: {sandbox: drop, path: two.txt}}}"
BROKEN = "{label: broken, assertion: breaks}"


def writes_one(task_item: dict[str, Any], sandboxes: Any) -> str:
    sandboxes["drop"].write("one.txt", "1")
    return "done"


@pytest.mark.parametrize(
    ("criteria", "verdict", "score", "exit_code"),
    [
        (f"[{GOOD}]", "pass", 1.0, 0),
        (f"[{GOOD}, {OTHER}]", "partial", 0.5, 1),
        (f"[{OTHER}]", "fail", 0.0, 1),
        (f"[{GOOD}, {OTHER_GATE}]", "fail", 0.5, 1),
        (f"[{GOOD_GATE}, {OTHER}]", "partial", 0.5, 1),
        ("[]", "ungraded", None, 0),
        (f"[{GOOD}, {BROKEN}]", "inconclusive", None, 2),
        (f"[{BROKEN}]", "inconclusive", None, 2),
        (f"[{GOOD}, {OTHER_GATE}, {BROKEN}]", "fail", 0.5, 1),
        (f"[{OTHER}, {BROKEN}]", "fail", 0.0, 1),
    ],
)
def test_a_completed_run_gets_the_verdict_of_its_criteria(
    bench: Workbench, criteria: str, verdict: str, score: float | None, exit_code: int
) -> None:
    bench.write("desk.yml", ENVIRONMENT)
    bench.write("task.yml", task(criteria))
    task_run = bench.run_one(writes_one)
    assert (task_run.status, task_run.verdict, task_run.score) == ("completed", verdict, score)
    assert bench.exit_code() == exit_code


def test_a_timeout_fails_with_score_zero_and_still_shows_every_criterion(bench: Workbench) -> None:
    async def writes_and_waits(task_item: dict[str, Any], sandboxes: Any) -> None:
        writes_one(task_item, sandboxes)
        await never()

    bench.write("desk.yml", ENVIRONMENT)
    bench.write("task.yml", task(f"[{GOOD}, {OTHER}]", timeout=0.2))
    task_run = bench.run_one(writes_and_waits)
    assert (task_run.status, task_run.verdict, task_run.score) == ("timed_out", "fail", 0.0)
    assert [criterion.passed for criterion in written(task_run)] == [True, False]
    assert bench.exit_code() == 1


async def never() -> None:
    await asyncio.get_running_loop().create_future()


def writes_and_crashes(task_item: dict[str, Any], sandboxes: Any) -> None:
    writes_one(task_item, sandboxes)
    raise RuntimeError("out of ideas")


@pytest.mark.parametrize(
    ("criteria", "score", "passed"),
    [
        (f"[{GOOD}]", 1.0, [True]),
        (f"[{GOOD}, {OTHER}]", 0.5, [True, False]),
        (f"[{GOOD}, {BROKEN}]", 1.0, [True, False]),
        (f"[{BROKEN}]", None, [False]),
        ("[]", None, []),
    ],
)
def test_crashed_agent_fails_with_criteria_and_score_as_computed(
    bench: Workbench, criteria: str, score: float | None, passed: list[bool]
) -> None:
    bench.write("desk.yml", ENVIRONMENT)
    bench.write("task.yml", task(criteria))
    task_run = bench.run_one(writes_and_crashes)
    assert (task_run.status, task_run.verdict, task_run.score) == ("completed", "fail", score)
    assert [criterion.passed for criterion in written(task_run)] == passed
    assert "RuntimeError: out of ideas (test_outcomes.py:" in task_run.agent_error
    assert bench.exit_code() == 1
    assert "agent.failed" in bench.kinds(task_run)


def test_an_agent_without_the_entry_point_is_an_error_not_a_failure(bench: Workbench) -> None:
    def only_talks(message: Any) -> str:
        return "hello"

    bench.write("desk.yml", ENVIRONMENT)
    bench.write("task.yml", task(f"[{OTHER}]"))
    task_run = bench.run_one(only_talks)
    assert (task_run.status, task_run.verdict, task_run.score) == ("errored", None, None)
    assert "has no on_task" in task_run.error
    assert bench.exit_code() == 2


def test_failing_step_is_the_authors_error(bench: Workbench) -> None:
    bench.write(
        "task.yml",
        """
        environment:
          name: desk
          simulators: {drop: {kind: files, config: {max_file: 3}}}
        """,
    )
    bench.write(
        "a.yml",
        """
        task:
          name: Too much
          scenario: [{files.drop: {path: a.txt, text: too long}}]
          criteria: [{label: x, assertion: {file_present: a.txt}}]
        """,
    )
    task_run = bench.run_one("nop")
    assert (task_run.status, task_run.verdict) == ("errored", None)
    assert "files.drop" in task_run.error
    assert "agent.started" not in bench.kinds(task_run)
    assert [criterion.status for criterion in written(task_run)] == ["judged"]


def _criterion(**outcome: Any) -> CriterionRun:
    return CriterionRun(**{"label": "x", "assertion": "x", "status": "judged", **outcome})


def test_the_score_is_the_weighted_mean_and_axes_use_the_same() -> None:
    criteria = [
        _criterion(passed=True, score=1.0, weight=3, axis="safety"),
        _criterion(score=0.0, weight=1, axis="safety"),
        _criterion(passed=True, score=1.0, weight=4),
    ]
    folded = compute_score(criteria, "completed")
    assert folded.score == pytest.approx(7 / 8)
    assert folded.verdict == "partial"
    assert {axis: (score.score, score.weight) for axis, score in folded.axes.items()} == {
        "safety": (0.75, 4),
        "__default__": (1.0, 4),
    }


def test_score_of_nine_tenths_passes() -> None:
    nine = [_criterion(passed=True, score=1.0) for _ in range(9)]
    assert compute_score([*nine, _criterion(score=0.0)], "completed").verdict == "pass"
    assert compute_score([*nine, _criterion(score=0.0), _criterion(score=0.0)], "completed").verdict == "partial"


def test_skipped_criteria_do_not_affect_the_score() -> None:
    folded = compute_score([_criterion(passed=True, score=1.0), _criterion(status="skipped", gate=True)], "completed")
    assert (folded.verdict, folded.score) == ("pass", 1.0)


@pytest.mark.parametrize(
    ("verdicts", "statuses", "code"),
    [
        ({"pass": 2}, {"completed": 2}, 0),
        ({"pass": 1, "partial": 1}, {"completed": 2}, 1),
        ({"fail": 1}, {"timed_out": 1}, 1),
        ({"fail": 1}, {"completed": 1, "errored": 1}, 2),
        ({"inconclusive": 1}, {"completed": 1}, 2),
        ({"pass": 1}, {"completed": 1, "invalid_person": 1}, 2),
        ({"pass": 1}, {"completed": 1, "cancelled": 1}, 130),
        ({"ungraded": 1}, {"completed": 1}, 0),
    ],
)
def test_a_batch_exits_with_the_worst_of_its_runs(
    verdicts: dict[str, int], statuses: dict[str, int], code: int
) -> None:
    assert Counts(verdicts=verdicts, statuses=statuses).exit_code() == code
