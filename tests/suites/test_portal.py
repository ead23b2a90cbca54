"""`suites/portal`: its content, and its reference solutions in a browser."""

import pytest

from tests.report.browser import PROGRAM
from tests.suites.portal_browser import PORTAL, RIGHT
from tests.suites.suite_checks import check_all_pass, load_suite
from tests.workbench import Workbench

MIN_TASKS, MIN_WAYS = 12, 3
TIMEOUT = 240
"""Seconds that a task in a browser may take."""


def test_tasks_have_solutions_and_check_what_else_was_done() -> None:
    tasks = load_suite(PORTAL).tasks
    assert len(tasks) >= MIN_TASKS
    assert len(RIGHT) * 4 >= len(tasks)
    for name, loaded in tasks.items():
        assert loaded.solution, name
        assertions = {criterion.assertion.name for criterion in loaded.task.criteria}
        assert {"fhir_no_other_changes", "answer_matches", "portal_state_match"} <= assertions, name
        assert "privacy" in {criterion.axis for criterion in loaded.task.criteria}, name
        assert len(loaded.task.ways) >= MIN_WAYS, name


@pytest.mark.slow
@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium")
@pytest.mark.parametrize("how", RIGHT)
def test_reference_solution_passes_in_a_browser(bench: Workbench, how: str) -> None:
    task, agent = RIGHT[how]
    bench.folder = PORTAL
    check_all_pass(bench.run(agent, tasks=(task,), timeout=TIMEOUT))
