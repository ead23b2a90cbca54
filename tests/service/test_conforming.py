"""Results of the conformance suite for a simulator with a bug."""

from collections.abc import Mapping
from typing import Any

from clerkship.checks.conformance import DOMAIN_CHECKS
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.service.conforming import ConformanceOutcome, run_conformance
from clerkship.simulators.registry import KindEntry
from tests.playground.tickets import TicketsState, tickets


class FilesWithBug(TicketsState):
    """A state with a bug in one operation."""

    def close(self, action: Any, id: str) -> None:
        empty: Mapping[str, str] = {}
        empty[id]


def run_checks() -> dict[str, ConformanceOutcome]:
    catalog = RegisteredCatalog(kinds=[KindEntry.from_spec(tickets(state=FilesWithBug))])
    return {outcome.check: outcome for outcome in run_conformance("tickets", catalog)}


def test_error_is_reported_with_its_line_in_the_simulator() -> None:
    line = FilesWithBug.close.__code__.co_firstlineno + 2
    found = run_checks()
    assert found["same_seed_gives_the_same_log"].reason == (
        f"it raised SimulatorBroken: box: POST /tickets/1/close: KeyError: '1' (service/test_conforming.py:{line})"
    )
    assert found["every_operation_is_a_tool"].reason == ""


def test_sentence_of_a_check_is_the_first_line_of_its_docstring() -> None:
    sentences = [outcome.sentence for outcome in run_checks().values()]
    assert [text for text in sentences if "\n" in text or not text.endswith(".")] == []
    assert all((check.__doc__ or "").partition("\n")[0].endswith(".") for check in DOMAIN_CHECKS)
