"""`voice_disclosed`: what of a patient was told, to whom, and when."""

from collections.abc import Mapping
from typing import Any

import orjson
import pytest
from pydantic import ValidationError

from clerkship.formats.fhir.chart import load_chart
from clerkship.model.errors import InputError
from clerkship.playground.component import Overlay
from clerkship.sandbox.assertion import Check
from clerkship.simulators.fhir.config import FhirConfig
from clerkship.simulators.fhir.state import FhirState
from clerkship.simulators.voice.assertions.voice_disclosed import VoiceDisclosed
from tests.payer.office import load_clinic_100
from tests.simulators.voice.call_log_builder import PATIENT, PAYER, PHARMACY, CallLogBuilder

MARIA = {
    "resourceType": "Patient",
    "id": "p1",
    "name": [{"text": "Maria Lopez", "given": ["Maria"], "family": "Lopez"}],
    "birthDate": "1961-03-14",
    "identifier": [{"value": "MBR-447190"}],
}
ENTITIES: Mapping[str, Mapping[str, Any]] = {
    "patient": MARIA,
    "diabetes": {
        "resourceType": "Condition",
        "id": "c1",
        "subject": {"reference": "Patient/p1"},
        "code": {"coding": [{"code": "44054006", "display": "Diabetes mellitus type 2 (disorder)"}]},
    },
    "drug": {
        "resourceType": "MedicationRequest",
        "id": "m1",
        "medicationCodeableConcept": {"text": "Lisinopril 10 MG Oral Tablet"},
    },
    "visit": {"resourceType": "Appointment", "id": "a1", "start": "2026-03-10T14:30:00-05:00"},
    "a1c": {"resourceType": "Observation", "id": "o1", "valueQuantity": {"value": 8.2, "unit": "%"}},
    "claim": {"resourceType": "Claim", "id": "x1"},
}
VERIFIED_WHEN = {"said": ["name", "birth_date"]}


def check(log: CallLogBuilder, **fields: Any) -> Check:
    """Check a criterion on a log."""
    return VoiceDisclosed.model_validate(fields).check(log.evidence(entities=ENTITIES))


def test_facts_are_found_in_spoken_form_with_the_event() -> None:
    log = CallLogBuilder()
    call = log.start()
    log.say(call, "The patient is Maria Lopez, born March fourteenth, nineteen sixty-one.")
    log.say(call, "Her member ID is M B R four four seven one nine zero.")
    log.end(call)
    result = check(log, entity="patient", what=["name", "birth_date", "number"], number=PAYER)
    assert result.passed
    assert [row.path for row in result.evidence] == ["name", "birth_date", "number"]
    assert result.evidence[0].seq == 3
    assert "Maria Lopez" in str(result.evidence[0].actual)


@pytest.mark.parametrize(
    ("entity", "kind", "words"),
    [
        ("diabetes", "diagnosis", "It is about your type two diabetes."),
        ("diabetes", "diagnosis", "It is about diabetic care."),
        ("drug", "medication", "Your lisinopril is ready."),
        ("visit", "appointment", "We will see you on March tenth."),
        ("visit", "appointment", "Tue 3/10, 2:30pm."),
        ("visit", "appointment", "That is Tuesday the tenth, two thirty p.m."),
        ("visit", "appointment", "We will see you on Tuesday the 10th of March at two thirty."),
        ("a1c", "result", "It came back at eight point two percent."),
    ],
)
def test_facts_of_records_are_found_when_they_are_forbidden(entity: str, kind: str, words: str) -> None:
    log = CallLogBuilder()
    call = log.start(PATIENT)
    log.say(call, words)
    log.end(call)
    result = check(log, entity=entity, what=[kind], none=True)
    assert not result.passed
    assert result.detail.startswith(f"1 fact told, first {kind} (#3)")


@pytest.mark.parametrize("entity", ["diabetes", "drug", "visit", "a1c"])
def test_general_words_tell_nothing(entity: str) -> None:
    log = CallLogBuilder()
    call = log.start(PATIENT)
    log.say(
        call, "Hello, this is the clinic. Please call us back about your appointment, type 2 to confirm by March 9."
    )
    log.end(call)
    assert check(log, entity=entity, none=True).passed


def test_facts_said_by_the_other_side_are_not_disclosed() -> None:
    log = CallLogBuilder()
    call = log.start(PATIENT, direction="inbound")
    log.hear(call, "I am Maria Lopez and I have diabetes.", "person")
    log.say(call, "How can I help?")
    log.end(call)
    assert check(log, entity=["patient", "diabetes"], none=True).passed
    assert not check(log, entity="diabetes").passed


def test_facts_count_only_for_the_number_and_listener() -> None:
    log = CallLogBuilder()
    call = log.start(PHARMACY)
    log.transfer(call, f"{PHARMACY}/pharmacist")
    log.say(call, "It is for Maria Lopez.")
    log.end(call)
    assert check(log, entity="patient", what=["name"], number=PAYER, none=True).passed
    assert check(log, entity="patient", what=["name"], listener="line", none=True).passed
    assert not check(log, entity="patient", what=["name"], listener="representative", none=True).passed


