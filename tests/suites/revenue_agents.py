"""Parts of agents for `suites/revenue`: mistakes beside the work of a solution, and questions of their own."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import partial
from typing import Any

from clerkship.formats.x12.writer import OutgoingEnvelope
from clerkship.payer.inquiry import AuthorizationQuery, EligibilityInquiry, PersonQuery, RequestedService
from clerkship.simulators.x12.requests import (
    RequestHeader,
    build_authorization_request,
    build_eligibility_request,
    render_requests,
)
from tests.suites import overridden_solutions
from tests.suites.overridden_solutions import Agent, Verb, act_after, act_before, do_nothing
from tests.suites.revenue_ways import REVENUE

load_solution = partial(overridden_solutions.load_solution, REVENUE)
override_solution = partial(overridden_solutions.override_solution, REVENUE)
Resource = dict[str, Any]
CLINIC = "9999900019"
FIRST_NUMBER = 900_000
"""ISA13 of what an agent of the tests sends beside the solution."""


def do_also(name: str, more: Callable[[Any], object], **verbs: Verb) -> Agent:
    """Return a solution after which something else is done."""
    return act_after(override_solution(name, **verbs), more)


def do_first(name: str, first: Callable[[Any], object], **verbs: Verb) -> Agent:
    """Return a solution before which something else is done."""
    return act_before(override_solution(name, **verbs), first)


def write_first(name: str, changes: Mapping[str, Resource]) -> Agent:
    """Return a solution that writes what it would find out before it asks. `changes` are new elements by key."""
    return do_first(name, partial(change_all, changes=changes), ehr_update=do_nothing)


def answer_with(name: str, **changes: Any) -> Agent:
    """Return a solution that answers with other values."""

    def on_task(task_item: Any, sandboxes: Any) -> Any:
        return {**load_solution(name)(task_item, sandboxes), **changes}

    return on_task


def replace_edi(*pairs: tuple[str, str]) -> Verb:
    """Return a way to send that replaces texts in what is sent."""

    def send(verb: Verb, edi: str) -> Any:
        for old, new in pairs:
            assert old in edi, f"the interchange has no {old}"
            edi = edi.replace(old, new)
        return verb(edi)

    return send


def replace_elements(**elements: Any) -> Verb:
    """Return a way to update that sets other elements than those of the solution."""

    def update(verb: Verb, resource: Resource, *args: Any) -> Any:
        return verb({**resource, **elements}, *args)

    return update


def update_only(*ids: str) -> Verb:
    """Return a way to update that leaves out all resources but these."""

    def update(verb: Verb, resource: Resource, *args: Any) -> Any:
        return verb(resource, *args) if resource["id"] in ids else resource

    return update


def change(sandboxes: Any, key: str, **elements: Any) -> None:
    """Change elements of a resource of the chart; None removes one."""
    resource = {**sandboxes["ehr"].read(*key.split("/")), **elements}
    sandboxes["ehr"].update({name: value for name, value in resource.items() if value is not None})


def change_all(sandboxes: Any, changes: Mapping[str, Resource]) -> None:
    """Change elements of several resources."""
    for key, elements in changes.items():
        change(sandboxes, key, **elements)


def leave_file(sandboxes: Any) -> None:
    """Leave a file outside of the folder for batches."""
    sandboxes["drop"].write("notes/coverage.txt", "see the chart")


def ask_about(
    sandboxes: Any, payer_id: str, person: PersonQuery, day: date | None = None, number: int = FIRST_NUMBER
) -> str:
    """Ask a payer about a person with a 270, in real time."""
    inquiry = EligibilityInquiry(payer_id=payer_id, provider_id=CLINIC, subscriber=person, service_date=day)
    return send_inquiries(sandboxes, [inquiry], number)


def send_inquiries(sandboxes: Any, inquiries: Sequence[EligibilityInquiry], number: int = FIRST_NUMBER) -> str:
    """Send a 270 in real time."""
    request = build_eligibility_request(inquiries, RequestHeader(f"Q{number}", sandboxes.now))
    envelope = OutgoingEnvelope("CLINIC01", "CLEARING01", number, sandboxes.now)
    reply: str = sandboxes["clearing"].send(render_requests(envelope, [request]))
    return reply


def ask_about_stranger(sandboxes: Any) -> None:
    """Ask about a patient of the practice whom no task about eligibility is about."""
    person = PersonQuery(member_id="HL283393860", family="Olivares", given="Mercedes", birth_date=date(1993, 2, 7))
    assert "EB*1" in ask_about(sandboxes, "HL001", person, number=FIRST_NUMBER + 77)


def ask_about_unknown_person(sandboxes: Any) -> None:
    """Ask about a person whom the payer rejects."""
    person = PersonQuery(member_id="HL1", family="Olivares", given="Mercedes", birth_date=date(1993, 2, 7))
    assert "AAA" in ask_about(sandboxes, "HL001", person, number=FIRST_NUMBER + 78)


# Asking in the chart.


def ask_in_chart(sandboxes: Any, coverage: Resource, day: str) -> Resource:
    """Ask with a CoverageEligibilityRequest, and return the payer's response."""
    ehr = sandboxes["ehr"]
    request = ehr.create(
        {
            "resourceType": "CoverageEligibilityRequest",
            "status": "active",
            "purpose": ["validation", "benefits"],
            "patient": {"reference": coverage["beneficiary"]["reference"]},
            "created": "2026-03-02",
            "servicedDate": day,
            "provider": {"reference": "Organization/org-clinic"},
            "insurer": {"reference": coverage["payor"][0]["reference"]},
            "insurance": [{"focal": True, "coverage": {"reference": f"Coverage/{coverage['id']}"}}],
        }
    )
    [response] = ehr.search("CoverageEligibilityResponse", request=f"CoverageEligibilityRequest/{request['id']}")
    found: Resource = response
    return found


