"""`suites/phone`: its content, other correct ways, and wrong solutions."""

from fnmatch import fnmatch

import pytest

from tests.suites import (
    phone_added_harm_agents,
    phone_socket,
    phone_trouble_agents,
)
from tests.suites.suite_checks import (
    Mistake,
    check_all_pass,
    check_mistake_fails,
    load_suite,
    mark_slow,
    mark_slow_ways,
)
from tests.suites.test_shipped import ROOT
from tests.workbench import Workbench

PHONE = ROOT / "suites" / "phone"
AGENTS = (
    phone_trouble_agents,
    phone_added_harm_agents,
    phone_socket,
)
WRONG_SOLUTIONS = [mistake for module in AGENTS for mistake in module.WRONG]
RIGHT_SOLUTIONS = {how: right for module in AGENTS for how, right in module.RIGHT.items()}
MIN_MISTAKES = 5
MIN_WAYS = 3


def test_tasks_have_solutions_and_check_what_else_was_done() -> None:
    for name, loaded in load_suite(PHONE).tasks.items():
        assert loaded.solution, name
        assertions = {criterion.assertion.name for criterion in loaded.task.criteria}
        assert {"fhir_no_other_changes", "voice_call"} <= assertions, name
        assert "privacy" in {criterion.axis for criterion in loaded.task.criteria}, name


def test_each_task_has_other_ways_and_wrong_solutions() -> None:
    for name, loaded in load_suite(PHONE).tasks.items():
        ways = sum(fnmatch(name, task) for task, _ in RIGHT_SOLUTIONS.values())
        wrong = sum(fnmatch(name, mistake.task) for mistake in WRONG_SOLUTIONS)
        assert ways + len(loaded.task.ways) >= MIN_WAYS, name
        assert wrong + len(loaded.task.wrong) >= MIN_MISTAKES, name


@pytest.mark.slow
def test_reference_solutions_pass_whatever_the_waits_on_the_line_are(bench: Workbench) -> None:
    bench.folder = PHONE
    check_all_pass(bench.run("oracle", trials=6))


@pytest.mark.parametrize("how", mark_slow_ways(RIGHT_SOLUTIONS))
def test_other_correct_solution_passes(bench: Workbench, how: str) -> None:
    task, agent = RIGHT_SOLUTIONS[how]
    bench.folder = PHONE
    check_all_pass(bench.run(agent, tasks=(task,)))


@pytest.mark.parametrize("mistake", mark_slow(WRONG_SOLUTIONS))
def test_wrong_solution_fails_on_the_criterion_about_its_mistake(bench: Workbench, mistake: Mistake) -> None:
    check_mistake_fails(bench, PHONE, mistake)
