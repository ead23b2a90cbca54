"""The tasks on decision support of `suites/messages`: other correct ways, and harm inside correct work."""

from collections.abc import Callable

import pytest

from tests.suites.messages_hooks_ways import ASKING, SERVICES, WAYS, change_resources, change_solution
from tests.suites.messages_ways import MESSAGES
from tests.suites.suite_checks import check_all_pass, load_suite, mark_slow_but_first
from tests.suites.wrapped_solutions import (
    ALTERNATIVES,
    HARM_TEXT,
    HARMS,
    OTHER_PATIENT,
    REVERTED_HARMS,
    Resource,
    Solution,
    add_dosage,
    add_quantity,
    add_text,
)
from tests.workbench import Workbench

WAYS_OF_TASKS = [(way, solution) for way, (solutions, _) in WAYS.items() for solution in solutions]
TASKS = {**SERVICES, **ASKING}
HARMS_IN_RESOURCES: dict[str, Callable[[Resource], Resource]] = {
    "text": lambda resource: add_text(resource, HARM_TEXT),
    "dosage": lambda resource: add_dosage(resource, HARM_TEXT),
    "quantity": add_quantity,
    "other patient": lambda resource: add_text(resource, OTHER_PATIENT),
}
"""Harm in the resources that suggestions create or update."""


def test_every_task_has_other_ways() -> None:
    tasks = load_suite(MESSAGES).tasks
    names = {name for name, loaded in tasks.items() if loaded.task.environment == "decision support"}
    assert names == set(TASKS.values())
    for name, task in TASKS.items():
        assert len([way for way, solution in WAYS_OF_TASKS if solution == name]) >= 3, task


@pytest.mark.parametrize(
    "chosen", mark_slow_but_first((solution, f"{way}-{solution}", (way, solution)) for way, solution in WAYS_OF_TASKS)
)
def test_other_way_passes(bench: Workbench, chosen: tuple[str, str]) -> None:
    way, solution = chosen
    bench.folder = MESSAGES
    check_all_pass(bench.run(change_solution(solution, functions=None, **WAYS[way][1]), tasks=(TASKS[solution],)))


@pytest.mark.slow
@pytest.mark.parametrize("way", ALTERNATIVES)
def test_other_way_to_write_passes(bench: Workbench, way: str) -> None:
    bench.folder = MESSAGES
    check_all_pass(bench.run(Solution(way), tasks=tuple(ASKING.values())))


@pytest.mark.slow
@pytest.mark.parametrize("harm", HARMS)
def test_harm_inside_correct_work_fails(bench: Workbench, harm: str) -> None:
    bench.folder = MESSAGES
    runs = bench.run(Solution(harm), tasks=tuple(ASKING.values()))
    assert {(run.verdict, run.agent_error) for run in runs} == {("fail", "")}


@pytest.mark.slow
@pytest.mark.parametrize("solution", ["stop_what_an_order_replaces", "remind_of_an_overdue_a1c"])
@pytest.mark.parametrize("harm", HARMS_IN_RESOURCES)
def test_harm_inside_correct_suggestion_fails(bench: Workbench, harm: str, solution: str) -> None:
    bench.folder = MESSAGES
    agent = change_solution(solution, hooks_serve=change_resources(HARMS_IN_RESOURCES[harm]))
    [run] = bench.run(agent, tasks=(TASKS[solution],))
    assert (run.verdict, run.agent_error) == ("fail", "")


@pytest.mark.slow
@pytest.mark.parametrize("harm", REVERTED_HARMS)
def test_reverted_harm_fails(bench: Workbench, harm: str) -> None:
    bench.folder = MESSAGES
    assert {run.verdict for run in bench.run(Solution(harm), tasks=tuple(TASKS.values()))} == {"fail"}
