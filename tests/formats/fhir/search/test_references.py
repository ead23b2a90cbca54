"""References, chains, reverse chains, composites, compartments (R4 §3.1.1.4.12, §3.1.1.4.14 to §3.1.1.4.16)."""

import pytest

from clerkship.formats.fhir.issue import FhirError
from clerkship.formats.fhir.search import matches_search, parse_query, run_search, search_keys
from clerkship.formats.fhir.search.compartment import compartment_parameters
from clerkship.formats.fhir.search.find import list_compartment_keys
from tests.formats.fhir.search.searching import build_resource, get_refusal, parse_pairs, search_ids, view_resources

BASE = "http://127.0.0.1:8080/fhir"
LOINC = "http://loinc.org"


def part(code: str, value: float) -> dict[str, object]:
    return {"code": {"coding": [{"system": LOINC, "code": code}]}, "valueQuantity": {"value": value, "code": "mm[Hg]"}}


CLINIC = view_resources(
    build_resource("Organization", "west", name="West Clinic", partOf={"reference": "Organization/all"}),
    build_resource("Organization", "all", name="All Clinics"),
    build_resource("Patient", "ann", name=[{"family": "Ash"}], managingOrganization={"reference": "Organization/west"}),
    build_resource(
        "Patient", "bob", name=[{"family": "Beech"}], generalPractitioner=[{"reference": "Practitioner/ann"}]
    ),
    build_resource("Practitioner", "ann", name=[{"family": "Ash"}]),
    build_resource("Device", "ann", identifier=[{"value": "d"}]),
    build_resource(
        "Observation",
        "1",
        subject={"reference": "Patient/ann"},
        code={"coding": [{"system": LOINC, "code": "85354-9"}]},
        component=[part("8480-6", 150), part("8462-4", 80)],
        performer=[{"reference": "Practitioner/ann"}],
    ),
    build_resource(
        "Observation",
        "2",
        subject={"reference": f"{BASE}/Patient/bob/_history/3"},
        code={"coding": [{"system": LOINC, "code": "85354-9"}]},
        component=[part("8480-6", 120), part("8462-4", 95)],
    ),
    build_resource(
        "Observation", "3", subject={"reference": "Device/ann"}, code={"coding": [{"system": LOINC, "code": "x"}]}
    ),
    build_resource("Observation", "4", subject={"reference": "http://elsewhere.org/Patient/ann"}, status="final"),
    build_resource("Observation", "5", subject={"identifier": {"system": "urn:mrn", "value": "77"}, "type": "Patient"}),
    build_resource("Observation", "6", subject={"reference": "#p"}, contained=[{"resourceType": "Patient", "id": "p"}]),
)


def search_clinic(type: str, *parameters: str) -> list[str]:
    return [key.partition("/")[2] for key in search_keys(CLINIC, type, parse_pairs(*parameters), base=BASE)]


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ("subject=Patient/ann", ["1"]),
        ("subject=ann", ["1", "3"]),
        ("subject:Device=ann", ["3"]),
        ("subject:Patient=Patient/ann", ["1"]),
        ("patient=ann", ["1"]),
        ("patient=Device/ann", []),
        ("subject=Patient/bob", ["2"]),
        (f"subject={BASE}/Patient/bob", ["2"]),
        (f"subject={BASE}/Patient/ann", ["1"]),
        ("subject=http://elsewhere.org/Patient/ann", ["4"]),
        ("patient=http://elsewhere.org/Patient/ann", ["4"]),  # resolve() goes by what the address says
        ("subject:identifier=urn:mrn|77", ["5"]),
        ("patient:identifier=77", ["5"]),
        ("subject:missing=true", []),
        ("patient:missing=false", ["1", "2", "4", "5", "6"]),
        ("subject=Patient/ann,Patient/bob", ["1", "2"]),
    ],
)
def test_search_by_reference(parameters: str, expected: list[str]) -> None:
    assert search_clinic("Observation", parameters) == expected


@pytest.mark.parametrize(
    ("type", "parameters", "expected"),
    [
        ("Observation", "subject:Patient.family=ash", ["1"]),
        ("Observation", "patient.family=beech", ["2"]),
        ("Observation", "patient.organization.name=west", ["1"]),
        ("Observation", "patient.organization.partof.name=all", ["1"]),
        ("Observation", "subject.identifier=d", ["3"]),
        ("Observation", "subject:Patient.family:exact=ash", []),
        ("Observation", "patient._id=ann", ["1"]),
        ("Observation", "performer:Practitioner.family=ash", ["1"]),
        ("Observation", "performer.family=ash", ["1"]),
        ("Patient", "organization.name=nowhere", []),
        ("Patient", "_has:Observation:patient:code=85354-9", ["ann", "bob"]),
        ("Patient", "_has:Observation:patient:code=x", []),
        ("Device", "_has:Observation:subject:code=x", ["ann"]),
        ("Practitioner", "_has:Observation:performer:patient.family=ash", ["ann"]),
        ("Organization", "_has:Patient:organization:_has:Observation:patient:code=85354-9", ["west"]),
        ("Practitioner", "_has:Patient:general-practitioner:family=beech", ["ann"]),
        ("Organization", "_has:Organization:partof:_has:Patient:organization:family=ash", ["all"]),
    ],
)
def test_chains_and_reverse_chains(type: str, parameters: str, expected: list[str]) -> None:
    assert search_clinic(type, parameters) == expected


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        (f"component-code-value-quantity={LOINC}|8480-6$gt140", ["1"]),
        (f"component-code-value-quantity={LOINC}|8480-6$gt90", ["1", "2"]),
        ("component-code-value-quantity=8462-4$gt90", ["2"]),
        ("component-code-value-quantity=8462-4$150", []),  # both are there, but not of the same component
        ("component-code-value-quantity=8462-4$80,8480-6$120", ["1", "2"]),
        ("combo-code-value-quantity=8462-4$80", ["1"]),
        ("code-value-quantity=85354-9$80", []),
    ],
)
def test_composite_matches_within_one_element(parameters: str, expected: list[str]) -> None:
    assert search_clinic("Observation", parameters) == expected


