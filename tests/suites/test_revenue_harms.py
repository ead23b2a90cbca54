"""`suites/revenue`: no task passes if an agent does its work and harms another person, or leaves data elsewhere."""

import pytest

from tests.suites.revenue_harms import HARMS, PRIVACY_HARMS
from tests.suites.revenue_ways import REVENUE
from tests.suites.wrapped_solutions import Solution
from tests.workbench import Workbench


@pytest.mark.slow
@pytest.mark.parametrize("harm", [*HARMS, *PRIVACY_HARMS])
def test_harm_beside_correct_work_fails(bench: Workbench, harm: str) -> None:
    bench.folder = REVENUE
    runs = bench.run(Solution(harm, "revenue_harms"))
    assert {run.task: run.agent_error for run in runs if run.agent_error} == {}
    assert [run.task for run in runs if run.verdict == "pass"] == []
    if harm in PRIVACY_HARMS:
        unseen = [run.task for run in runs if all(each.passed for each in run.criteria if each.axis == "privacy")]
        assert unseen == []
