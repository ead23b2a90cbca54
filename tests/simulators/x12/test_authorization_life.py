"""An authorization from request to decision through the clearinghouse: questions, updates, appeals, inquiries."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from clerkship.formats.x12.loop import Loop
from clerkship.formats.x12.validation import validate_set
from tests.simulators.x12.clearinghouse import Clearinghouse, authorization, group, interchange

INQUIRY_GUIDE = "005010X215"
RULES: dict[str, Any] = {
    "authorization_required": [{"procedure_codes": ["72148", "27447", "97110"]}],
    "determinations": [
        {
            "match": {"procedure_code": "72148"},
            "status": "need_more_info",
            "reason": "clinical_information_needed",
            "text": "Clinical information is needed.",
            "questions": [
                {"id": "therapy_weeks", "text": "For how many weeks was the patient treated?", "type": "number"},
                {"id": "notes", "text": "Send the notes of the therapist.", "type": "attachment"},
            ],
            "then": [
                {"match": {"answers": {"therapy_weeks": {"gte": 6}}}, "status": "approved"},
                {"status": "denied", "reason": "not_medically_necessary", "text": "Six weeks are required."},
            ],
        },
        {"match": {"procedure_code": "27447"}, "status": "denied", "reason": "not_medically_necessary"},
        {"match": {"procedure_code": "97110"}, "status": "modified", "units": 12, "reason": "units_reduced"},
    ],
}
NUMBERS = count(200)


@pytest.fixture
def clearinghouse() -> Iterator[Clearinghouse]:
    """A clearinghouse with a payer that asks before it decides on one procedure."""
    with Clearinghouse(RULES) as opened:
        yield opened


def send(clearinghouse: Clearinghouse, segments: list[str], version: str = "") -> Loop:
    """Send a 278 and return the tree of the response, which must be valid."""
    edi = interchange(group("278", segments, version=version), number=next(NUMBERS))
    [reply] = clearinghouse.send(edi).sets
    validated = validate_set(reply)
    assert list(validated.errors) == []
    assert reply.code == "278"
    return validated.tree


def request(procedure: str, units: int = 1) -> list[str]:
    """Return a request for a procedure."""
    return [segment.replace("HC:72148**UN*1", f"HC:{procedure}**UN*{units}") for segment in authorization()]


def change(kind: str, *segments: str) -> list[str]:
    """Return a 278 about an earlier request."""
    return [*authorization("PA2E")[:8], "HL*4*3*EV*0", "TRN*1*PA2E*9CEDAR0001", f"UM*HS*{kind}*62*11:B", *segments]


def inquire(*event: str) -> list[str]:
    """Return an inquiry."""
    start = "BHT*0007*28*IQ1*20260302*0900"
    return [start, *authorization()[1:8], "HL*4*3*EV*0", "TRN*1*IQ1E*9CEDAR0001", "UM*HS*I", *event]


def find(tree: Loop, id: str, loop: str = "2000E") -> list[str]:
    """Return the segments with an id in a kind of loop."""
    return [segment.render() for each in tree.find_all(loop) for segment in each.segments_with_id(id)]


def find_reference(tree: Loop) -> str:
    """Return the payer's number for the request (REF NT)."""
    [segment] = find(tree, "REF")
    assert segment.startswith("REF*NT*")
    return segment.removeprefix("REF*NT*")


def test_questions_are_answered_in_an_update_that_leads_to_an_approval(clearinghouse: Clearinghouse) -> None:
    pended = send(clearinghouse, request("72148"))
    reference = find_reference(pended)
    assert find(pended, "HCR") == ["HCR*A4**90"]
    assert find(pended, "PWK") == [f"PWK*77*EL***AC*{reference}-notes"]
    assert find(pended, "MSG") == [
        "MSG*Clinical information is needed. QUESTION therapy_weeks (number) - For how many weeks was the patient "
        "treated? QUESTION notes (attachment) - Send the notes of the therapist."
    ]
    answers = ("PWK*PN*EL***AC*DOC1", "MSG*therapy_weeks=8")
    approved = send(clearinghouse, change("S", f"REF*NT*{reference}", *answers))
    [decision] = find(approved, "HCR")
    assert decision.startswith("HCR*A1*")
    assert find(approved, "HCR", "2000F") == [decision]
    assert find(approved, "TRN") == ["TRN*2*PA2E*9CEDAR0001"]
    assert {segment[:7] for segment in find(approved, "DTP")} == {"DTP*102", "DTP*036", "DTP*007"}


