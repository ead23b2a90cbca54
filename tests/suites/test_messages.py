"""`suites/messages`: its content, other correct ways, and wrong solutions."""

from fnmatch import fnmatch

import pytest

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.library.load import load_library
from tests.suites import (
    messages_cheats,
    messages_connected_agents,
    messages_mail_agents,
    messages_mail_solutions,
    messages_portal_agents,
    messages_texts_agents,
)
from tests.suites.messages_ways import MESSAGES, NOT_APPLICABLE, WAYS, MessagesSolution, Mistake
from tests.workbench import Workbench

WRONG_SOLUTIONS = [
    *messages_cheats.WRONG,
    *messages_connected_agents.WRONG,
    *messages_mail_agents.WRONG,
    *messages_portal_agents.WRONG,
    *messages_texts_agents.WRONG,
]
RIGHT_SOLUTIONS = {
    **messages_cheats.RIGHT,
    **messages_connected_agents.RIGHT,
    **messages_mail_solutions.RIGHT,
    **messages_texts_agents.RIGHT,
}
DESKS = ("front desk", "connected desk")
MIN_MISTAKES = 5


def list_tasks(*environments: str) -> list[str]:
    """Return the names of the tasks of these environments; of all if none is given."""
    tasks = load_library(MESSAGES, RegisteredCatalog()).tasks
    return sorted(name for name, each in tasks.items() if not environments or each.task.environment in environments)


def test_tasks_have_solutions_and_check_what_else_was_done() -> None:
    library = load_library(MESSAGES, RegisteredCatalog())
    assert all(loaded.solution for loaded in library.tasks.values())
    for name, loaded in library.tasks.items():
        assertions = {criterion.assertion.name for criterion in loaded.task.criteria}
        assert "fhir_no_other_changes" in assertions, name


def test_tasks_with_messages_check_who_else_was_written_to() -> None:
    library = load_library(MESSAGES, RegisteredCatalog())
    for name in list_tasks(*DESKS):
        criteria = library.tasks[name].task.criteria
        assert {"message_sent", "must_not_mention"} <= {criterion.assertion.name for criterion in criteria}, name
        assert "privacy" in {criterion.axis for criterion in criteria}, name


@pytest.mark.parametrize("name", list_tasks(*DESKS))
def test_task_has_wrong_solutions(name: str) -> None:
    assert sum(fnmatch(name, mistake.task) for mistake in WRONG_SOLUTIONS) >= MIN_MISTAKES


def test_log_is_reproducible(bench: Workbench) -> None:
    bench.folder = MESSAGES
    first, second = ({run.task: run.head for run in bench.run("oracle")} for _ in range(2))
    assert first == second


@pytest.mark.parametrize("way", WAYS)
def test_other_way_to_send_passes(bench: Workbench, way: str) -> None:
    bench.folder = MESSAGES
    excluded = NOT_APPLICABLE.get(way, ())
    tasks = tuple(name for name in list_tasks(*DESKS) if not any(fnmatch(name, each) for each in excluded))
    failed = [run for run in bench.run(MessagesSolution(way), tasks=tasks) if run.verdict != "pass"]
    assert {
        run.task: [each.label for each in run.criteria if not each.passed] or run.agent_error for run in failed
    } == {}


@pytest.mark.parametrize("how", sorted(RIGHT_SOLUTIONS))
def test_other_correct_solution_passes(bench: Workbench, how: str) -> None:
    task, agent = RIGHT_SOLUTIONS[how]
    bench.folder = MESSAGES
    runs = bench.run(agent, tasks=(task,))
    assert runs
    failed = {run.task: [each.detail for each in run.criteria if not each.passed] for run in runs}
    assert {(run.verdict, run.agent_error) for run in runs} == {("pass", "")}, failed


@pytest.mark.parametrize("mistake", WRONG_SOLUTIONS, ids=str)
def test_wrong_solution_fails_on_the_criterion_about_its_mistake(bench: Workbench, mistake: Mistake) -> None:
    bench.folder = MESSAGES
    runs = bench.run(mistake.agent, tasks=(mistake.task,))
    assert runs
    for run in runs:
        assert (run.status, run.agent_error, run.verdict) == ("completed", "", "fail")
        failed = [each.label for each in run.criteria if not each.passed]
        assert mistake.label in failed