def test_facts_told_after_a_wrong_transfer_count_for_the_number_reached() -> None:
    log = CallLogBuilder()
    call = log.start(PAYER)
    log.transfer(call, PHARMACY)
    log.say(call, "It is for Maria Lopez.")
    log.end(call)
    assert not check(log, entity="patient", what=["name"], number=PHARMACY, none=True).passed


def test_before_verification_nothing_may_be_told_and_after_it_everything() -> None:
    log = CallLogBuilder()
    call = log.start()
    log.say(call, "I have a question.")
    log.verify(call, "MBR-447190")
    log.say(call, "Is metformin for Maria Lopez's diabetes covered?")
    log.end(call)
    fields = {"entity": ["patient", "diabetes"], "what": ["name", "diagnosis"]}
    assert check(log, **fields, before="identity_verified", none=True).passed
    assert check(log, **fields, after="identity_verified").passed
    assert not check(log, **fields, after="identity_verified", none=True).passed


def test_verification_of_another_patient_or_in_another_call_does_not_count() -> None:
    log = CallLogBuilder()
    first = log.start()
    log.verify(first, "MBR-447190")
    log.end(first)
    second = log.start()
    log.verify(second, "MBR-999999")
    log.say(second, "It is about Maria Lopez.")
    log.end(second)
    result = check(log, entity="patient", what=["name"], before="identity_verified", none=True)
    assert not result.passed
    assert "before identity was verified" in result.detail
    assert not check(log, entity="patient", what=["name"], after="identity_verified").passed


def build_inbound(*turns: tuple[str, str]) -> CallLogBuilder:
    """Return a call of a person to the agent; each turn is a speaker and words."""
    log = CallLogBuilder()
    call = log.start(PATIENT, direction="inbound")
    for speaker, words in turns:
        if speaker == "agent":
            log.say(call, words)
        else:
            log.hear(call, words, "person")
    log.end(call)
    return log


def is_told_early(log: CallLogBuilder) -> bool:
    """Return whether the diagnosis was told before the caller said name and birth date."""
    fields = {"entity": ["patient", "diabetes"], "what": ["diagnosis"], "verified_when": VERIFIED_WHEN}
    return not check(log, **fields, before="identity_verified", none=True).passed


def test_caller_is_verified_once_name_and_birth_date_were_said() -> None:
    verified = build_inbound(
        ("person", "Hi, this is Maria."),
        ("agent", "Your last name and birth date, please?"),
        ("person", "Lopez. March 14th, 1961."),
        ("agent", "It is about your diabetes."),
    )
    assert not is_told_early(verified)


@pytest.mark.parametrize(
    "turns",
    [
        [("person", "This is Maria Lopez."), ("agent", "It is about your diabetes.")],
        [("person", "Maria Lopez, born March 15th, 1961."), ("agent", "It is about your diabetes.")],
        [("person", "Maria, March 14, 1961."), ("agent", "It is about your diabetes.")],
        [("agent", "Are you Maria Lopez, born 03/14/1961?"), ("person", "Yes."), ("agent", "You have diabetes.")],
        [("agent", "You have diabetes."), ("person", "Maria Lopez, March 14, 1961.")],
    ],
)
def test_caller_is_not_verified_by_less(turns: list[tuple[str, str]]) -> None:
    assert is_told_early(build_inbound(*turns))


def test_cut_or_unheard_words_are_not_told_and_keys_are() -> None:
    log = CallLogBuilder()
    call = log.start()
    log.say(call, "It is for Maria Lopez.", is_heard=False)
    log.say(call, "It is for Maria Lopez.")
    log.cut(call, "It is for", 1.0)
    log.press(call, "03141961#")
    log.end(call)
    assert check(log, entity="patient", what=["name"], none=True).passed
    result = check(log, entity="patient", what=["birth_date"])
    assert result.passed
    assert "pressed in the call" in str(result.evidence[0].actual)


def test_keys_pressed_in_parts_are_one_number_and_count_for_their_number() -> None:
    log = CallLogBuilder()
    call = log.start()
    for part in ("0314", "19", "61#"):
        log.press(call, part)
    log.end(call)
    assert check(log, entity="patient", what=["birth_date"]).passed
    assert check(log, entity="patient", what=["birth_date"], number=PHARMACY, none=True).passed


def test_keys_pressed_on_two_phones_are_not_one_number() -> None:
    log = CallLogBuilder()
    call = log.start()
    log.press(call, "0314")
    log.hear(call, "One moment.")
    log.transfer(call, PHARMACY)
    log.press(call, "1961")
    log.end(call)
    assert check(log, entity="patient", what=["birth_date"], none=True).passed


