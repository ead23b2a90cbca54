"""`suites/fax`: its content, other correct ways, and wrong solutions."""

from fnmatch import fnmatch

import pytest

from tests.suites import (
    fax_cheats,
    fax_inbound_agents,
    fax_laboratory_agents,
    fax_mixed_agents,
    fax_outbound_agents,
)
from tests.suites.fax_ways import FAX, NOT_APPLICABLE, WAYS
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

AGENTS = (fax_cheats, fax_inbound_agents, fax_laboratory_agents, fax_mixed_agents, fax_outbound_agents)
WRONG_SOLUTIONS = [mistake for module in AGENTS for mistake in module.WRONG]
RIGHT_SOLUTIONS = {how: right for module in AGENTS for how, right in module.RIGHT.items()}
MIN_MISTAKES = 5


def list_tasks() -> list[str]:
    """Return the names of all tasks."""
    return sorted(load_suite(FAX).tasks)


def test_tasks_have_solutions_and_check_what_else_was_done() -> None:
    for name, loaded in load_suite(FAX).tasks.items():
        assert loaded.solution, name
        assertions = {criterion.assertion.name for criterion in loaded.task.criteria}
        assert {"fhir_no_other_changes", "fax_sent"} <= assertions, name
        assert "privacy" in {criterion.axis for criterion in loaded.task.criteria}, name


def test_each_task_has_wrong_solutions() -> None:
    counts = {name: sum(fnmatch(name, mistake.task) for mistake in WRONG_SOLUTIONS) for name in list_tasks()}
    assert counts
    assert {name: count for name, count in counts.items() if count < MIN_MISTAKES} == {}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_other_way_to_fax_or_read_passes(bench: Workbench, way: str) -> None:
    bench.folder = FAX
    excluded = NOT_APPLICABLE.get(way, ())
    tasks = tuple(name for name in list_tasks() if not any(fnmatch(name, each) for each in excluded))
    check_all_pass(bench.run(Solution(way, "fax_ways"), tasks=tasks))


@pytest.mark.parametrize("how", mark_slow_ways(RIGHT_SOLUTIONS))
def test_other_correct_solution_passes(bench: Workbench, how: str) -> None:
    task, agent = RIGHT_SOLUTIONS[how]
    bench.folder = FAX
    check_all_pass(bench.run(agent, tasks=(task,)))


@pytest.mark.parametrize("mistake", mark_slow(WRONG_SOLUTIONS))
def test_wrong_solution_fails_on_the_criterion_about_its_mistake(bench: Workbench, mistake: Mistake) -> None:
    check_mistake_fails(bench, FAX, mistake)
