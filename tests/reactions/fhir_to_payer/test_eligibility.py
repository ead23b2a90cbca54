"""A request in the chart is answered by the payer, in the chart."""

from typing import Any

import pytest

from clerkship.events.event import Event
from clerkship.events.lifecycle import RequestRefused
from clerkship.formats.fhir.resource import Resource, render_resource
from clerkship.model.dataset import Dataset
from clerkship.payer.inquiry import EligibilityInquiry, PersonQuery
from clerkship.playground.playground import replay
from tests.choices import mark_slow_after
from tests.payer.office import CLINIC_NPI, Office
from tests.reactions.eligibility import REQUEST
from tests.waiting import processor_limit
from tests.workbench import Workbench

NPI = "http://hl7.org/fhir/sid/us-npi"
PAYER_TYPE = {"coding": [{"system": "http://terminology.hl7.org/CodeSystem/organization-type", "code": "pay"}]}
PLAN_TYPE = {"coding": [{"system": "http://terminology.hl7.org/CodeSystem/coverage-class", "code": "plan"}]}


def build_coverage(id: str, patient: str, member_id: str, **elements: Any) -> Resource:
    """Return a policy with Cedar Mutual."""
    return {
        "resourceType": "Coverage",
        "id": id,
        "status": "active",
        "subscriberId": member_id,
        "beneficiary": {"reference": f"Patient/{patient}"},
        "payor": [{"reference": "Organization/cedar"}],
        "period": {"start": "2025-01-01"},
        "class": [{"type": PLAN_TYPE, "value": "cedar-select-epo", "name": "Cedar Select EPO"}],
        **elements,
    }


def build_patient(id: str, given: str, birth_date: str) -> Resource:
    return {
        "resourceType": "Patient",
        "id": id,
        "name": [{"family": "Silva", "given": [given]}],
        "birthDate": birth_date,
    }


def _relate(code: str) -> Resource:
    system = "http://terminology.hl7.org/CodeSystem/subscriber-relationship"
    return {"coding": [{"system": system, "code": code}]}


CHART: tuple[Resource, ...] = (
    build_patient("ana", "Ana", "1965-03-15"),
    build_patient("ben", "Ben", "2015-04-05"),
    {
        "resourceType": "Organization",
        "id": "cedar",
        "name": "Cedar Mutual Insurance",
        "type": [PAYER_TYPE],
        "identifier": [{"system": "https://riverbend.example/ids/payer", "value": "CM002"}],
    },
    {
        "resourceType": "Organization",
        "id": "clinic",
        "name": "Riverbend Family Health Center",
        "identifier": [{"system": NPI, "value": CLINIC_NPI}],
    },
    build_coverage("ana-1", "ana", "CM974622051", relationship=_relate("self")),
    build_coverage("ben-1", "ben", "CM974622051", relationship=_relate("child")),
)
SMALL = Dataset(name="small", type="fhir", lines=tuple(map(render_resource, CHART)))


@pytest.fixture
def office() -> Office:
    return Office(SMALL)


def ask(office: Office, **elements: Any) -> Resource:
    """Create a request, and return the only response to it."""
    request = office.ehr.create({**REQUEST, **elements})
    [response] = office.ehr.search("CoverageEligibilityResponse", request=f"CoverageEligibilityRequest/{request['id']}")
    return response


def list_events(office: Office, kind: str) -> list[Event]:
    return [event for event in office.playground.log.events if event.kind == kind]


def error_code(response: Resource) -> str:
    """Return the code of the only error of a response."""
    [error] = response["error"]
    code: str = error["code"]["coding"][0]["code"]
    return code


def test_response_exists_when_the_create_returns(office: Office) -> None:
    response = ask(office)
    assert response["outcome"] == "complete"
    assert response["created"] == "2026-03-02T09:00:01-05:00"
    [insurance] = response["insurance"]
    assert insurance["coverage"] == {"reference": "Coverage/ana-1", "display": "Cedar Select EPO"}
    assert (insurance["inforce"], bool(insurance["item"])) == (True, True)
    assert office.ehr.read("CoverageEligibilityResponse", response["id"]) == response
    assert office.ehr.search("CoverageEligibilityResponse", patient="Patient/ana", outcome="complete") == [response]


