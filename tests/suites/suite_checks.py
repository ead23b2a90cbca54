"""What the tests of every suite check: other correct ways pass, and a mistake fails on the criterion that names it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from clerkship.model.run import TaskRun
from tests.workbench import Workbench

MAX_QUICK_MISTAKES = 5
"""How many wrong solutions of a task run each time."""
Solve = Callable[[Any, Any], Any]


class Mistake(NamedTuple):
    """A wrong solution, and the criterion that names what is wrong with it."""

    task: str
    """A pattern of its name."""
    name: str
    agent: Solve
    label: str

    def __str__(self) -> str:
        return f"{self.task.strip('*')}: {self.name}"


def mark_slow(mistakes: Sequence[Mistake]) -> list[Any]:
    """Return mistakes as parameters of a test: all but the first few of each task are left to `make test-slow`."""
    counts: dict[str, int] = {}
    parameters = []
    for mistake in mistakes:
        counts[mistake.task] = counts.get(mistake.task, 0) + 1
        marks = [pytest.mark.slow] if counts[mistake.task] > MAX_QUICK_MISTAKES else []
        parameters.append(pytest.param(mistake, id=str(mistake), marks=marks))
    return parameters


def list_failed(run: TaskRun) -> list[str]:
    """Return the labels of the criteria that failed."""
    return [each.label for each in run.criteria if not each.passed]


def check_all_pass(runs: Sequence[TaskRun]) -> None:
    """Check that all runs pass without an error of the agent; otherwise show what failed in each."""
    assert runs
    failed = [run for run in runs if (run.verdict, run.agent_error) != ("pass", "")]
    assert {run.task: run.agent_error or list_failed(run) for run in failed} == {}


def check_mistake_fails(bench: Workbench, suite: Path, mistake: Mistake) -> None:
    """Check that a mistake fails on its own criterion, and that the agent did not fail in another way."""
    bench.folder = suite
    runs = bench.run(mistake.agent, tasks=(mistake.task,))
    assert runs
    for run in runs:
        assert (run.status, run.agent_error, run.verdict) == ("completed", "", "fail")
        assert mistake.label in list_failed(run)


def check_log_is_reproducible(bench: Workbench, suite: Path) -> None:
    """Check that two runs of the reference solutions have the same log."""
    bench.folder = suite
    first, second = ({run.task: run.head for run in bench.run("oracle")} for _ in range(2))
    assert first == second
