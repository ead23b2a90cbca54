"""What makes a text, an address or data one about a record: rules for namesakes, families, references and numbers."""

from typing import Any

import pytest

from clerkship.assertions.narrowing import find_subject
from clerkship.events.evidence import Evidence
from clerkship.model.errors import InputError
from clerkship.model.task import Entity, Task
from tests.simulators.fhir.assertions.clinic import Clinic

HOME = {"address": [{"line": ["12 Elm Street"]}], "telecom": [{"system": "phone", "value": "(555) 010-2233"}]}


def build_person(id: str, given: str, family: str, born: str, mrn: str = "", **more: Any) -> dict[str, Any]:
    """Build a patient."""
    name = {"name": [{"family": family, "given": [given]}], "birthDate": born}
    return {"resourceType": "Patient", "id": id, **name, "identifier": [{"value": mrn}] if mrn else [], **more}


ANA = build_person("ana", "Ana", "Rivera", "1980-02-14", "4471902", **HOME)
BEN = build_person("ben", "Ben", "Rivera", "1980-02-14", "4471903", **HOME)  # a twin in the same house
NAMESAKE = build_person("ana2", "Ana", "Rivera", "1951-07-01", "4471904")
EVA = build_person("eva", "Eva", "Stone", "1961-03-04", "4711")
RESULT = {
    "resourceType": "Observation",
    "id": "k1",
    "status": "final",
    "code": {"text": "Potassium"},
    "subject": {"reference": "Patient/eva"},
}
COVERAGE = {
    "resourceType": "Coverage",
    "id": "c1",
    "status": "active",
    "subscriberId": "NW-555 01",
    "beneficiary": {"reference": "Patient/eva"},
    "payor": [{"display": "North Pay"}],
}
ORDER = {
    "resourceType": "ServiceRequest",
    "id": "order-1",
    "identifier": [{"value": "PLC-88123"}],
    "subject": {"reference": "Patient/eva"},
}
ZOE = {"type": "Patient", "first_name": "Zoe", "lastName": "Marsh", "member_id": "77-A1", "mobile": "555 010 9911"}
TOM = {"type": "Patient", "id": "p-1002", "mrn": "448377", "name": "Delgado, Tom", "birthdate": "1962-11-02"}
ENTITIES = {"ana": ANA, "ben": BEN, "eva": EVA, "order": ORDER, "tom": TOM, "zoe": ZOE}


def concerns(entity: str, *texts: str, **more: Any) -> bool:
    """Return whether texts, addresses or data are about an entity."""
    task = Task(name="t", entities=tuple(Entity(id=id, dataset="d") for id in ENTITIES))
    state = Clinic((ANA, BEN, NAMESAKE, EVA, RESULT, COVERAGE)).state
    evidence = Evidence(task, (), {"ehr": state}, "agent_done", entities=ENTITIES).for_entity(entity)
    subject = find_subject(evidence)
    assert subject is not None
    return subject.concerns(texts, **more)


@pytest.mark.parametrize(
    ("entity", "text", "is_theirs", "may_be_theirs"),
    [
        ("eva", "Eva Stone is well.", True, True),
        ("eva", "STONE, EVA", True, True),
        ("eva", "Ms. Stone is well.", False, True),
        ("eva", "Eva is well.", False, True),
        ("eva", "Eva, born on March 4th, 1961", True, True),
        ("eva", "A visit on 1961-03-04.", False, True),
        ("eva", f"Eva will come. {'More of it. ' * 20} The house is of 1961-03-04.", False, True),
        ("eva", "Lena Stone is well.", False, False),
        ("eva", "The bill is over 4711 dollars.", False, False),
        ("eva", "MRN 4711", True, True),
        ("eva", "Member NW-55501", True, True),
        ("eva", "See Patient/eva for more.", True, True),
        ("order", "See ServiceRequest/order-12 for more.", False, False),
        ("ana", "Ana Rivera is well.", False, True),  # or her namesake
        ("ana", "Ana Rivera, born 2/14/1980", True, True),
        ("ana", "Ana Rivera, MRN 4471902", True, True),
        ("ana", "Ana Rivera, born 7/1/1951", False, False),  # her namesake
        ("ben", "Ana Rivera, born 2/14/1980", False, False),
        ("ana", "They live at 12 Elm St.", False, True),  # or her twin
        ("ana", "Ana lives at 12 Elm St.", True, True),
        ("ben", "Ana lives at 12 Elm St.", False, False),
        ("tom", "Tom Delgado, 448377", True, True),
        ("tom", "Tom Delgado", True, True),
        ("tom", "Tom is here.", False, True),
        ("zoe", "Zoe Marsh", True, True),
        ("zoe", "Call +15550109911.", True, True),
        ("zoe", "member 77A1", True, True),
        ("order", "Order PLC-88123 is done.", True, True),
        ("order", "ServiceRequest/order-1", True, True),
        ("order", "Eva Stone is well.", False, False),
        ("eva", "", False, False),
    ],
)
def test_text_is_about_a_record(entity: str, text: str, is_theirs: bool, may_be_theirs: bool) -> None:
    assert (concerns(entity, text), concerns(entity, text, forbids=True)) == (is_theirs, may_be_theirs)


