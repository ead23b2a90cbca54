"""`voice_case`: cases that were opened, and where their numbers are."""

from typing import Any

import pytest
from pydantic import ValidationError

from clerkship.sandbox.assertion import Check
from clerkship.simulators.fhir.events import ResourceCreated
from clerkship.simulators.voice.assertions.voice_case import VoiceCaseOpened
from clerkship.simulators.voice.events import CaseOpened
from tests.simulators.voice.call_log_builder import PAYER, PHARMACY, CallLogBuilder

NUMBER = "40718236"
RECORDED = {"type": "Communication", "path": "payload.*.contentString"}


def open_case(log: CallLogBuilder, *, subject: str = "Review of a denial", number: str = PAYER) -> None:
    """Add a call in which a case is opened."""
    call = log.start(number)
    opened = CaseOpened(call=call, reference=NUMBER, subject=subject, member_id="HL286923565")
    log.add_event(opened, source="phone", actor="system", at=log.now)
    log.end(call)


def write_communication(log: CallLogBuilder, text: str, actor: str = "agent") -> None:
    """Add a Communication with a text."""
    resource = {"resourceType": "Communication", "id": "c1", "payload": [{"contentString": text}]}
    written = ResourceCreated(type="Communication", id="c1", version="1", resource=resource)
    log.add_event(written, source="ehr", actor=actor, at=log.now)


def check(log: CallLogBuilder, given: Any = None, /, **fields: Any) -> Check:
    """Check a criterion on a log."""
    evidence = log.evidence(answer=given, answered=given is not None)
    return VoiceCaseOpened.model_validate(fields).check(evidence)


def test_case_is_found_by_subject_member_and_number_of_the_line() -> None:
    log = CallLogBuilder()
    open_case(log)
    assert check(log, number=PAYER, subject={"contains": "Review"}, member_id="HL286923565").passed
    assert not check(log, number=PHARMACY).passed
    assert not check(log, subject={"contains": "Withdrawal"}).passed


@pytest.mark.parametrize(
    "answer", [{"case": NUMBER}, {"case": int(NUMBER)}, {"case": "4071-8236"}, '{"case": "40718236"}']
)
def test_number_in_the_answer_counts_in_any_notation(answer: Any) -> None:
    log = CallLogBuilder()
    open_case(log)
    assert check(log, answer, answer="case").passed


@pytest.mark.parametrize("answer", [None, {}, {"case": "40718237"}, {"case": "140718236"}, "40718236 is the case"])
def test_other_number_in_the_answer_fails_with_both_numbers(answer: Any) -> None:
    log = CallLogBuilder()
    open_case(log)
    result = check(log, answer, answer="case")
    assert not result.passed
    assert NUMBER in result.detail


@pytest.mark.parametrize("text", ["Case number 40718236.", "Reference: 4071 8236"])
def test_number_that_the_agent_wrote_into_the_chart_counts(text: str) -> None:
    log = CallLogBuilder()
    open_case(log)
    write_communication(log, text)
    assert check(log, recorded=RECORDED).passed


def test_number_in_the_chart_must_be_that_of_the_case_written_by_the_agent_after_it() -> None:
    early = CallLogBuilder()
    write_communication(early, f"Case {NUMBER}")
    open_case(early)
    assert not check(early, recorded=RECORDED).passed
    for text, actor in ((f"Case 1{NUMBER}", "agent"), ("Case 40718237", "agent"), (f"Case {NUMBER}", "scenario")):
        log = CallLogBuilder()
        open_case(log)
        write_communication(log, text, actor)
        assert not check(log, recorded=RECORDED).passed


def test_cases_are_counted_and_forbidden() -> None:
    log = CallLogBuilder()
    assert check(log, none=True).passed
    assert not check(log).passed
    open_case(log)
    open_case(log, subject="Withdrawal of a request")
    assert check(log, count=2).passed
    assert check(log, subject={"contains": "Review"}, count=1).passed
    result = check(log, subject={"contains": "Withdrawal"}, none=True)
    assert not result.passed
    assert "Withdrawal of a request" in result.detail


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"none": True, "count": 1}, "do not go together"),
        ({"none": True, "answer": "case"}, "do not go with `count` or `none`"),
        ({"count": 1, "recorded": RECORDED}, "do not go with `count` or `none`"),
    ],
)
def test_impossible_options_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        VoiceCaseOpened.model_validate(fields)


def test_only_a_forbidden_case_passes_on_inaction() -> None:
    assert VoiceCaseOpened.model_validate({"none": True}).passes_on_inaction
    assert not VoiceCaseOpened.model_validate({"subject": "x"}).passes_on_inaction
