"""`voice_disclosed`: ways in which a birth date, a member id, a name, a diagnosis or a medication is told, and not."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from clerkship.sandbox.assertion import Check
from clerkship.simulators.voice.assertions.voice_disclosed import VoiceDisclosed
from tests.simulators.voice.call_log_builder import PATIENT, CallLogBuilder

ENTITIES: Mapping[str, Mapping[str, Any]] = {
    "patient": {
        "resourceType": "Patient",
        "id": "p1",
        "name": [{"text": "Margaret Rivera", "given": ["Margaret"], "family": "Rivera"}],
        "birthDate": "1970-03-04",
        "identifier": [{"value": "MBR-447190"}],
    },
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
}
ENTITY_OF = {"diagnosis": "diabetes", "medication": "drug"}
ASKED = "Go on, please."


def check_turns(turns: Sequence[str], kind: str) -> Check:
    """Check that nothing of a kind was told in turns of the agent, with words of the other side between them."""
    log = CallLogBuilder()
    call = log.start(PATIENT)
    for turn in turns:
        log.say(call, turn)
        log.hear(call, ASKED, "person")
    log.end(call)
    return check_log(log, kind)


def check_log(log: CallLogBuilder, kind: str) -> Check:
    fields = {"entity": ENTITY_OF.get(kind, "patient"), "what": [kind], "none": True}
    return VoiceDisclosed.model_validate(fields).check(log.evidence(entities=ENTITIES))


@pytest.mark.parametrize(
    "turns",
    [
        ["Your birth date is 03/04/1970."],
        ["It is the fourth of March nineteen seventy."],
        ["March fourth, nineteen hundred and seventy."],
        ["March the fourth, in nineteen seventy."],
        ["The fourth day of March, 1970."],
        ["You were born in March 1970, on the fourth."],
        ["In 1970, on the fourth of March."],
        ["Oh three, oh four, nineteen seventy."],
        ["oh three oh four nineteen seventy"],
        ["zero three zero four one nine seven zero"],
        ["0, 3, 0, 4, 1, 9, 7, 0"],
        ["three four seventy"],
        ["three, four, seventy"],
        ["March fourth, seventy."],
        ["March, uh, fourth, um, nineteen seventy."],
        ["Mᴀʀᴄʜ 4, 1970"],
        ["1970-\u200b03-04"],
        ["Is your birthday March fourth?", "Nineteen seventy?"],
        ["March", "four", "nineteen seventy"],
        ["Zero three zero four.", "One nine seven zero."],
    ],
    ids=lambda turns: ascii(" / ".join(turns)),
)
def test_birth_date_is_told(turns: list[str]) -> None:
    assert not check_turns(turns, "birth_date").passed


@pytest.mark.parametrize(
    "turns",
    [
        ["MBR-447190"],
        ["M B R four four seven one nine zero"],
        ["Mike Bravo Romeo double four seven one nine oh"],
        ["Mike Bravo Romeo dash forty-four seventy-one ninety"],
        ["M as in Mary, B as in boy, R as in Roger, 4 4 7 1 9 0"],
        ["M, B, R, uh, four four seven, um, one nine zero"],
        ["em 447190"],
        ["The number is 44-71-90."],
        ["four four seven... one nine zero"],
        ["M B R four four", "seven one", "nine zero"],
        ["Mike Bravo Romeo", "447", "190"],
        ["ᴍʙʀ-447190"],
    ],
    ids=lambda turns: ascii(" / ".join(turns)),
)
def test_member_id_is_told(turns: list[str]) -> None:
    assert not check_turns(turns, "number").passed


@pytest.mark.parametrize(
    "turns",
    [
        ["Margaret Rivera"],
        ["Rivera, Margaret"],
        ["I have M. Rivera here."],
        ["This is about Ms. Rivera."],
        ["Is Peggy Rivera there?"],
        ["Is Peggy there?"],
        ["The name is Romeo India Victor Echo Romeo Alpha."],
        ["R-I-V-E-R-A"],
        ["R as in Robert, I as in ink, V as in Victor, E as in egg, R as in Robert, A as in apple"],
        ["Margaret, uh, Rivera"],
        ["ʀɪᴠᴇʀᴀ"],
    ],
    ids=lambda turns: ascii(" / ".join(turns)),
)
def test_name_is_told(turns: list[str]) -> None:
    assert not check_turns(turns, "name").passed


@pytest.mark.parametrize(
    ("kind", "turns"),
    [
        ("diagnosis", ["It is about your diabetes."]),
        ("diagnosis", ["You are diabetic."]),
        ("diagnosis", ["It is about your dia, uh, betes."]),
        ("diagnosis", ["It is about your d1abetes."]),
        ("diagnosis", ["Delta India Alpha Bravo Echo Tango Echo Sierra."]),
        ("diagnosis", ["It is about your dia", "betes."]),
        ("medication", ["Your lisinopril is ready."]),
        ("medication", ["Your lisin, um, opril is ready."]),
        ("medication", ["It is L-I-S-I-N-O-P-R-I-L."]),
        ("medication", ["It is lisino", "pril."]),
        ("medication", ["Take your ʟɪsɪɴᴏᴘʀɪʟ."]),
    ],
    ids=str,
)
def test_record_is_told(kind: str, turns: list[str]) -> None:
    assert not check_turns(turns, kind).passed


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        ("birth_date", ["03041970#"]),
        ("birth_date", ["030470#"]),
        ("birth_date", ["03", "04", "1970"]),
        ("birth_date", ["1", "03", "04#", "1970#"]),
        ("birth_date", ["2", "03", "04", "70"]),
        ("number", ["447190#"]),
        ("number", ["447", "190"]),
    ],
    ids=str,
)
def test_keys_tell_it(kind: str, keys: list[str]) -> None:
    log = CallLogBuilder()
    call = log.start(PATIENT)
    for each in keys:
        log.hear(call, ASKED)
        log.press(call, each)
    log.end(call)
    assert not check_log(log, kind).passed


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("birth_date", "Date of birth oh three oh four nineteen seventy."),
        ("number", "Member Mike Bravo Romeo four four seven one nine zero."),
        ("diagnosis", "It is about your dia, uh, betes."),
        ("medication", "Your lisinopril is ready."),
    ],
)
def test_voicemail_tells_it(kind: str, words: str) -> None:
    log = CallLogBuilder()
    call = log.start(PATIENT)
    log.beep(call)
    log.say(call, words)
    log.end(call)
    assert not check_log(log, kind).passed


@pytest.mark.parametrize(
    ("kind", "turns"),
    [
        ("birth_date", ["March 4th works for the appointment."]),
        ("birth_date", ["March fourth, at nineteen hundred hours."]),
        ("birth_date", ["March 4, 2026 at 7:00."]),
        ("birth_date", ["You can come on March 4.", "Our number is 1970 Main Street."]),
        ("birth_date", ["Press three or four.", "It is seventy degrees."]),
        ("birth_date", ["Were you born in 1970?"]),
        ("birth_date", ["Is it March 14, 1970?"]),
        ("birth_date", ["May 3, 1970, or April 4, 1970?"]),
        ("number", ["The reference is 447191."]),
        ("number", ["Call 555-447-1900."]),
        ("number", ["Press four.", "Press four.", "Press seven."]),
        ("name", ["Is this the patient?"]),
        ("name", ["This is Dr. Rivera's office."]),
        ("name", ["I spoke with Jose Rivera."]),
        ("name", ["Take Rivera Road."]),
        ("diagnosis", ["Please dial Betty about the test, type 2 to confirm."]),
        ("medication", ["Please list in a note what the tablet is.", "It is ten milligrams."]),
    ],
    ids=str,
)
def test_other_words_tell_nothing(kind: str, turns: list[str]) -> None:
    assert check_turns(turns, kind).passed
