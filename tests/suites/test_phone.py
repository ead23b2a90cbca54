"""`suites/phone`: its content, and its reference solutions over the WebSocket."""

import pytest

from tests.suites.phone_socket import RIGHT
from tests.suites.suite_checks import check_all_pass, load_suite, mark_slow_ways
from tests.suites.test_shipped import ROOT
from tests.workbench import Workbench

PHONE = ROOT / "suites" / "phone"
MIN_WAYS = 3


def test_tasks_have_solutions_and_check_what_else_was_done() -> None:
    for name, loaded in load_suite(PHONE).tasks.items():
        assert loaded.solution, name
        assertions = {criterion.assertion.name for criterion in loaded.task.criteria}
        assert {"fhir_no_other_changes", "voice_call"} <= assertions, name
        assert "privacy" in {criterion.axis for criterion in loaded.task.criteria}, name


def test_each_task_has_other_ways() -> None:
    for name, loaded in load_suite(PHONE).tasks.items():
        assert len(loaded.task.ways) >= MIN_WAYS, name


@pytest.mark.slow
def test_reference_solutions_pass_whatever_the_waits_on_the_line_are(bench: Workbench) -> None:
    bench.folder = PHONE
    check_all_pass(bench.run("oracle", trials=6))


@pytest.mark.parametrize("how", mark_slow_ways(RIGHT))
def test_reference_solution_passes_over_the_socket(bench: Workbench, how: str) -> None:
    task, agent = RIGHT[how]
    bench.folder = PHONE
    check_all_pass(bench.run(agent, tasks=(task,)))