@pytest.mark.parametrize("purpose", mark_slow_after(1, ["benefits", "auth-requirements"]))
def test_time_grows_with_the_number_of_items(office: Office, purpose: str) -> None:
    items = [{"productOrService": {"coding": [{"code": f"{number:05}"}]}} for number in range(5_000)]
    with processor_limit(20):
        response = ask(office, item=items, purpose=[purpose])
    procedures = [item for item in response["insurance"][0]["item"] if "productOrService" in item]
    assert len(procedures) == len(items)


def test_events_name_what_caused_them(office: Office) -> None:
    ask(office)
    asked, answered = list_events(office, "fhir.resource.created")
    [checked] = list_events(office, "payer.eligibility.checked")
    assert (asked.actor, checked.actor, answered.actor) == ("agent", "reaction", "reaction")
    assert (checked.cause, answered.cause) == (asked.seq, checked.seq)
    assert vars(checked.payload)["reference"] == f"CoverageEligibilityRequest/{vars(asked.payload)['id']}"
    assert vars(answered.payload)["operation"] == "payer.eligibility.checked"


def test_update_does_not_answer_again(office: Office) -> None:
    request = office.ehr.create(REQUEST)
    office.ehr.update({**request, "servicedDate": "2026-04-01"})
    office.ehr.patch("CoverageEligibilityRequest", request["id"], [{"op": "remove", "path": "/insurance"}])
    assert len(list_events(office, "payer.eligibility.checked")) == 1
    assert len(office.ehr.search("CoverageEligibilityResponse")) == 1


@pytest.mark.parametrize("status", ["draft", "cancelled", "entered-in-error"])
def test_request_that_is_not_active_is_not_answered(office: Office, status: str) -> None:
    office.ehr.create({**REQUEST, "status": status})
    assert list_events(office, "payer.eligibility.checked") == []


def test_request_created_by_an_update_is_answered(office: Office) -> None:
    office.ehr.update({**REQUEST, "id": "mine"})
    [response] = office.ehr.search("CoverageEligibilityResponse", request="CoverageEligibilityRequest/mine")
    assert response["outcome"] == "complete"


def test_other_resources_are_not_sent_to_the_payer(office: Office) -> None:
    office.ehr.create(build_patient("x", "Eva", "1990-01-01"))
    office.ehr.create(build_coverage("x", "ana", "CM1"))
    assert [event for event in office.playground.log.events if event.source == "payer"] == []


def test_question_that_another_way_asked_is_not_filed(office: Office) -> None:
    state, action = office.payer
    subscriber = PersonQuery(member_id="CM974622051")
    inquiry = EligibilityInquiry(payer_id="CM002", provider_id=CLINIC_NPI, subscriber=subscriber)
    for reference in (None, "Patient/ana", "CoverageEligibilityRequest/9"):
        state.check_eligibility(action, inquiry, reference=reference)
    assert office.ehr.search("CoverageEligibilityResponse") == []


def test_coverage_that_the_agent_added_is_checked_by_its_member_id(office: Office) -> None:
    right = office.ehr.create(build_coverage("x", "ana", "CM974622051"))
    wrong = office.ehr.create(build_coverage("x", "ana", "CM000000000"))
    response = ask(office, insurance=[{"coverage": {"reference": f"Coverage/{right['id']}"}}])
    assert response["insurance"][0]["coverage"]["reference"] == "Coverage/ana-1"
    response = ask(office, insurance=[{"coverage": {"reference": f"Coverage/{wrong['id']}"}}])
    assert (response["outcome"], error_code(response)) == ("error", "75")


def test_payer_compares_the_chart_with_its_own_records(office: Office) -> None:
    ana = office.ehr.read("Patient", "ana")
    office.ehr.update({**ana, "birthDate": "1965-03-16"})
    response = ask(office)
    assert (error_code(response), "insurance" in response) == ("71", False)
    office.ehr.update(ana)
    assert ask(office)["outcome"] == "complete"


def test_child_under_the_id_of_its_parent_is_a_dependent(office: Office) -> None:
    response = ask(
        office, patient={"reference": "Patient/ben"}, insurance=[{"coverage": {"reference": "Coverage/ben-1"}}]
    )
    assert response["insurance"][0]["coverage"]["reference"] == "Coverage/ben-1"
    [checked] = list_events(office, "payer.eligibility.checked")
    assert vars(checked.payload)["patient"] == "Patient/ben"


def test_request_without_provider_is_rejected(office: Office) -> None:
    request = office.ehr.create({name: value for name, value in REQUEST.items() if name != "provider"})
    [response] = office.ehr.search("CoverageEligibilityResponse", request=f"CoverageEligibilityRequest/{request['id']}")
    assert (error_code(response), "requestor" in response) == ("51", False)


