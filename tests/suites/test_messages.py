"""`suites/messages`: its content, and other ways to send messages."""

from fnmatch import fnmatch

import pytest

from tests.suites.messages_ways import MESSAGES, NOT_APPLICABLE, WAYS
from tests.suites.suite_checks import check_all_pass, load_suite
from tests.suites.wrapped_solutions import Solution
from tests.workbench import Workbench

DESKS = ("front desk", "connected desk")


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


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_other_way_to_send_passes(bench: Workbench, way: str) -> None:
    bench.folder = MESSAGES
    excluded = NOT_APPLICABLE.get(way, ())
    tasks = tuple(name for name in list_tasks(*DESKS) if not any(fnmatch(name, each) for each in excluded))
    check_all_pass(bench.run(Solution(way, "messages_ways"), tasks=tasks))
