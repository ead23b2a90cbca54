"""`suites/prior-auth`: each task goes over chart, telephone, payer portal and fax."""

from collections import Counter
from typing import Any

import pytest

from clerkship.suite_files.library import LoadedTask
from tests.report.browser import PROGRAM
from tests.suites.portal_browser import solve_in_browser
from tests.suites.suite_checks import check_all_pass, load_suite
from tests.suites.test_shipped import ROOT
from tests.workbench import Workbench

SUITE = ROOT / "suites" / "prior-auth"
CHANNELS = {"ehr", "phone", "portal", "fax"}
LEVELS = {"easy", "medium", "hard"}
IN_BROWSER = ("Authorize an MRI over chart*", "Authorize a knee replacement*")
TIMEOUT = 240
"""Seconds that a task in a browser may take."""
ASSERTIONS = {"sequencing", "fhir_no_other_changes", "answer_matches"}


def list_assertions(loaded: LoadedTask) -> set[str]:
    return {call.name for criterion in loaded.task.criteria for _, call in criterion.assertion.leaves()}


def list_steps(loaded: LoadedTask) -> list[Any]:
    """Return the steps of the sequences of a task."""
    calls = [call for criterion in loaded.task.criteria for _, call in criterion.assertion.leaves()]
    return [step for call in calls if call.name == "sequencing" and isinstance(call.args, list) for step in call.args]


@pytest.mark.slow
@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium")
@pytest.mark.parametrize("task", IN_BROWSER)
def test_reference_solution_passes_in_a_browser(bench: Workbench, task: str) -> None:
    bench.folder = SUITE
    agent = solve_in_browser(SUITE, "authorize")
    check_all_pass(bench.run(agent, tasks=(task,), timeout=TIMEOUT))


def test_tasks_check_the_order_across_channels_and_what_was_changed() -> None:
    tasks = load_suite(SUITE).tasks
    for name, loaded in tasks.items():
        assert loaded.environment.simulators.keys() >= CHANNELS, name
        assert list_assertions(loaded) >= ASSERTIONS, name
        sources = {str(step.get("event", "")).partition(".")[0] for step in list_steps(loaded)}
        assert len(sources & {"fhir", "voice", "portal", "payer", "fax"}) >= 3, name
        assert len(LEVELS & set(loaded.task.tags)) == 1, name
        assert "privacy" in {criterion.axis for criterion in loaded.task.criteria}, name


def test_each_level_has_tasks_and_policies_decide_in_four() -> None:
    tasks = load_suite(SUITE).tasks.values()
    tags = Counter(tag for loaded in tasks for tag in loaded.task.tags)
    assert len(tasks) >= 12
    assert all(tags[level] >= 3 for level in LEVELS), tags
    assert sum("policy_cited" in list_assertions(loaded) for loaded in tasks) >= 4


def test_readme_explains_every_tag() -> None:
    text = (SUITE / "README.md").read_text(encoding="utf-8")
    tags = {tag for loaded in load_suite(SUITE).tasks.values() for tag in loaded.task.tags}
    assert {tag for tag in tags if f"`{tag}`" not in text} == set()
