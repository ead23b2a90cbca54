"""`suites/feeds`: its content, wrong solutions, and solutions over network protocols."""

import pytest

from tests.suites.feeds_agents import FEEDS, RIGHT, WRONG
from tests.suites.suite_checks import load_suite, mark_slow_ways
from tests.workbench import Workbench


def test_suite_has_tasks_across_sandboxes_with_solutions() -> None:
    library = load_suite(FEEDS)
    assert len({loaded.file for loaded in library.tasks.values()}) >= 12
    assert all(loaded.solution for loaded in library.tasks.values())
    sequenced = [
        loaded
        for loaded in library.tasks.values()
        if any("sequencing" in criterion.assertion.name for criterion in loaded.task.criteria)
    ]
    assert len(sequenced) >= 12


@pytest.mark.parametrize("how", mark_slow_ways(WRONG))
def test_wrong_solutions_fail(bench: Workbench, how: str) -> None:
    task, agent = WRONG[how]
    bench.folder = FEEDS
    runs = bench.run(agent, tasks=(task,))
    assert {(t.status, t.agent_error) for t in runs} == {("completed", "")}  # it did its work, and did it wrong
    assert runs
    assert "pass" not in [t.verdict for t in runs]


@pytest.mark.parametrize("how", mark_slow_ways(RIGHT))
def test_solutions_over_network_protocols_pass(bench: Workbench, how: str) -> None:
    task, agent = RIGHT[how]
    bench.folder = FEEDS
    assert {(t.verdict, t.agent_error) for t in bench.run(agent, tasks=(task,))} == {("pass", "")}
