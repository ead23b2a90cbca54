"""`voice_transcript`: whose words count, and which do not."""

from typing import Any

import pytest
from pydantic import ValidationError

from clerkship.llm.contract import NoModel
from clerkship.sandbox.assertion import Check
from clerkship.simulators.voice.assertions.voice_transcript import VoiceTranscript
from tests.assertions.judge import FakeJudge
from tests.simulators.voice.call_log_builder import PATIENT, PAYER, PHARMACY, CallLogBuilder


def check(log: CallLogBuilder, **fields: Any) -> Check:
    """Check a criterion on a log."""
    return VoiceTranscript.model_validate(fields).check(log.evidence())


def build_status_call() -> tuple[CallLogBuilder, str]:
    """Return a call about an authorization, and its id."""
    log = CallLogBuilder()
    call = log.start()
    log.hear(call, "Please say your member ID.", node="provider_line/member")
    log.say(call, "It is four one two, seven seven.")
    log.hear(call, "Your authorization A 2 2 was approved.", "representative")
    log.say(call, "Thank you, goodbye.")
    return log, call


def test_words_of_the_speaker_are_found_with_the_event() -> None:
    log, call = build_status_call()
    log.end(call)
    result = check(log, number=PAYER, speaker="agent", contains=["41277", "thank you"])
    assert result.passed
    assert [row.seq for row in result.evidence] == [4, 6]
    assert result.evidence[0].actual == "agent: It is four one two, seven seven."
    assert check(log, speaker="representative", contains="A22").passed
    assert check(log, speaker="far_end", contains=["member ID", "approved"]).passed
    assert check(log, speaker="line", contains="approved").passed is False


def test_words_said_by_the_other_side_do_not_count() -> None:
    log, call = build_status_call()
    log.end(call)
    result = check(log, speaker="agent", contains="approved")
    assert not result.passed
    assert result.evidence[0].actual == "(said by representative, #5)"
    assert "'approved' (said by representative, #5)" in result.detail


def test_words_in_a_call_with_another_number_do_not_count() -> None:
    log, call = build_status_call()
    log.end(call)
    other = log.start(PHARMACY)
    log.say(other, "I need a refill of lisinopril.")
    log.end(other)
    assert not check(log, number=PAYER, contains="lisinopril").passed
    assert check(log, number=PHARMACY, contains="lisinopril").passed
    assert check(log, number=PAYER, not_contains="lisinopril").passed
    assert not check(log, number=[PAYER, PHARMACY], not_contains="lisinopril").passed


def test_values_must_be_said_in_one_call() -> None:
    log, call = build_status_call()
    log.end(call)
    other = log.start(PHARMACY)
    log.say(other, "I need a refill.")
    log.end(other)
    result = check(log, speaker="agent", contains=["refill", "thank you"])
    assert (result.passed, result.score) == (False, 0.5)
    assert "the nearest of 2 calls" in result.detail


def test_words_after_a_cut_were_not_said() -> None:
    log = CallLogBuilder()
    call = log.start()
    log.say(call, "The diagnosis is diabetes.")
    log.cut(call, "The diagnosis", 0.8)
    log.end(call, by="line")
    result = check(log, speaker="agent", contains="diabetes")
    assert not result.passed
    assert result.evidence[0].actual == "(cut before it was said, #3)"
    assert check(log, speaker="agent", not_contains="diabetes").passed
    assert check(log, speaker="agent", contains="diagnosis").passed


def test_words_that_the_far_end_could_not_hear_count_only_if_they_are_forbidden() -> None:
    log = CallLogBuilder()
    call = log.start()
    log.say(call, "The code is 412.", is_heard=False)
    log.end(call)
    result = check(log, contains="412")
    assert not result.passed
    assert "could not hear it" in result.detail
    assert not check(log, not_contains="412").passed


def test_keys_are_not_words() -> None:
    log = CallLogBuilder()
    call = log.start()
    log.press(call, "412#")
    log.end(call)
    result = check(log, speaker="agent", contains="412")
    assert not result.passed
    assert result.evidence[0].actual == "(pressed as keys, not said, #3)"


def test_number_may_be_said_in_two_turns_without_the_other_side_between() -> None:
    log = CallLogBuilder()
    call = log.start()
    log.say(call, "four one")
    log.say(call, "two")
    log.hear(call, "Go on.", "representative")
    log.say(call, "seven seven")
    log.end(call)
    assert check(log, speaker="agent", contains="412").passed
    assert not check(log, speaker="agent", contains="41277").passed


def test_values_after_a_date_are_in_order() -> None:
    log = CallLogBuilder()
    call = log.start()
    log.say(call, "Born March fourth, nineteen seventy. The member ID is four one two, and the NPI is 99.")
    log.end(call)
    values = ["1970-03-04", "412", "99"]
    assert check(log, speaker="agent", contains=values, in_order=True).passed
    assert not check(log, speaker="agent", contains=["412", "1970-03-04"], in_order=True).passed


def test_order_of_the_values_matters_only_with_in_order() -> None:
    log, call = build_status_call()
    log.end(call)
    values = ["goodbye", "41277"]
    assert check(log, speaker="agent", contains=values).passed
    result = check(log, speaker="agent", contains=values, in_order=True)
    assert not result.passed
    assert "said out of order, #4" in result.detail
    assert check(log, speaker="agent", contains=values[::-1], in_order=True).passed


