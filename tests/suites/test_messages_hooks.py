"""The tasks on decision support of `suites/messages`: other correct ways, and wrong solutions."""

import pytest

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.library.load import load_library
from tests.suites import messages_hooks_agents, messages_orders_agents
from tests.suites.messages_hooks_ways import ASKING, SERVICES, WAYS, change_solution
from tests.suites.messages_ways import MESSAGES, Mistake
from tests.suites.wrapped_solutions import ALTERNATIVES, HARMS, REVERTED_HARMS, Solution
from tests.workbench import Workbench

WRONG_SOLUTIONS = [*messages_hooks_agents.WRONG, *messages_orders_agents.WRONG]
WAYS_OF_TASKS = [(way, solution) for way, (solutions, _) in WAYS.items() for solution in solutions]
TASKS = {**SERVICES, **ASKING}


def test_every_task_has_other_ways_and_wrong_solutions() -> None:
    tasks = load_library(MESSAGES, RegisteredCatalog()).tasks
    names = {name for name, loaded in tasks.items() if loaded.task.environment == "decision support"}
    assert names == set(TASKS.values())
    for name, task in TASKS.items():
        assert len([way for way, solution in WAYS_OF_TASKS if solution == name]) >= 3, task
        assert len([mistake for mistake in WRONG_SOLUTIONS if mistake.task == task]) >= 5, task


@pytest.mark.parametrize(("way", "solution"), WAYS_OF_TASKS, ids=[f"{one}-{two}" for one, two in WAYS_OF_TASKS])
def test_other_way_passes(bench: Workbench, way: str, solution: str) -> None:
    bench.folder = MESSAGES
    [run] = bench.run(change_solution(solution, functions=None, **WAYS[way][1]), tasks=(TASKS[solution],))
    assert (run.verdict, run.agent_error) == ("pass", ""), [each.detail for each in run.criteria if not each.passed]


@pytest.mark.parametrize("way", ALTERNATIVES)
def test_other_way_to_write_passes(bench: Workbench, way: str) -> None:
    bench.folder = MESSAGES
    failed = [run for run in bench.run(Solution(way), tasks=tuple(ASKING.values())) if run.verdict != "pass"]
    assert {run.task: [each.detail for each in run.criteria if not each.passed] for run in failed} == {}


@pytest.mark.parametrize("harm", HARMS)
def test_harm_inside_correct_work_fails(bench: Workbench, harm: str) -> None:
    bench.folder = MESSAGES
    runs = bench.run(Solution(harm), tasks=tuple(ASKING.values()))
    assert {(run.verdict, run.agent_error) for run in runs} == {("fail", "")}


@pytest.mark.parametrize("harm", REVERTED_HARMS)
def test_reverted_harm_fails(bench: Workbench, harm: str) -> None:
    bench.folder = MESSAGES
    assert {run.verdict for run in bench.run(Solution(harm), tasks=tuple(TASKS.values()))} == {"fail"}


@pytest.mark.parametrize("mistake", WRONG_SOLUTIONS, ids=str)
def test_wrong_solution_fails_on_the_criterion_about_its_mistake(bench: Workbench, mistake: Mistake) -> None:
    bench.folder = MESSAGES
    [run] = bench.run(mistake.agent, tasks=(mistake.task,))
    assert (run.status, run.agent_error, run.verdict) == ("completed", "", "fail")
    assert mistake.label in [each.label for each in run.criteria if not each.passed]