def test_transaction_with_its_own_patient_and_coverage_is_answered(office: Office) -> None:
    entries: list[tuple[str, Resource]] = [
        ("urn:uuid:11111111-1111-4111-8111-111111111111", build_patient("x", "Ana", "1965-03-15")),
        ("urn:uuid:22222222-2222-4222-8222-222222222222", build_coverage("x", "ana", "CM974622051")),
        ("urn:uuid:33333333-3333-4333-8333-333333333333", REQUEST),
    ]
    patient, coverage = ({"reference": url} for url, _ in entries[:2])
    entries[2] = (entries[2][0], {**REQUEST, "patient": patient, "insurance": [{"coverage": coverage}]})
    office.ehr.transaction(
        {
            "resourceType": "Bundle",
            "type": "transaction",
            "entry": [
                {"fullUrl": url, "resource": each, "request": {"method": "POST", "url": each["resourceType"]}}
                for url, each in entries
            ],
        }
    )
    [response] = office.ehr.search("CoverageEligibilityResponse")
    assert response["outcome"] == "complete"
    assert response["patient"]["reference"] != "Patient/ana"


def test_log_rebuilds_chart_and_payers(office: Office) -> None:
    ask(office)
    ask(office, insurer={"identifier": {"value": "XX"}})
    playground = office.playground
    prepared = {name: component.prepared for name, component in playground.components.items()}
    rebuilt = replay(prepared, playground.log.events)
    assert {name: state.dump() for name, state in rebuilt.items()} == {
        name: component.state.dump() for name, component in playground.components.items()
    }


def test_same_request_gets_the_same_bytes_in_another_playground() -> None:
    assert ask(Office(SMALL)) == ask(Office(SMALL))


def test_defects_that_a_lenient_chart_accepts_are_answered() -> None:
    office = Office(SMALL, {"ehr": {"kind": "fhir", "config": {"validation": "lenient", "references": "unchecked"}}})
    response = ask(office, patient={"reference": "Patient/none"}, item=[{"category": {"coding": []}}])
    assert error_code(response) == "15"
    assert [event for event in office.playground.log.events if isinstance(event.payload, RequestRefused)] == []


TASK = """
  environment:
    name: practice with payers
    now: 2026-03-02T09:00:00-05:00
    datasets: [clinic-100]
    simulators:
      ehr: {kind: fhir}
    domains:
      payer: {kind: payer}
    reactions: [ehr.resource.created -> payer, payer.eligibility.checked -> ehr]
  task:
    name: Check the coverage of a patient
    environment: practice with payers
    task_item: {instruction: Check the coverage of patient pat-0013 with an eligibility request.}
    criteria:
      - label: asked and answered
        assertion:
          sequencing:
            - {event: fhir.resource.created, actor: agent, where: {type: CoverageEligibilityRequest}}
            - {event: payer.eligibility.checked, where: {patient: Patient/pat-0013, status: active}}
            - {event: fhir.resource.created, actor: reaction, where: {type: CoverageEligibilityResponse}}
            - {event: fhir.resources.searched, actor: agent, where: {type: CoverageEligibilityResponse}}
      - label: in force
        assertion:
          fhir_resource_state:
            resource_type: CoverageEligibilityResponse
            search: {patient: pat-0013}
            fields: [{path: insurance.inforce, expected: true}, {path: outcome, expected: complete}]
"""


def check_coverage(task_item: Any, sandboxes: Any) -> None:
    """Ask about a patient of clinic-100, and read the answer."""
    ehr = sandboxes["ehr"]
    request = ehr.create(
        {
            **REQUEST,
            "patient": {"reference": "Patient/pat-0013"},
            "provider": {"reference": "PractitionerRole/role-01-family"},
            "insurer": {"reference": "Organization/org-evergreen"},
            "insurance": [{"coverage": {"reference": "Coverage/cov-0013-1"}}],
        }
    )
    ehr.search("CoverageEligibilityResponse", request=f"CoverageEligibilityRequest/{request['id']}")


def test_criteria_see_the_request_the_check_and_the_response(bench: Workbench) -> None:
    bench.write("task.yml", TASK)
    task_run = bench.run_one(check_coverage)
    assert [(each.label, each.passed) for each in task_run.criteria if not each.passed] == []