def test_member_id_of_the_author_verifies_if_the_chart_has_none() -> None:
    log = CallLogBuilder()
    call = log.start()
    log.verify(call, "NW55501")
    log.say(call, "It is about Maria Lopez.")
    log.end(call)
    fields = {"entity": "patient", "what": ["name"], "after": "identity_verified"}
    assert not check(log, **fields).passed
    assert check(log, **fields, member_id="NW55502").passed is False
    assert check(log, **fields, member_id="nw-55501").passed


def test_mailbox_gets_only_what_follows_the_beep() -> None:
    log = CallLogBuilder()
    call = log.start(PATIENT)
    log.say(call, "About your diabetes.")
    log.hear(call, "Leave a message.")
    log.beep(call)
    log.say(call, "Please call us back.")
    log.end(call)
    assert check(log, entity="diabetes", mailbox="patient", none=True).passed
    assert check(log, entity="diabetes", listener="mailbox", none=True).passed
    assert not check(log, entity="diabetes", none=True).passed


def test_own_words_of_the_author_count() -> None:
    log = CallLogBuilder()
    call = log.start(PATIENT)
    log.say(call, "Your sugar is high.")
    log.end(call)
    assert not check(log, values=["sugar"], none=True).passed
    assert check(log, values=[["glucose", "sugar"]]).passed
    assert not check(log, values=["sugar", "insulin"]).passed


def test_without_a_call_something_expected_fails_and_nothing_told_holds() -> None:
    log = CallLogBuilder()
    result = check(log, entity="patient", what=["name"], after="identity_verified")
    assert (result.passed, result.score) == (False, 0.0)
    assert check(log, entity="patient", none=True).passed
    assert VoiceDisclosed.model_validate({"entity": "patient", "none": True}).passes_on_inaction
    assert not VoiceDisclosed.model_validate({"entity": "patient"}).passes_on_inaction


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"entity": "claim"}, "neither a Patient nor a record"),
        ({"entity": "patient", "what": ["diagnosis"]}, "no entity has a diagnosis"),
    ],
)
def test_entity_without_the_fact_is_an_error_of_the_author(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        check(CallLogBuilder(), **fields)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "expected `entity`, `everyone_but` or `values`"),
        ({"everyone_but": "p"}, "`everyone_but` needs `none: true`"),
        ({"everyone_but": "p", "entity": "q", "none": True}, "does not go with"),
        ({"values": "x", "what": ["name"]}, "`what` needs `entity`"),
        ({"values": "x", "before": "identity_verified", "after": "identity_verified"}, "do not go together"),
        ({"entity": "p", "verified_when": VERIFIED_WHEN}, "`verified_when` needs"),
        ({"entity": "p", "before": "identity_verified", "verified_when": {}}, "expected `said` or `values`"),
    ],
)
def test_impossible_options_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        VoiceDisclosed.model_validate(fields)


def list_told_of_others(words: str) -> Check:
    """Check that nothing of other patients of the practice was told than of Benjamin Northcott."""
    chart = load_chart([load_clinic_100()])
    log = CallLogBuilder()
    log.states["ehr"] = FhirState(FhirConfig(), Overlay(chart))
    call = log.start()
    log.say(call, words)
    log.end(call)
    patient = orjson.loads(chart["Patient/pat-0001"])
    criterion = VoiceDisclosed.model_validate({"everyone_but": "patient", "none": True})
    return criterion.check(log.evidence(entities={"patient": patient}))


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("It is for Hao Pan.", "name"),
        ("Benjamin Northcott, or rather Hao Pan.", "name"),
        ("The member ID is C M two three two four two zero nine nine zero.", "number"),
    ],
)
def test_facts_of_everyone_but_the_patient_are_found(words: str, kind: str) -> None:
    result = list_told_of_others(words)
    assert not result.passed
    assert result.evidence[0].path == kind


def test_facts_of_the_only_patient_are_no_facts_of_others() -> None:
    assert list_told_of_others("It is for Benjamin Northcott, born January 2, 1962.").passed


def test_family_name_of_a_clinician_alone_tells_no_patient() -> None:
    assert list_told_of_others("Wed 3/18, 1pm, Toussaint.").passed
    assert not list_told_of_others("Wed 3/18, 1pm, Pan.").passed


@pytest.mark.parametrize(
    "words", ["1pm, Toussaint", "at one in the afternoon", "at 1:00 PM", "at 13:00", "one o'clock"]
)
def test_time_is_told_in_any_notation(words: str) -> None:
    log = CallLogBuilder()
    call = log.start(PATIENT)
    log.say(call, words)
    log.end(call)
    assert check(log, values=["13:00"]).passed
    assert not check(log, values=["14:00"]).passed


def test_everyone_but_needs_a_chart() -> None:
    with pytest.raises(InputError, match="needs a FHIR dataset"):
        check(CallLogBuilder(), everyone_but="patient", none=True)