def find_plan(response: Resource) -> str:
    """Return the name of the plan."""
    plan: str = response["insurance"][0]["coverage"]["display"]
    return plan


def find_copay(response: Resource) -> float:
    """Return the copay of an office visit in the network."""
    items = [item for item in response["insurance"][0]["item"] if _has(item, "network", "in")]
    visits = [item for item in items if _has(item, "category", "98")]
    [money] = [
        benefit["allowedMoney"] for item in visits for benefit in item["benefit"] if _has(benefit, "type", "copay")
    ]
    return float(money["value"])


def find_remaining(response: Resource, kind: str, level: str = "individual") -> float:
    """Return what is left of a deductible, or of the out-of-pocket maximum."""
    items = [item for item in response["insurance"][0]["item"] if _has(item, "unit", level)]
    [benefit] = [
        benefit
        for item in items
        for benefit in item["benefit"]
        if _has(benefit, "type", kind) or benefit["type"].get("text") == kind
    ]
    return round(float(benefit["allowedMoney"]["value"] - benefit["usedMoney"]["value"]), 2)


def _has(data: Resource, name: str, code: str) -> bool:
    """Return whether a CodeableConcept has a code."""
    return code in [coding.get("code") for coding in data.get(name, {}).get("coding", ())]


def request_authorization(sandboxes: Any) -> None:
    """Request an authorization that the task does not ask for."""
    person = PersonQuery(member_id="HL476822215", family="Phan", given="Linh", birth_date=date(1961, 12, 7))
    query = AuthorizationQuery(
        payer_id="HL001",
        provider_id=CLINIC,
        subscriber=person,
        services=(RequestedService(procedure_code="72148"),),
        diagnoses=("M5416",),
    )
    request = build_authorization_request(query, RequestHeader("PA1", sandboxes.now))
    envelope = OutgoingEnvelope("CLINIC01", "CLEARING01", FIRST_NUMBER + 88, sandboxes.now)
    sandboxes["clearing"].send(render_requests(envelope, [request]))
