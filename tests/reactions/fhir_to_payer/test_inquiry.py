"""A CoverageEligibilityRequest as an inquiry to a payer."""

from datetime import date
from typing import Any

import pytest

from clerkship.formats.fhir.chart import Chart
from clerkship.formats.fhir.resource import Resource, render_resource
from clerkship.payer.inquiry import EligibilityInquiry, PersonQuery
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.reactions.fhir_to_payer import build_inquiry
from clerkship.simulators import fhir
from clerkship.simulators.fhir.config import FhirConfig
from clerkship.simulators.fhir.state import FhirState
from tests.reactions.eligibility import REQUEST

NPI = "http://hl7.org/fhir/sid/us-npi"
ANA: Resource = {
    "resourceType": "Patient",
    "id": "ana",
    "name": [{"use": "maiden", "family": "Souza"}, {"use": "official", "family": "Silva", "given": ["Ana", "Maria"]}],
    "birthDate": "1965-03-15",
    "gender": "female",
}
BEN: Resource = {"resourceType": "Patient", "id": "ben", "name": [{"family": "Silva", "given": ["Ben"]}]}
CEDAR: Resource = {"resourceType": "Organization", "id": "cedar", "identifier": [{"system": "x", "value": "CM002"}]}
CLINIC: Resource = {
    "resourceType": "Organization",
    "id": "clinic",
    "identifier": [{"system": "x", "value": "RB"}, {"system": NPI, "value": "9999900019"}],
}
MAY: Resource = {"resourceType": "Practitioner", "id": "may", "identifier": [{"system": NPI, "value": "9999910000"}]}
ROLE: Resource = {
    "resourceType": "PractitionerRole",
    "id": "role",
    "identifier": [{"system": "x", "value": "R-1"}],
    "practitioner": {"reference": "Practitioner/may"},
    "organization": {"reference": "Organization/clinic"},
}
COVERAGE: Resource = {
    "resourceType": "Coverage",
    "id": "ana-1",
    "status": "active",
    "subscriberId": "CM974622051",
    "beneficiary": {"reference": "Patient/ana"},
    "payor": [{"reference": "Organization/cedar"}],
}


def build_chart(*resources: Resource) -> FhirState:
    """Return the state of a server with these resources and those that every test needs."""
    lines = map(render_resource, (ANA, BEN, CEDAR, CLINIC, MAY, ROLE, *resources))
    state = PreparedSimulator(fhir.SPEC, FhirConfig(), Chart(lines)).new_state()
    assert isinstance(state, FhirState)
    return state


def ask(coverage: Resource = COVERAGE, **elements: Any) -> EligibilityInquiry:
    """Return the inquiry of a request with other elements."""
    return build_inquiry({**REQUEST, **elements}, build_chart(coverage))


def concept(code: str, system: str = "x") -> Resource:
    """Return a code as a CodeableConcept."""
    return {"coding": [{"system": system, "code": code}]}


def test_parties_come_from_the_resources_that_the_request_names() -> None:
    assert ask() == EligibilityInquiry(
        payer_id="CM002",
        provider_id="9999900019",
        subscriber=PersonQuery(
            member_id="CM974622051", family="Silva", given="Ana", birth_date=date(1965, 3, 15), gender="female"
        ),
    )


@pytest.mark.parametrize(
    ("provider", "npi"),
    [
        ({"reference": "Practitioner/may"}, "9999910000"),
        ({"reference": "PractitionerRole/role"}, "9999910000"),
        ({"reference": "Organization/clinic/_history/1"}, "9999900019"),
        ({"identifier": {"system": NPI, "value": "1234567893"}}, "1234567893"),
        ({"reference": "Organization/cedar"}, "CM002"),
        ({"reference": "Organization/none"}, ""),
        ({"display": "The clinic"}, ""),
    ],
)
def test_provider_is_known_by_its_npi(provider: Resource, npi: str) -> None:
    assert ask(provider=provider).provider_id == npi


def test_request_without_provider_asks_for_no_provider() -> None:
    request = {name: value for name, value in REQUEST.items() if name != "provider"}
    assert build_inquiry(request, build_chart(COVERAGE)).provider_id == ""


def test_insurer_without_number_is_the_payor_of_the_coverage() -> None:
    assert ask(insurer={"display": "Cedar"}).payer_id == "CM002"
    assert ask(insurer={"identifier": {"value": "HL001"}}).payer_id == "HL001"


def test_contained_resources_are_read() -> None:
    patient = {"resourceType": "Patient", "id": "p", "name": [{"family": "Silva"}], "birthDate": "1965-03-16"}
    coverage = {**COVERAGE, "id": "c", "subscriberId": "CM1"}
    inquiry = ask(
        contained=[patient, coverage],
        patient={"reference": "#p"},
        insurance=[{"coverage": {"reference": "#c"}}],
    )
    assert inquiry.subscriber == PersonQuery(member_id="CM1", family="Silva", birth_date=date(1965, 3, 16))