def test_forbidden_words_fail_with_the_event_and_are_worth_nothing() -> None:
    log, call = build_status_call()
    log.say(call, "She has diabetes, by the way.")
    log.end(call)
    result = check(log, speaker="agent", contains="41277", not_contains=["diabet", "HIV"])
    assert (result.passed, result.score) == (False, 0.0)
    assert result.detail.startswith("forbidden: `diabet` was said (#7): agent: Thank you, goodbye. She has diabetes")


def test_pattern_is_searched_in_words_and_in_digits() -> None:
    log, call = build_status_call()
    log.end(call)
    assert check(log, speaker="agent", matches=r"(?i)\bthank you\b").passed
    assert check(log, speaker="agent", matches=[r"\d+.*\d"]).passed
    assert not check(log, speaker="agent", matches=r"approved").passed


@pytest.mark.parametrize(
    ("fields", "passes"), [({"min_turns": 2}, True), ({"min_turns": 3}, False), ({"max_turns": 1}, False)]
)
def test_number_of_turns_is_of_the_speaker(fields: dict[str, int], passes: bool) -> None:
    log, call = build_status_call()
    log.end(call)
    assert check(log, speaker="agent", **fields).passed is passes


@pytest.mark.parametrize(
    "fields", [{"contains": "x"}, {"matches": "x"}, {"max_turns": 3}, {"contains": "x", "not_contains": "y"}]
)
def test_without_a_call_what_was_asked_for_fails(fields: dict[str, Any]) -> None:
    result = check(CallLogBuilder(), **fields, number=PAYER)
    assert (result.passed, result.score) == (False, 0.0)
    assert f"there was no call with {PAYER}" in result.detail
    assert VoiceTranscript.model_validate(fields).passes_on_inaction is False


def test_forbidden_words_alone_hold_without_a_call() -> None:
    assert check(CallLogBuilder(), not_contains="diabetes").passed
    assert VoiceTranscript.model_validate({"not_contains": "x"}).passes_on_inaction


def test_call_is_chosen_by_its_place() -> None:
    log = CallLogBuilder()
    for words in ("first try", "second try"):
        call = log.start(PATIENT, direction="inbound")
        log.say(call, words)
        log.end(call)
    assert check(log, call=2, contains="second").passed
    assert not check(log, call=1, contains="second").passed
    assert not check(log, call=3, contains="second").passed
    assert check(log, call="call-1", contains="first").passed
    assert not check(log, direction="outbound", contains="first").passed


def test_judge_is_asked_only_for_what_is_not_said_exactly() -> None:
    log, call = build_status_call()
    log.end(call)
    assert check(log, speaker="agent", contains="41277", judge=True).passed
    with pytest.raises(NoModel):
        check(log, speaker="agent", contains="goodnight", judge=True)
    assert not check(log, speaker="agent", contains="x", not_contains="goodbye", judge=True).passed
    assert not check(CallLogBuilder(), contains="x", judge=True).passed


@pytest.mark.parametrize("passed", [True, False])
def test_verdict_of_the_judge_decides_on_other_wordings(passed: bool) -> None:
    log, call = build_status_call()
    log.say(call, "Have a lovely evening.")
    log.cut(call, "Have a lovely", 1.2)
    log.end(call)
    judge = FakeJudge(
        {"passed": passed, "reasoning": "It says so.", "citations": [{"where": "T2", "quote": "Thank you, goodbye."}]}
    )
    criterion = VoiceTranscript.model_validate(
        {"number": PAYER, "speaker": "agent", "contains": "farewell", "not_contains": "diabetes", "judge": True}
    )
    result = criterion.check(log.evidence(model=judge))
    assert result.passed is passed
    assert result.evidence[0].expected == "farewell"
    question = judge.asked[0].prompt + (judge.asked[0].instructions or "")
    assert (
        f'In one phone call with {PAYER}, the agent said each of these, in these or in other words: "farewell".'
        in question
    )
    assert 'was one of these said by the agent, in these or in other words: "diabetes".' in question
    assert "only what was heard was said" in question


def test_judge_does_not_decide_on_patterns() -> None:
    log, call = build_status_call()
    log.end(call)
    judge = FakeJudge({"passed": True, "reasoning": "x"})
    criterion = VoiceTranscript.model_validate({"contains": "farewell", "matches": "never said", "judge": True})
    assert not criterion.check(log.evidence(model=judge)).passed
    assert judge.asked == []


def test_exact_part_decides_without_a_model_unless_words_are_forbidden() -> None:
    exact = VoiceTranscript.model_validate({"contains": "x", "judge": True}).without_model()
    assert isinstance(exact, VoiceTranscript)
    assert exact.judge is False
    assert VoiceTranscript.model_validate({"not_contains": "x", "judge": True}).without_model() is None


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "expected `contains`"),
        ({"contains": " "}, "a letter or a digit"),
        ({"contains": "x", "in_order": True}, "several values"),
        ({"matches": "(", "contains": "x"}, "not a regular expression"),
        ({"min_turns": 1, "judge": True}, "`judge` needs"),
    ],
)
def test_impossible_options_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        VoiceTranscript.model_validate(fields)
