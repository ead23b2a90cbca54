"""Which trials are run: all, the remaining ones, or as many as needed for a certain rate."""

from collections.abc import Iterable
from itertools import count
from typing import Any

import pytest

from clerkship.model.errors import InputError
from clerkship.model.run import TaskRun
from clerkship.report.repeats import compute_repeats, group_by_threshold, group_rates
from tests.workbench import Workbench, written

TASKS = """
    tasks:
      - {name: always, task_item: {name: always}, criteria: [{label: a, assertion: {answer_matches: true}}]}
      - {name: never, task_item: {name: never}, criteria: [{label: a, assertion: {answer_matches: true}}]}
      - {name: mostly, task_item: {name: mostly}, criteria: [{label: a, assertion: {answer_matches: true}}]}
"""


def trials(task_runs: Iterable[TaskRun], task: str) -> list[int]:
    return sorted(task_run.trial for task_run in task_runs if task_run.task == task)


class MostlyPassing:
    """Passes always, never, or five times out of six, by the name of the task."""

    def __init__(self) -> None:
        self.asked = count()

    def on_task(self, task_item: dict[str, Any]) -> bool:
        return {"always": True, "never": False}.get(task_item["name"], next(self.asked) % 6 != 5)


@pytest.mark.parametrize("concurrency", [1, 8])
def test_task_is_repeated_until_its_rate_is_certain(bench: Workbench, concurrency: int) -> None:
    bench.write("a.yml", TASKS)
    agent = MostlyPassing()

    def on_task(task_item: dict[str, Any]) -> bool:
        return agent.on_task(task_item)

    results = bench.run(on_task, trials=30, until_sure=0.8, concurrency=concurrency)
    assert trials(results, "always") == list(range(1, 21))  # 16 would do; it is looked at every five
    assert trials(results, "never") == list(range(1, 6))
    assert trials(results, "mostly") == list(range(1, 31))  # five of six is too near to four of five
    assert bench.result is not None
    assert bench.result.run.status == "completed"


def test_ungradable_trials_are_not_repeated(bench: Workbench) -> None:
    bench.write("a.yml", "tasks: [{name: broken, criteria: [{label: a, assertion: breaks}]}]")
    assert len(bench.run("nop", trials=30, until_sure=0.5)) == 5


def test_trials_that_crash_count_as_failures_in_rates_and_until_sure(bench: Workbench) -> None:
    def writes_and_crashes(task_item: dict[str, Any], sandboxes: Any) -> None:
        sandboxes["drop"].write("one.txt", "1")
        raise RuntimeError("out of ideas")

    criteria = "criteria: [{label: a, assertion: {file_present: one.txt}}]"
    bench.write("desk.yml", "environment: {name: desk, simulators: {drop: {kind: files}}}")
    bench.write("a.yml", f"tasks: [{{name: writes, {criteria}}}]")
    results = bench.run(writes_and_crashes, trials=30, until_sure=0.5)
    assert [criterion.passed for task_run in results for criterion in written(task_run)] == [True] * 5
    rate = group_rates(results)["writes"]
    assert (rate.passed, rate.graded) == (0, 5)
    assert compute_repeats([rate]).pass_hat == {1: 0.0, 2: 0.0, 4: 0.0, 5: 0.0}
    assert group_by_threshold([rate], 0.5)["below"] == ["writes"]


def test_threshold_must_be_between_zero_and_one(bench: Workbench) -> None:
    bench.write("a.yml", TASKS)
    for threshold in (0, 1, -3):
        with pytest.raises(InputError, match="between 0 and 1"):
            bench.run("nop", until_sure=threshold)
