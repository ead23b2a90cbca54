"""`suites/phone`: its content, other correct ways, and wrong solutions."""

from fnmatch import fnmatch
from functools import cache

import pytest

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.suite_files.library import Library
from clerkship.suite_files.load import load_library
from tests.suites import (
    phone_added_harm_agents,
    phone_payer_agents,
    phone_people_agents,
    phone_queue_agents,
    phone_socket,
    phone_trouble_agents,
)
from tests.suites.suite_checks import Mistake, check_all_pass, check_log_is_reproducible, check_mistake_fails, mark_slow
from tests.suites.test_shipped import ROOT
from tests.workbench import Workbench

PHONE = ROOT / "suites" / "phone"
AGENTS = (
    phone_payer_agents,
    phone_people_agents,
    phone_queue_agents,
    phone_trouble_agents,
    phone_added_harm_agents,
    phone_socket,
)
WRONG_SOLUTIONS = [mistake for module in AGENTS for mistake in module.WRONG]
RIGHT_SOLUTIONS = {how: right for module in AGENTS for how, right in module.RIGHT.items()}
MIN_MISTAKES = 5
MIN_WAYS = 3


@cache
def load_phone() -> Library:
    """Return the suite, loaded once."""
    return load_library(PHONE, RegisteredCatalog())


def list_tasks() -> list[str]:
    """Return the names of all tasks."""
    return sorted(load_phone().tasks)


def test_tasks_have_solutions_and_check_what_else_was_done() -> None:
    for name, loaded in load_phone().tasks.items():
        assert loaded.solution, name
        assertions = {criterion.assertion.name for criterion in loaded.task.criteria}
        assert {"fhir_no_other_changes", "voice_call"} <= assertions, name
        assert "privacy" in {criterion.axis for criterion in loaded.task.criteria}, name


def test_each_task_has_other_ways_and_wrong_solutions() -> None:
    for name in list_tasks():
        assert sum(fnmatch(name, task) for task, _ in RIGHT_SOLUTIONS.values()) >= MIN_WAYS, name
        assert sum(fnmatch(name, mistake.task) for mistake in WRONG_SOLUTIONS) >= MIN_MISTAKES, name


def test_reference_solutions_pass_whatever_the_waits_on_the_line_are(bench: Workbench) -> None:
    bench.folder = PHONE
    check_all_pass(bench.run("oracle", trials=6))


def test_log_is_reproducible(bench: Workbench) -> None:
    check_log_is_reproducible(bench, PHONE)


@pytest.mark.parametrize("how", sorted(RIGHT_SOLUTIONS))
def test_other_correct_solution_passes(bench: Workbench, how: str) -> None:
    task, agent = RIGHT_SOLUTIONS[how]
    bench.folder = PHONE
    check_all_pass(bench.run(agent, tasks=(task,)))


@pytest.mark.parametrize("mistake", mark_slow(WRONG_SOLUTIONS))
def test_wrong_solution_fails_on_the_criterion_about_its_mistake(bench: Workbench, mistake: Mistake) -> None:
    check_mistake_fails(bench, PHONE, mistake)