def test_answer_that_does_not_suffice_leads_to_a_denial(clearinghouse: Clearinghouse) -> None:
    reference = find_reference(send(clearinghouse, request("72148")))
    answers = ("PWK*PN*EL***AC*DOC1", "MSG*therapy_weeks=2")
    denied = send(clearinghouse, change("S", f"REF*NT*{reference}", *answers))
    assert find(denied, "HCR") == ["HCR*A3**82"]
    assert find(denied, "MSG") == ["MSG*Six weeks are required."]


def test_questions_can_be_answered_in_the_basic_character_set() -> None:
    with Clearinghouse(RULES, character_set="basic") as clearinghouse:
        pended = send(clearinghouse, request("72148"))
        reference = find_reference(pended)
        assert "QUESTION THERAPY-WEEKS (NUMBER) - " in find(pended, "MSG")[0]
        answers = ("PWK*PN*EL***AC*DOC1", "MSG*THERAPY-WEEKS=8")
        approved = send(clearinghouse, change("S", f"REF*NT*{reference}", *answers))
        assert find(approved, "HCR")[0].startswith("HCR*A1*")


def test_fewer_units_are_approved_than_requested(clearinghouse: Clearinghouse) -> None:
    reply = send(clearinghouse, request("97110", units=20))
    assert find(reply, "HCR")[0].endswith("*87")
    assert find(reply, "SV1", "2000F") == ["SV1*HC:97110**UN*12"]


def test_denial_is_appealed_under_a_number_of_its_own(clearinghouse: Clearinghouse) -> None:
    reference = find_reference(send(clearinghouse, request("27447")))
    appealed = send(clearinghouse, change("2", f"REF*NT*{reference}", "MSG*The knee is unstable."))
    assert find(appealed, "HCR") == ["HCR*A4"]
    assert find_reference(appealed) != reference
    beginning = appealed.segment("BHT")
    assert beginning is not None
    assert beginning.raw(6) == "19"


def test_approval_is_cancelled_once(clearinghouse: Clearinghouse) -> None:
    [decision] = find(send(clearinghouse, request("97110")), "HCR")
    number = decision.split("*")[2]
    cancelled = send(clearinghouse, change("3", f"REF*BB*{number}"))
    assert find(cancelled, "HCR") == ["HCR*C"]
    again = send(clearinghouse, change("3", f"REF*BB*{number}"))
    assert find(again, "HCR") == []
    assert find(again, "AAA") == ["AAA*N**33*N"]


def test_inquiry_finds_every_request_of_the_patient(clearinghouse: Clearinghouse) -> None:
    assert find(send(clearinghouse, inquire(), INQUIRY_GUIDE), "AAA") == ["AAA*N**T5*C"]
    reference = find_reference(send(clearinghouse, request("72148")))
    send(clearinghouse, request("97110"))
    reply = send(clearinghouse, inquire(), INQUIRY_GUIDE)
    assert sorted(segment.split("*")[1] for segment in find(reply, "HCR")) == ["A4", "A6"]
    one = send(clearinghouse, inquire(f"REF*NT*{reference}"), INQUIRY_GUIDE)
    assert find(one, "HCR") == ["HCR*A4**90"]


def test_repeated_request_is_refused_with_the_reason(clearinghouse: Clearinghouse) -> None:
    send(clearinghouse, request("97110"))
    again = send(clearinghouse, request("97110"))
    assert find(again, "AAA") == ["AAA*N**33*N"]
    assert find(again, "MSG")[0].startswith("MSG*The same request exists already")


def test_unknown_reference_is_refused(clearinghouse: Clearinghouse) -> None:
    reply = send(clearinghouse, change("3", "REF*BB*NOPE1"))
    assert find(reply, "AAA") == ["AAA*N**T5*C"]


def test_procedure_without_need_of_authorization_needs_no_action(clearinghouse: Clearinghouse) -> None:
    reply = send(clearinghouse, request("99213"))
    assert find(reply, "HCR") == ["HCR*NA**84"]
    assert find(reply, "HCR", "2000F") == ["HCR*NA**84"]