def test_shared_number_needs_another_fact_and_is_that_of_whoever_is_named() -> None:
    home = {"addresses": ["+15550102233"]}
    assert not concerns("ana", "Your visit is at nine.", **home)
    assert concerns("ana", "Your visit is at nine.", **home, forbids=True)
    assert concerns("ana", "Hi Ana, your visit is at nine.", **home)
    assert not concerns("ben", "Hi Ana, your visit is at nine.", **home)
    assert not concerns("ben", "Hi Ana, your visit is at nine.", **home, forbids=True)
    assert concerns("eva", addresses=["Patient/eva"])
    assert not concerns("eva", addresses=["+15550102233", "eva@example.org"])


def test_phone_number_counts_with_and_without_its_country_code() -> None:
    for text in ("Call +15550102233, Ana.", "Call 555-010-2233, Ana.", "Call +1 (555) 010 2233, Ana."):
        assert concerns("ana", text), text
    assert concerns("ana", data={"to": ["+15550102233"], "text": "Hi Ana"})


def test_names_and_numbers_are_not_read_across_texts() -> None:
    assert not concerns("eva", "Best wishes, Eva", "Stone Street")
    assert not concerns("ana", "447", "1902")


@pytest.mark.parametrize(
    ("entity", "data", "is_theirs"),
    [
        ("eva", {"patientId": "eva"}, True),
        ("eva", {"patient_id": "ana"}, False),
        ("eva", {"subject": {"reference": "https://fhir.example/Patient/eva/_history/2"}}, True),
        ("eva", {"type": "Observation", "id": "k1"}, True),  # her result
        ("ana", {"type": "Observation", "id": "k1"}, False),
        ("eva", {"rows": [{"medicalRecordNumber": "1"}, {"mrn": 4711}]}, True),
        ("eva", {"amount": 4711}, False),
        ("eva", {"name": [{"family": "Stone", "given": ["Eva"]}]}, True),
        ("eva", [{"first_name": "Eva", "lastName": "Stone"}], True),
        ("eva", [{"first_name": "Eva", "last_name": "Rivera"}, {"last_name": "Stone"}], False),
        ("ana", {**RESULT, "id": "new", "note": [{"text": "as for Ana Rivera, MRN 4471902"}]}, False),
        ("eva", {**RESULT, "id": "new"}, True),
        ("order", {"basedOn": [{"reference": "ServiceRequest/order-1"}]}, True),
        ("order", {"serviceRequestId": "order-1"}, True),
        ("eva", None, False),
    ],
)
def test_data_is_about_a_record(entity: str, data: Any, is_theirs: bool) -> None:
    assert concerns(entity, data=data) is is_theirs


def test_resource_of_another_patient_that_mentions_a_person_may_be_about_them() -> None:
    data = {**RESULT, "id": "new", "note": [{"text": "as for Ana Rivera, MRN 4471902"}]}
    assert concerns("ana", data=data, forbids=True)


def test_number_that_a_chart_got_during_the_run_is_that_of_the_person() -> None:
    clinic = Clinic((EVA,))
    clinic.put({**EVA, "telecom": [{"system": "phone", "value": "+15550107788"}]}, actor="system")
    evidence = Evidence(Task(name="t"), (), {"ehr": clinic.state}, "agent_done", entities={"eva": EVA})
    subject = find_subject(evidence.for_entity("eva"))
    assert subject is not None
    assert subject.concerns(addresses=["+1 555 010-7788"])


def test_item_too_long_to_search_is_nobodys_but_forbidden() -> None:
    text = "x " * 1_000_001
    assert not concerns("eva", text)
    assert concerns("eva", text, forbids=True)


def test_entity_without_a_record_is_an_error() -> None:
    with pytest.raises(InputError, match="the entity `nobody` has no record"):
        concerns("nobody", "text")
