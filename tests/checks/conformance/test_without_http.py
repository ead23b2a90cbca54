"""A simulator with only a line protocol passes the conformance suite."""

from dataclasses import replace

import pytest

from clerkship.checks.conformance import CHECKS
from clerkship.checks.conformance.checks import Check, every_operation_is_exercised, the_exercise_is_accepted
from clerkship.checks.conformance.rig import NotConforming
from clerkship.simulators.registry import check_spec
from tests.checks.conformance.pager import SPEC, parse_line


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_simulator_without_http_conforms(check: Check) -> None:
    check_spec(SPEC)
    check(SPEC)


def test_an_exercise_of_calls_must_be_complete_and_accepted() -> None:
    with pytest.raises(NotConforming, match="leaves out list_pages"):
        every_operation_is_exercised(replace(SPEC, exercise=(parse_line("page 1 x"),)))
    with pytest.raises(NotConforming, match="all 1 requests of its exercise were refused"):
        the_exercise_is_accepted(replace(SPEC, exercise=(parse_line("page x"),)))
