"""Correct solutions of the authorization tasks of `suites/revenue` that differ from the reference solutions."""

import re
from datetime import date
from typing import Any

from clerkship.payer.inquiry import EligibilityInquiry, RequestedService
from tests.suites.overridden_solutions import Agent, Verb
from tests.suites.revenue_agents import (
    FIRST_NUMBER,
    Resource,
    ask_in_chart,
    change,
    do_first,
    find_plan,
    find_remaining,
    send_inquiries,
)
from tests.suites.revenue_authorization_agents import (
    ADAPT,
    APPEAL,
    CANCEL,
    CHARLOTTE,
    DIEGO,
    EXISTING,
    IBRAHIM,
    LIMIT,
    NEEDED,
    QUESTIONS,
    RADHA,
    REQUEST,
    TYRONE,
    appealed,
    cancelled,
    inquire,
    note,
    order,
    requested,
    send_request,
)
from tests.suites.revenue_ways import renumber

CPT = "http://www.ama-assn.org/go/cpt"
CODES = ("97110", "72148", "93306")


def find_text(pattern: str, edi: str) -> str:
    """Return what the group of a pattern matches."""
    found = re.search(pattern, edi)
    assert found, f"there is no {pattern} in {edi}"
    return found[1]


def find_day(qualifier: str, edi: str) -> str:
    """Return a day of a reply."""
    return str(date.fromisoformat(find_text(rf"DTP\*{qualifier}\*D8\*(\d+)", edi)))


def read_coverage(sandboxes: Any, id: str) -> Resource:
    """Return a coverage of the chart."""
    coverage: Resource = sandboxes["ehr"].read("Coverage", id)
    return coverage


def ask_in_chart_about_procedures(task_item: Any, sandboxes: Any) -> Any:
    """Ask whether procedures need an authorization with one CoverageEligibilityRequest for all of them."""
    ehr, coverage = sandboxes["ehr"], read_coverage(sandboxes, "cov-0045-1")
    items = [{"productOrService": {"coding": [{"system": CPT, "code": code}]}} for code in CODES]
    request = ehr.create(
        {
            "resourceType": "CoverageEligibilityRequest",
            "status": "active",
            "purpose": ["auth-requirements", "benefits"],
            "patient": {"reference": "Patient/pat-0045"},
            "created": "2026-03-02",
            "servicedDate": "2026-03-09",
            "provider": {"reference": "Organization/org-clinic"},
            "insurer": {"reference": coverage["payor"][0]["reference"]},
            "insurance": [{"focal": True, "coverage": {"reference": "Coverage/cov-0045-1"}}],
            "item": items,
        }
    )
    [response] = ehr.search("CoverageEligibilityResponse", request=f"CoverageEligibilityRequest/{request['id']}")
    required = [
        item["productOrService"]["coding"][0]["code"]
        for item in response["insurance"][0]["item"]
        if "productOrService" in item and item.get("authorizationRequired")
    ]
    whole = ask_in_chart(sandboxes, coverage, "2026-03-09")
    remaining = find_remaining(whole, "deductible")
    return {"needs_authorization": required, "plan": find_plan(response), "deductible_remaining": remaining}


def ask_about_procedure(sandboxes: Any, code: str, number: int) -> str:
    """Ask about one procedure with a 270."""
    inquiry = EligibilityInquiry(**TYRONE, service_date=date(2026, 3, 9), procedure_codes=(code,))
    return send_inquiries(sandboxes, [inquiry], number)


def ask_about_each_procedure(task_item: Any, sandboxes: Any) -> Any:
    """Ask about the three procedures in three interchanges."""
    replies = {code: ask_about_procedure(sandboxes, code, number) for number, code in enumerate(CODES, 1)}
    return {
        "needs_authorization": [code for code, reply in replies.items() if f"*Y**HC:{code}" in reply],
        "plan": "EVERGREEN SENIOR BASIC",
        "deductible_remaining": float(find_text(r"EB\*C\*IND\*30\*\*\*29\*([\d.]+)", replies["97110"])),
    }


def retry_and_inquire(task_item: Any, sandboxes: Any) -> Any:
    """Send the request again because the reply was lost, and look when it is rejected as a duplicate."""

    def send(verb: Verb, edi: str) -> str:
        verb(renumber(edi))
        assert "AAA*" in verb(edi)
        return inquire(sandboxes, IBRAHIM)

    return requested(clearing_send=send)(task_item, sandboxes)


def mend_birth_date(send: Verb, edi: str) -> Any:
    """Send with a wrong birth date first, which is rejected."""
    assert "AAA*" in send(renumber(re.sub(r"DMG\*D8\*\d{4}", "DMG*D8*1901", edi)))
    return send(edi)


def state_day_of_event(send: Verb, edi: str) -> Any:
    """State the day for the whole request instead of its service."""
    moved = re.sub(r"(~UM\*[^~]*)(.*)~DTP\*472\*([^~]*)", r"\1~DTP*AAH*\3\2", edi)
    assert moved != edi
    return send(moved)


