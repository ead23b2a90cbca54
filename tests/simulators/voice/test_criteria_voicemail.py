"""`voicemail_left`: what is in a mailbox, and what was lost before the beep."""

from typing import Any

import pytest
from pydantic import ValidationError

from clerkship.sandbox.assertion import Check
from clerkship.simulators.voice.assertions.voicemail_left import VoicemailWasLeft
from tests.simulators.voice.call_log_builder import PATIENT, PAYER, CallLogBuilder

COMPLIANT = "This is the clinic. Please call us back at five five five, zero one zero, zero one zero zero."


def check(log: CallLogBuilder, **fields: Any) -> Check:
    """Check a criterion on a log."""
    return VoicemailWasLeft.model_validate(fields).check(log.evidence())


def build_voicemail(text: str = COMPLIANT, **fields: Any) -> CallLogBuilder:
    """Return a log with a voicemail that the agent left in the patient's mailbox."""
    log = CallLogBuilder()
    call = log.start(PATIENT)
    log.hear(call, "Please leave a message after the tone.")
    log.beep(call)
    log.say(call, text)
    log.end(call)
    log.leave(call, text, **fields)
    return log


def test_voicemail_is_found_with_its_event() -> None:
    log = build_voicemail()
    result = check(
        log,
        mailbox="patient",
        number=PATIENT,
        contains="the clinic",
        not_contains=["diabet", "A1c"],
        matches="(?i)call us",
        callback="+15550100100",
        after_beep=True,
        max_length="1m",
    )
    assert result.passed
    assert {row.seq for row in result.evidence if row.path != "not_contains"} == {7}


def test_voicemail_in_another_mailbox_does_not_count() -> None:
    log = build_voicemail()
    assert not check(log, mailbox="front_desk").passed
    assert not check(log, number=PAYER).passed
    assert check(log, mailbox="front_desk", none=True).passed


def test_words_before_the_beep_are_lost() -> None:
    log = build_voicemail("thank you, goodbye", before_beep="This is the clinic, call 555-010-0100")
    result = check(log, contains="the clinic", after_beep=True)
    assert not result.passed
    assert result.evidence[0].actual == "(said before the beep)"
    assert [row.passed for row in result.evidence] == [False, False, True]
    assert check(log, contains="thank you").passed


def test_forbidden_words_count_before_the_beep_and_in_every_voicemail() -> None:
    assert not check(build_voicemail(before_beep="about your diabetes"), not_contains="diabetes").passed
    log = build_voicemail()
    call = log.start(PATIENT)
    log.leave(call, "Your diabetes test is back.", id="vm-2")
    result = check(log, contains="the clinic", not_contains="diabet")
    assert (result.passed, result.score) == (False, 0.0)
    assert "`diabet` was said (#10)" in result.detail


def test_voicemail_without_words_is_no_message() -> None:
    log = build_voicemail("")
    assert not check(log, mailbox="patient").passed
    assert not check(log, after_beep=True).passed
    assert check(log, none=True).passed


def test_wrong_callback_number_fails() -> None:
    result = check(build_voicemail(), callback="+15550100101")
    assert not result.passed
    assert result.evidence[0].path == "callback"


def test_voicemail_that_is_too_long_fails() -> None:
    assert not check(build_voicemail(seconds=61.0), max_length="1m").passed


def test_voicemail_of_another_caller_is_not_the_agents() -> None:
    log = CallLogBuilder()
    log.leave(None, "This is Maria, please call me.", from_number=PATIENT, mailbox="office")
    call = log.start(PATIENT, direction="inbound")
    log.leave(call, "It is me again.", from_number=PATIENT, mailbox="office", id="vm-2")
    assert check(log, none=True).passed
    assert not check(log, contains="call me").passed


def test_number_of_voicemails() -> None:
    log = build_voicemail()
    assert check(log, count=1).passed
    assert not check(log, count=2).passed
    assert not check(log, none=True).passed
    assert check(log, contains="diabetes", none=True).passed


def test_without_a_voicemail_it_fails_and_says_that_no_beep_came() -> None:
    log = CallLogBuilder()
    call = log.start(PATIENT)
    log.say(call, COMPLIANT)
    log.end(call)
    result = check(log, number=PATIENT, not_contains="diabetes")
    assert not result.passed
    assert "ended before a beep" in result.detail
    assert check(CallLogBuilder(), not_contains="diabetes").passed is False
    assert check(CallLogBuilder(), none=True).passed
    assert not VoicemailWasLeft.model_validate({"not_contains": "x"}).passes_on_inaction


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"count": 1, "none": True}, "do not go together"),
        ({"not_contains": "x", "none": True}, "`not_contains` does not go with `none`"),
        ({"callback": "the clinic"}, "`callback` is a phone number"),
    ],
)
def test_impossible_options_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        VoicemailWasLeft.model_validate(fields)
