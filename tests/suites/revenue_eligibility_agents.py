"""Agents for the eligibility tasks of `suites/revenue`: wrong solutions, and correct ones that differ from ours."""

from functools import partial
from typing import Any

from tests.suites import overridden_solutions
from tests.suites.overridden_solutions import Agent, Verb, do_nothing
from tests.suites.revenue_ways import REVENUE, Mistake

load_solution = partial(overridden_solutions.load_solution, REVENUE)
override_solution = partial(overridden_solutions.override_solution, REVENUE)

COPAY = "Find out the copay*"


def ask_about_today(send: Verb, edi: str) -> Any:
    """Ask about the day of the question instead of the day of the visit."""
    return send(edi.replace("DTP*291*D8*20260303", "DTP*291*D8*20260302"))


WRONG: list[Mistake] = [
    Mistake(
        COPAY,
        "copay asked for the wrong day",
        override_solution("copay_before_the_visit", clearing_send=ask_about_today),
        "The payer was asked about the right person and the day of the visit",
    ),
    Mistake(
        COPAY,
        "copay not written",
        override_solution("copay_before_the_visit", ehr_update=do_nothing),
        "The appointment states the copay",
    ),
]
RIGHT: dict[str, tuple[str, Agent]] = {}
