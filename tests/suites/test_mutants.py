"""The criteria of the shipped suites catch mutants of their reference solutions."""

from pathlib import Path

import pytest

from clerkship.service.mutating import MutateRequest, mutate
from clerkship.settings import Settings
from tests.suites.test_shipped import ROOT
from tests.workbench import CATALOG

MIN_RATES = {
    "chart": 0.99,
    "conversations": 0.98,
    "equipment": 0.95,  # its README says which ones survive
    "fax": 0.98,
    "feeds": 0.98,
    "messages": 0.98,
    "phone": 0.98,
    "portal": 0.98,
    "prior-auth": 0.98,
    "revenue": 0.98,
}
"""The rate of caught mutants. A rate is only raised."""


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("suite", sorted((ROOT / "suites").glob("*/")), ids=lambda path: path.name)
def test_criteria_of_a_shipped_suite_catch_mutants(suite: Path) -> None:
    report = mutate(MutateRequest(path=suite, min_rate=MIN_RATES[suite.name]), Settings(timeout=60), CATALOG)
    assert [result for result in report.results if result.outcome == "broken"] == []
    assert report.not_mutated == {}
    assert report.exit_code() == 0, f"{report.rate():.3f}"
