"""`suites/messages`: its content, other correct ways, and wrong solutions."""

from fnmatch import fnmatch

import pytest

from tests.suites import (
    messages_cheats,
    messages_connected_agents,
    messages_mail_agents,
    messages_mail_solutions,
    messages_portal_agents,
    messages_texts_agents,
)
from tests.suites.messages_ways import MESSAGES, NOT_APPLICABLE, WAYS
from tests.suites.suite_checks import (
    Mistake,
    check_all_pass,
    check_mistake_fails,
    load_suite,
    mark_slow,
    mark_slow_ways,
)
from tests.suites.wrapped_solutions import Solution
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
    tasks = load_suite(MESSAGES).tasks
    return sorted(name for name, each in tasks.items() if not environments or each.task.environment in environments)


def test_tasks_have_solutions_and_check_what_else_was_done() -> None:
    library = load_suite(MESSAGES)
    assert all(loaded.solution for loaded in library.tasks.values())
    for name, loaded in library.tasks.items():
        assertions = {criterion.assertion.name for criterion in loaded.task.criteria}
        assert "fhir_no_other_changes" in assertions, name


def test_tasks_with_messages_check_who_else_was_written_to() -> None:
    library = load_suite(MESSAGES)
    for name in list_tasks(*DESKS):
        criteria = library.tasks[name].task.criteria
        assert {"message_sent", "must_not_mention"} <= {criterion.assertion.name for criterion in criteria}, name
        assert "privacy" in {criterion.axis for criterion in criteria}, name


def test_each_task_has_wrong_solutions() -> None:
    counts = {name: sum(fnmatch(name, mistake.task) for mistake in WRONG_SOLUTIONS) for name in list_tasks(*DESKS)}
    assert counts
    assert {name: count for name, count in counts.items() if count < MIN_MISTAKES} == {}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_other_way_to_send_passes(bench: Workbench, way: str) -> None:
    bench.folder = MESSAGES
    excluded = NOT_APPLICABLE.get(way, ())
    tasks = tuple(name for name in list_tasks(*DESKS) if not any(fnmatch(name, each) for each in excluded))
    check_all_pass(bench.run(Solution(way, "messages_ways"), tasks=tasks))


@pytest.mark.parametrize("how", mark_slow_ways(RIGHT_SOLUTIONS))
def test_other_correct_solution_passes(bench: Workbench, how: str) -> None:
    task, agent = RIGHT_SOLUTIONS[how]
    bench.folder = MESSAGES
    check_all_pass(bench.run(agent, tasks=(task,)))


@pytest.mark.parametrize("mistake", mark_slow(WRONG_SOLUTIONS))
def test_wrong_solution_fails_on_the_criterion_about_its_mistake(bench: Workbench, mistake: Mistake) -> None:
    check_mistake_fails(bench, MESSAGES, mistake)
