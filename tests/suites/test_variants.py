"""Wrong solutions and other ways that the tasks of shipped suites have: those fail where they must, these pass."""

import pytest

from clerkship.service.attacking import AttackReport, AttackRequest, attack
from clerkship.settings import Settings
from tests.suites.test_shipped import ROOT, SUITES, recording_options
from tests.workbench import CATALOG, get_dataset_cache

pytestmark = pytest.mark.long  # each test runs the tasks of a whole suite
COSTLY = {"chart", "fax", "messages", "portal", "prior-auth"}
"""Suites of which `make test` runs no variants: together they take a minute of processor time."""
STRATEGIES = ("wrong", "ways")
NAMES = [path.name for path in SUITES[2:]]


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


@pytest.mark.parametrize(
    "suite", [pytest.param(each, marks=pytest.mark.slow if each in COSTLY else ()) for each in NAMES]
)
def test_first_variants_of_each_task_have_the_right_verdict(suite: str) -> None:
    assert run_variants(suite, max_variants=1).problems() == []


@pytest.mark.slow
@pytest.mark.parametrize("suite", NAMES)
def test_all_variants_have_the_right_verdict(suite: str) -> None:
    assert run_variants(suite).problems() == []