def correct_diagnosis(task_item: Any, sandboxes: Any) -> Any:
    """Request with a wrong diagnosis, and correct it by an update."""

    def send(verb: Verb, edi: str) -> Any:
        first = verb(edi.replace("G43909", "R519"))
        number = find_text(r"HCR\*A1\*(\w+)", first)
        return send_request(IBRAHIM, "update", number, FIRST_NUMBER, diagnoses=("G43909",))(sandboxes)

    return requested(clearing_send=send)(task_item, sandboxes)


def answer_in_two_updates(task_item: Any, sandboxes: Any) -> Any:
    """Answer the questions first, and send the document with another update."""
    reply = send_request(DIEGO, number=1, **order("72148", date(2026, 3, 16), "M5416"))(sandboxes)
    reference = find_text(r"REF\*NT\*(\w+)", reply)
    answers = {"red_flags": False, "therapy_weeks": 9}
    reply = send_request(DIEGO, "update", reference, 2, answers=answers)(sandboxes)
    assert "QUESTION summary" in reply
    send_request(DIEGO, "update", reference, 3, attachments=("PT-2026-0117",))(sandboxes)
    sandboxes.wait("5h")
    reply = inquire(sandboxes, DIEGO)
    number, end = find_text(r"HCR\*A1\*(\w+)", reply), find_day("036", reply)
    text = f"Authorization {number}, valid {find_day('007', reply)} to {end}"
    change(sandboxes, "ServiceRequest/mri-of-the-spine", **note(text))
    return {"status": "approved", "number": number, "valid_to": end}


def request_as_visits(task_item: Any, sandboxes: Any) -> Any:
    """Request visits (HSD) instead of units."""
    service = RequestedService(procedure_code="97110", quantity=24, unit="visits", start=date(2026, 3, 9))
    reply = send_request(CHARLOTTE, services=(service,), diagnoses=("M1711",))(sandboxes)
    number, visits = find_text(r"HCR\*A6\*(\w+)", reply), int(find_text(r"HSD\*VS\*(\d+)", reply))
    start, end = find_day("007", reply), find_day("036", reply)
    text = f"Authorization {number} for {visits} of 24 visits, valid {start} to {end}"
    change(sandboxes, "ServiceRequest/therapy-of-the-knee", quantityQuantity={"value": visits}, **note(text))
    return {"number": number, "visits": visits, "valid_to": end}


def mend_reference(send: Verb, edi: str) -> Any:
    """Send with a mistyped number first, which is rejected."""
    mistyped = edi.replace("R302714885", "R302714858").replace("BB*HL90215585", "BB*HL90215558")
    if mistyped != edi:
        assert "AAA*" in send(renumber(mistyped))
    return send(edi)


def ask_in_chart_first(sandboxes: Any) -> None:
    """Check the coverage in the chart first."""
    assert ask_in_chart(sandboxes, read_coverage(sandboxes, "cov-0067-1"), "2026-03-19")["outcome"] == "complete"


def find_limit_in_chart(task_item: Any, sandboxes: Any) -> Any:
    """Ask how many visits are left with a CoverageEligibilityRequest."""
    response = ask_in_chart(sandboxes, read_coverage(sandboxes, "cov-0089-1"), "2026-03-10")
    items = [item for item in response["insurance"][0]["item"] if item["category"]["coding"][0]["code"] == "PT"]
    benefits = [benefit for item in items for benefit in item.get("benefit", ())]
    [limit] = [benefit for benefit in benefits if "allowedUnsignedInt" in benefit]
    [copay] = [benefit["allowedMoney"]["value"] for benefit in benefits if "allowedMoney" in benefit]
    remaining = limit["allowedUnsignedInt"] - limit["usedUnsignedInt"]
    reply = send_request(RADHA, **order("97110", date(2026, 3, 10), "M7501", remaining))(sandboxes)
    number = find_text(r"HCR\*A1\*(\w+)", reply)
    days = f"{find_day('007', reply)} to {find_day('036', reply)}"
    text = f"Authorization {number} for {remaining} of 8 visits, valid {days}"
    change(sandboxes, "ServiceRequest/therapy-of-the-shoulder", **note(text))
    return {"limit": limit["allowedUnsignedInt"], "remaining": remaining, "number": number, "copay": copay}


RIGHT: dict[str, tuple[str, Agent]] = {
    "asks in the chart which procedures need an authorization": (NEEDED, ask_in_chart_about_procedures),
    "asks about each procedure": (NEEDED, ask_about_each_procedure),
    "sends a request again and looks": (REQUEST, retry_and_inquire),
    "mends a wrong birth date": (REQUEST, requested(clearing_send=mend_birth_date)),
    "states the day of the whole request": (REQUEST, requested(clearing_send=state_day_of_event)),
    "corrects the diagnosis by an update": (REQUEST, correct_diagnosis),
    "answers in two updates": (QUESTIONS, answer_in_two_updates),
    "requests visits instead of units": (ADAPT, request_as_visits),
    "mends a mistyped reference of an appeal": (APPEAL, appealed(clearing_send=mend_reference)),
    "mends a mistyped number of a cancellation": (CANCEL, cancelled(clearing_send=mend_reference)),
    "checks the coverage in the chart first": (
        EXISTING,
        do_first("find_an_existing_authorization", ask_in_chart_first),
    ),
    "asks in the chart how many visits are left": (LIMIT, find_limit_in_chart),
}