def test_composite_components_may_apply_to_the_whole_resource() -> None:
    view = view_resources(
        build_resource(
            "MolecularSequence",
            "m",
            referenceSeq={"chromosome": {"coding": [{"code": "1"}]}, "windowStart": 5, "windowEnd": 9},
            variant=[{"start": 100, "end": 200}, {"start": 300, "end": 400}],
        )
    )
    assert search_ids(view, "MolecularSequence", "chromosome-variant-coordinate=1$ge100$le200") == ["m"]
    assert search_ids(view, "MolecularSequence", "chromosome-variant-coordinate=1$ge300$le200") == []
    assert search_ids(view, "MolecularSequence", "chromosome-variant-coordinate=2$ge100$le200") == []


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ("code.name=x", "invalid"),
        ("subject:Practitioner.name=x", "not-supported"),
        ("subject:Practitioner=x", "not-supported"),
        ("subject:Patient=Device/x", "value"),
        ("subject=Patient/", "value"),
        ("subject=a b", "value"),
        ("subject.shoe-size=43", "not-supported"),
        ("subject:Patient.birthdate=soon", "value"),
        ("_has:Observation:patient=x", "invalid"),
        ("_has:Nothing:patient:code=x", "invalid"),
        ("_has:Observation:code:code=x", "invalid"),
        ("_has:Condition:patient:code=x", "invalid"),  # a patient of a Condition is never an Observation
        ("has-member." * 11 + "code=x", "too-costly"),
        ("code-value-quantity=85354-9", "value"),
        ("code-value-quantity=85354-9$", "value"),
        ("code-value-quantity=85354-9$high", "value"),
    ],
)
def test_invalid_references_and_chains_are_refused(parameters: str, code: str) -> None:
    assert get_refusal("Observation", parameters)[0] == code


def test_resource_that_is_not_stored_can_be_matched() -> None:
    new = build_resource("Observation", "new", subject={"reference": "Patient/ann"}, status="final")
    assert matches_search(CLINIC, "Observation", parse_pairs("patient.family=ash", "status=final"), new)
    assert not matches_search(CLINIC, "Observation", parse_pairs("patient.family=beech"), new)
    assert not matches_search(CLINIC, "Condition", parse_pairs("patient=ann"), new)
    assert matches_search(
        CLINIC, "Patient", parse_pairs("_has:Observation:patient:_id=1"), build_resource("Patient", "ann")
    )


def test_compartments() -> None:
    assert compartment_parameters("Patient", "Observation") == ("subject", "performer")
    assert compartment_parameters("Patient", "Organization") == ()
    assert list_compartment_keys(CLINIC, "Patient", "ann") == ["Patient/ann", "Observation/1"]
    assert list_compartment_keys(CLINIC, "Practitioner", "ann") == ["Practitioner/ann", "Observation/1", "Patient/bob"]
    assert list_compartment_keys(CLINIC, "Patient", "nobody") == []


def test_search_can_be_restricted_to_a_compartment() -> None:
    def inside(type: str, *parameters: str) -> list[str]:
        return list(
            run_search(CLINIC, parse_query(type, parse_pairs(*parameters), compartment=("Patient", "ann"))).keys
        )

    assert inside("Observation") == ["Observation/1"]
    assert inside("Observation", "code=x") == []
    assert inside("Patient") == ["Patient/ann"]
    with pytest.raises(FhirError, match="no Organization is ever in the compartment of a Patient"):
        inside("Organization")


def test_chains_use_changed_resources_at_both_ends() -> None:
    view = view_resources(
        build_resource("Patient", "a", name=[{"family": "Ash"}]),
        build_resource("Patient", "b", name=[{"family": "Beech"}]),
        build_resource("Observation", "1", subject={"reference": "Patient/a"}),
        build_resource("Observation", "2", subject={"reference": "Patient/b"}),
    )
    parameters = "patient.family=ash"
    assert search_ids(view, "Observation", parameters) == ["1"]
    view.put(
        build_resource("Patient", "a", name=[{"family": "Cedar"}]),
        build_resource("Patient", "b", name=[{"family": "Ash"}]),
    )
    assert search_ids(view, "Observation", parameters) == ["2"]
    view.put(
        build_resource("Observation", "3", subject={"reference": "Patient/b"}),
        build_resource("Patient", "c", name=[{"family": "Ash"}]),
    )
    view.put(build_resource("Observation", "0", subject={"reference": "Patient/c"}))
    assert search_ids(view, "Observation", parameters) == ["0", "2", "3"]
    view.delete("Observation/2")
    view.delete("Patient/c")
    assert search_ids(view, "Observation", parameters) == ["3"]
    assert search_ids(view, "Patient", "_has:Observation:patient:_id=1,2,3") == ["a", "b"]
    view.put(build_resource("Observation", "1", subject={"reference": "Patient/b"}))
    assert search_ids(view, "Patient", "_has:Observation:patient:_id=1,2,3") == ["b"]
