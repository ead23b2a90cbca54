"""`voice_call`: which calls count, how they ended and how long they took."""

from typing import Any

import pytest
from pydantic import ValidationError

from clerkship.sandbox.assertion import Check
from clerkship.simulators.voice.assertions.voice_call import VoiceCallHappened
from tests.simulators.voice.call_log_builder import PATIENT, PAYER, PHARMACY, CallLogBuilder


def check(log: CallLogBuilder, **fields: Any) -> Check:
    """Check a criterion on a log."""
    return VoiceCallHappened.model_validate(fields).check(log.evidence())


def build_held_call(hold: float = 300) -> CallLogBuilder:
    """Return a call with a time on hold, a transfer and a response after two seconds."""
    log = CallLogBuilder()
    call = log.start()
    log.hear(call, "Please hold.")
    log.hold(call, hold)
    log.transfer(call, f"{PAYER}/agent_ana")
    log.hear(call, "This is Ana.", "representative")
    log.wait(2)
    log.say(call, "Hello Ana.")
    log.end(call)
    return log


@pytest.mark.parametrize(
    ("fields", "passes"),
    [
        ({"number": PAYER, "direction": "outbound", "outcome": "completed", "ended_by": "agent"}, True),
        ({"number": "(555) 010-0300"}, True),
        ({"number": 15550100300}, True),
        ({"number": {"in": ["555-010-0300", PHARMACY]}}, True),
        ({"number": {"not": "555-010-0300"}}, False),
        ({"number": PHARMACY}, False),
        ({"direction": "inbound"}, False),
        ({"outcome": {"in": ["busy", "abandoned"]}}, False),
        ({"ended_by": "line"}, False),
        ({"min_hold": "5m", "max_hold": "5m"}, True),
        ({"max_hold": "4m59s"}, False),
        ({"min_duration": "5m"}, True),
        ({"max_duration": "5m"}, False),
        ({"transfers": 1, "transferred_to": "agent_ana"}, True),
        ({"transferred_to": PHARMACY}, False),
        ({"transfers": 0}, False),
        ({"max_reprompts": 0}, True),
        ({"max_response_time": 2}, True),
        ({"max_response_time": 1.5}, False),
    ],
)
def test_properties_of_a_call(fields: dict[str, Any], passes: bool) -> None:
    assert check(build_held_call(), **fields).passed is passes


def test_failure_names_the_nearest_call_and_the_difference() -> None:
    result = check(build_held_call(), number=PAYER, outcome="abandoned", max_hold="10m")
    assert not result.passed
    assert "outcome is 'completed', expected 'abandoned'" in result.detail
    assert result.evidence[0].seq == 1
    short = check(build_held_call(), max_hold="4m")
    assert "hold in seconds is 300.0, expected at most 240.0" in short.detail


def test_conditions_must_hold_for_one_call_and_with_each_for_every_call() -> None:
    log = build_held_call()
    busy = log.ring()
    log.end(busy, by="line", outcome="busy")
    assert check(log, number=PAYER, outcome="completed").passed
    assert not check(log, number=PAYER, outcome="busy", min_duration="1s").passed
    result = check(log, number=PAYER, outcome="completed", each=True)
    assert (result.passed, result.score) == (False, 0.5)
    assert "1 of 2 as expected" in result.detail
    assert check(log, number=PAYER, outcome={"in": ["completed", "busy"]}, each=True).passed


def test_calls_are_counted_with_their_properties() -> None:
    log = build_held_call()
    busy = log.ring()
    log.end(busy, by="line", outcome="busy")
    assert check(log, number=PAYER, count=2).passed
    assert check(log, number=PAYER, outcome="busy", count=1).passed
    assert check(log, number=PAYER, outcome="busy", count={"gte": 2}).passed is False
    assert check(log, number=PHARMACY, none=True).passed
    result = check(log, number=PAYER, none=True)
    assert not result.passed
    assert result.evidence[0].seq == 1


def test_transferred_call_counts_for_the_number_that_it_came_to() -> None:
    log = CallLogBuilder()
    call = log.start(PAYER)
    log.transfer(call, PHARMACY)
    log.end(call)
    assert check(log, number=PHARMACY, transferred_to="+1 555 010 0400").passed


def test_open_call_has_no_outcome() -> None:
    log = CallLogBuilder()
    log.start()
    assert check(log, number=PAYER).passed
    assert not check(log, outcome="completed").passed
    assert not check(log, ended_by={"in": ["agent", "line"]}).passed


def test_agent_that_never_responds_is_not_fast() -> None:
    log = CallLogBuilder()
    call = log.start(PATIENT, direction="inbound")
    log.hear(call, "Hello?", "person")
    log.wait(60)
    log.end(call, by="person")
    assert not check(log, direction="inbound", max_response_time=5).passed


def test_rejected_entries_are_counted() -> None:
    log = CallLogBuilder()
    call = log.start()
    log.reject(call)
    log.reject(call)
    log.end(call)
    assert check(log, max_reprompts=2).passed
    assert not check(log, max_reprompts=1).passed


def test_without_a_call_only_counts_of_zero_pass() -> None:
    log = CallLogBuilder()
    assert check(log, number=PAYER).passed is False
    assert check(log, max_hold="1h").passed is False
    assert check(log, outcome="completed", each=True).passed is False
    assert check(log, count={"gte": 1}).passed is False
    assert check(log, count=0).passed
    assert check(log, none=True).passed
    assert VoiceCallHappened.model_validate({"count": 0}).passes_on_inaction
    assert not VoiceCallHappened.model_validate({"number": PAYER}).passes_on_inaction


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"count": 1, "none": True}, "do not go together"),
        ({"each": True, "count": 1, "outcome": "busy"}, "`each` does not go"),
        ({"each": True}, "`each` needs a property"),
        ({"min_hold": "5m", "max_hold": "4m"}, "no call can have both"),
    ],
)
def test_impossible_options_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        VoiceCallHappened.model_validate(fields)
