"""`suites/feeds`: its content, wrong solutions, and solutions over network protocols."""

import pytest

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.suite_files.load import load_library
from tests.suites.feeds_agents import FEEDS, RIGHT, WRONG
from tests.workbench import Workbench


def test_suite_has_tasks_across_sandboxes_with_solutions() -> None:
    library = load_library(FEEDS, RegisteredCatalog())
    assert len({loaded.file for loaded in library.tasks.values()}) >= 12
    assert all(loaded.solution for loaded in library.tasks.values())
    sequenced = [
        loaded
        for loaded in library.tasks.values()
        if any("sequencing" in criterion.assertion.name for criterion in loaded.task.criteria)
    ]
    assert len(sequenced) >= 12


def test_log_is_reproducible(bench: Workbench) -> None:
    bench.folder = FEEDS
    first, second = ({t.task: t.head for t in bench.run("oracle")} for _ in range(2))
    assert first == second


@pytest.mark.parametrize("how", sorted(WRONG))
def test_wrong_solutions_fail(bench: Workbench, how: str) -> None:
    task, agent = WRONG[how]
    bench.folder = FEEDS
    runs = bench.run(agent, tasks=(task,))
    assert {(t.status, t.agent_error) for t in runs} == {("completed", "")}  # it did its work, and did it wrong
    assert runs
    assert "pass" not in [t.verdict for t in runs]


@pytest.mark.parametrize("how", sorted(RIGHT))
def test_solutions_over_network_protocols_pass(bench: Workbench, how: str) -> None:
    task, agent = RIGHT[how]
    bench.folder = FEEDS
    assert {(t.verdict, t.agent_error) for t in bench.run(agent, tasks=(task,))} == {("pass", "")}