def test_focal_coverage_is_asked_about() -> None:
    insurance = [
        {"coverage": {"reference": "Coverage/none"}},
        {"focal": True, "coverage": {"reference": "Coverage/ana-1"}},
    ]
    assert ask(insurance=insurance).subscriber.member_id == "CM974622051"


def test_member_id_may_be_an_identifier() -> None:
    identified = {**COVERAGE, "identifier": [{"value": "CM7"}]}
    del identified["subscriberId"]
    assert ask(identified).subscriber.member_id == "CM7"
    logical = [{"coverage": {"identifier": {"value": "CM8"}}}]
    assert ask(insurance=logical).subscriber.member_id == "CM8"


def test_request_without_coverage_describes_the_patient() -> None:
    request = {name: value for name, value in REQUEST.items() if name != "insurance"}
    subscriber = build_inquiry(request, build_chart()).subscriber
    assert (subscriber.member_id, subscriber.family) == (None, "Silva")


@pytest.mark.parametrize(
    "elements",
    [{"subscriber": {"reference": "Patient/ana"}}, {"subscriber": {"reference": "Patient/ana"}, "dependent": "01"}],
)
def test_beneficiary_of_another_subscriber_is_a_dependent(elements: Resource) -> None:
    coverage = {**COVERAGE, "beneficiary": {"reference": "Patient/ben"}, **elements}
    inquiry = ask(coverage, patient={"reference": "Patient/ben"})
    assert (inquiry.subscriber.member_id, inquiry.subscriber.given) == ("CM974622051", "Ana")
    assert inquiry.dependent == PersonQuery(family="Silva", given="Ben")


@pytest.mark.parametrize(("relationship", "is_dependent"), [("child", True), ("self", False)])
def test_relationship_makes_a_dependent_where_the_member_id_is_shared(relationship: str, is_dependent: bool) -> None:
    shared: list[tuple[str, str]] = []

    def is_shared(payer_id: str, member_id: str) -> bool:
        shared.append((payer_id, member_id))
        return True

    chart = build_chart({**COVERAGE, "relationship": concept(relationship)})
    inquiry = build_inquiry(REQUEST, chart, is_shared)
    assert (inquiry.dependent is not None, inquiry.subscriber.member_id) == (is_dependent, "CM974622051")
    assert shared == ([("CM002", "CM974622051")] if is_dependent else [])
    assert build_inquiry(REQUEST, chart).dependent is None


def test_subscriber_that_is_the_beneficiary_is_no_dependent() -> None:
    assert ask({**COVERAGE, "subscriber": {"reference": "Patient/ana"}}).dependent is None


@pytest.mark.parametrize(
    ("elements", "day"),
    [
        ({"servicedDate": "2026-04-02"}, date(2026, 4, 2)),
        ({"servicedDate": "2026-04"}, date(2026, 4, 1)),
        ({"servicedDate": "2027"}, date(2027, 1, 1)),
        ({"servicedPeriod": {"start": "2026-05-03T10:00:00-05:00", "end": "2026-06-01"}}, date(2026, 5, 3)),
        ({"servicedPeriod": {"end": "2026-06-01"}}, date(2026, 6, 1)),
        ({"servicedDate": "soon"}, None),
        ({}, None),
    ],
)
def test_day_of_service_is_the_first_of_a_period(elements: Resource, day: date | None) -> None:
    assert ask(**elements).service_date == day


def test_items_name_service_types_and_procedures() -> None:
    items = [
        {"category": concept("98")},
        {"category": concept("62"), "productOrService": concept("72148", "http://www.ama-assn.org/go/cpt")},
        {"category": concept("98"), "productOrService": concept("72148", "http://www.ama-assn.org/go/cpt")},
        {"productOrService": concept("J1745")},
    ]
    inquiry = ask(item=items)
    assert inquiry.service_types == ("office_visit", "mri_ct")
    assert inquiry.procedure_codes == ("72148", "J1745")


@pytest.mark.parametrize(
    ("code", "service_type"), [("F6", "vision"), ("UC", "urgent_care"), ("30", "plan"), ("xyz", "plan")]
)
def test_category_that_payers_do_not_have_asks_about_the_plan(code: str, service_type: str) -> None:
    assert ask(item=[{"category": concept(code)}]).service_types == (service_type,)


@pytest.mark.parametrize(
    "elements",
    [
        {"insurance": "x", "item": {"category": 1}, "patient": [], "insurer": 3, "provider": "y", "contained": [4]},
        {"insurance": [{"coverage": 1}], "item": [1, {"category": {"coding": [2]}}], "patient": {"reference": 5}},
        {"servicedPeriod": "x", "contained": [{"id": 7}], "insurer": {"identifier": [1]}},
    ],
)
def test_defects_that_a_lenient_server_accepts_are_left_out(elements: Resource) -> None:
    assert ask(**elements).service_types == ("plan",)
