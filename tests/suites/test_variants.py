"""Wrong solutions and other ways that the tasks of shipped suites have: those fail where they must, these pass."""

import pytest

from clerkship.service.attacking import AttackReport, AttackRequest, attack
from clerkship.settings import Settings
from tests.suites.suite_checks import load_suite
from tests.suites.test_shipped import ROOT, recording_options
from tests.workbench import CATALOG, get_dataset_cache

pytestmark = pytest.mark.long  # each test runs the tasks of a whole suite
MIN_WRONG = {"chart": 0, "conversations": 5, "fax": 5, "feeds": 0, "messages": 5, "phone": 5, "revenue": 5}
"""How many wrong solutions each task of a suite has at least."""
STRATEGIES = ("wrong", "ways")
suites = pytest.mark.parametrize("suite", MIN_WRONG, scope="module")
"""Runs a test for each suite. All tests of one suite follow each other, so that it is loaded once."""


def run_variants(suite: str, max_variants: int | None = None) -> AttackReport:
    """Run the variants of all tasks of a suite, after one run of the reference solutions."""
    path = ROOT / "suites" / suite
    request = AttackRequest(path=path, only=STRATEGIES, max_variants=max_variants, **recording_options(path))
    report = attack(request, Settings(cache=get_dataset_cache()), CATALOG)
    assert [outcome.strategy.name for outcome in report.outcomes] == list(STRATEGIES)
    for outcome in report.outcomes:
        assert outcome.attacked
        assert set(outcome.not_attacked.values()) <= {f"the task has no `{outcome.strategy.name}`"}
    return report


@suites
def test_each_task_has_wrong_solutions(suite: str) -> None:
    counts = {name: len(loaded.task.wrong) for name, loaded in load_suite(ROOT / "suites" / suite).tasks.items()}
    assert counts
    assert {name: count for name, count in counts.items() if count < MIN_WRONG[suite]} == {}


@suites
def test_first_variants_of_each_task_have_the_right_verdict(suite: str) -> None:
    assert run_variants(suite, max_variants=1).problems() == []


@pytest.mark.slow
@suites
def test_all_variants_have_the_right_verdict(suite: str) -> None:
    assert run_variants(suite).problems() == []
