"""Wrong solutions and other ways that the tasks of shipped suites have: those fail where they must, these pass."""

from pathlib import Path
from typing import Any

import pytest

from clerkship.service.attacking import AttackReport, AttackRequest, attack
from clerkship.settings import Settings
from tests.suites.suite_checks import load_suite
from tests.suites.test_shipped import each_shipped_suite, recording_options
from tests.workbench import CATALOG, get_dataset_cache

pytestmark = pytest.mark.long  # each test runs the tasks of a whole suite
STRATEGIES = ("wrong", "ways")


def run_variants(path: Path, **options: Any) -> AttackReport:
    """Run the variants of tasks of a suite, after one run of the reference solutions."""
    request = AttackRequest(path=path, only=STRATEGIES, **options, **recording_options(path))
    report = attack(request, Settings(cache=get_dataset_cache()), CATALOG)
    assert [outcome.strategy.name for outcome in report.outcomes] == list(STRATEGIES)
    for outcome in report.outcomes:
        assert outcome.attacked
        assert set(outcome.not_attacked.values()) <= {f"the task has no `{outcome.strategy.name}`"}
    return report


@each_shipped_suite
def test_first_variants_of_a_task_have_the_right_verdict(suite: Path) -> None:
    tasks = [name for name, each in load_suite(suite).tasks.items() if each.task.wrong and each.task.ways]
    assert run_variants(suite, tasks=(min(tasks),), max_variants=1).problems() == []


@pytest.mark.slow
@each_shipped_suite
def test_all_variants_have_the_right_verdict(suite: Path) -> None:
    assert run_variants(suite).problems() == []
