"""What the tests of every suite check: other correct ways pass, and a mistake fails on the criterion that names it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.model.run import TaskRun
from clerkship.suite_files.library import Library
from clerkship.suite_files.load import load_library
from tests.workbench import Workbench

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


@lru_cache(maxsize=1)
def load_suite(path: Path) -> Library:
    """Return a suite that ships, loaded once for the tests of a module."""
    return load_library(path, RegisteredCatalog())


def mark_slow(mistakes: Sequence[Mistake]) -> list[Any]:
    """Return mistakes as parameters of a test: all but the first of each task are left to `make test-all`."""
    return mark_slow_but_first([(mistake.task, str(mistake), mistake) for mistake in mistakes])


def mark_slow_ways(ways: Mapping[str, tuple[str, Any]]) -> list[Any]:
    """Return the names of solutions as parameters of a test: all but the first of each task are left to
    `make test-all`.
    """
    return mark_slow_but_first([(ways[how][0], how, how) for how in sorted(ways)])


def mark_slow_but_first(values: Iterable[tuple[str, str, Any]]) -> list[Any]:
    """Return parameters of a test, given the task, the name and the value of each; the first of each task is quick."""
    tasks: set[str] = set()
    parameters = []
    for task, name, value in values:
        parameters.append(pytest.param(value, id=name, marks=[pytest.mark.slow] if task in tasks else []))
        tasks.add(task)
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
