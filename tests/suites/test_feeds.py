"""`suites/feeds`: its content, and solutions over network protocols."""

import pytest

from tests.suites.feeds_agents import FEEDS, RIGHT
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


@pytest.mark.parametrize("how", mark_slow_ways(RIGHT))
def test_solutions_over_network_protocols_pass(bench: Workbench, how: str) -> None:
    task, agent = RIGHT[how]
    bench.folder = FEEDS
    assert {(t.verdict, t.agent_error) for t in bench.run(agent, tasks=(task,))} == {("pass", "")}
