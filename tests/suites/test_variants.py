"""Wrong solutions and other ways that the tasks of shipped suites have: those fail where they must, these pass."""

import pytest

from clerkship.service.attacking import AttackReport, AttackRequest, attack
from clerkship.settings import Settings
from tests.suites.suite_checks import load_suite
from tests.suites.test_shipped import ROOT, recording_options
from tests.workbench import CATALOG, get_dataset_cache

pytestmark = pytest.mark.long  # each test runs the tasks of a whole suite
MIN_WRONG = {
    "chart": 0,
    "conversations": 5,
    "fax": 5,
    "feeds": 0,
    "messages": 5,
    "phone": 5,
    "portal": 5,
    "prior-auth": 6,
    "revenue": 5,
}
"""How many wrong solutions each task of a suite has at least."""
MIN_WAYS = 5
"""How many other ways a task has at least in which the agent chooses words."""
WITHOUT_WORDS: dict[str, set[str]] = {
    "chart": {
        "Act on neither of two namesakes when the request fits both",
        "Average a week of glucose readings",
        "Find a patient by name and birth date",
        "Find a patient by the name she had before she married",
        "Find the coverage that is in force",
        "Find who is calling by their phone number",
        "Give the latest potassium of the past year",
        "Order no potassium if it is normal",
        "Order no second HbA1c where one is under way",
        "Retire the second record of one person",
        "Say so when there is no result in the window",
        "Say so when there is no such patient",
        "Wait until a preliminary result is final",
        "Work out a patient's age",
    },
    "messages": {
        "Ask the order safety service before orders are signed",
        "Decide about duplicate orders by their reason",
    },
    "revenue": {
        "Ask about a child who is covered under his mother's policy",
        "Ask the payer that took over from an inactive one",
        "Cancel an authorization that is no longer needed",
        "Check the coverage of tomorrow's patients in one batch",
        "Correct a coverage that has ended",
        "Find out which of two plans pays first",
        "Find out which orders need an authorization",
        "Follow up claim C008104",
        "Get the answer to a question whose reply was lost",
        "Leave two plans in the order that their payers confirm",
        "Send a refused transaction set again",
        "Send an interchange again that a TA1 refused",
        "Send an interchange to the right receiver",
    },
}
"""Tasks in which the agent writes only codes, and answers that the task prescribes."""
COSTLY = {"chart", "fax", "messages", "portal", "prior-auth"}
"""Suites of which `make test` runs no variants: together they take a minute of processor time."""
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
def test_each_task_with_free_words_has_other_ways(suite: str) -> None:
    tasks = load_suite(ROOT / "suites" / suite).tasks
    counts = {name.partition(" [")[0]: len(loaded.task.ways) for name, loaded in tasks.items()}
    assert {name for name, count in counts.items() if count < MIN_WAYS} == WITHOUT_WORDS.get(suite, set())


@pytest.mark.parametrize(
    "suite", [pytest.param(each, marks=pytest.mark.slow if each in COSTLY else ()) for each in MIN_WRONG]
)
def test_first_variants_of_each_task_have_the_right_verdict(suite: str) -> None:
    assert run_variants(suite, max_variants=1).problems() == []


@pytest.mark.slow
@suites
def test_all_variants_have_the_right_verdict(suite: str) -> None:
    assert run_variants(suite).problems() == []
