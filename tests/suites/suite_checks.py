"""What the tests of every suite check: other correct ways pass."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from clerkship.model.run import TaskRun
from clerkship.service import checking
from clerkship.settings import Settings
from clerkship.suite_files.library import Library
from tests.workbench import CATALOG, get_dataset_cache

Solve = Callable[[Any, Any], Any]


def load_suite(path: Path) -> Library:
    """Return a suite that ships, with what the runs of other tests loaded; see `conftest.py`."""
    return checking.load_and_check(path, None, Settings(cache=get_dataset_cache()), CATALOG)[0]


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
