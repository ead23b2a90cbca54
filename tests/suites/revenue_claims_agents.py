"""Agents for the claim tasks of `suites/revenue`: wrong solutions, and correct ones that differ from ours."""

import re
from datetime import date
from functools import partial
from typing import Any

from clerkship.formats.x12.transaction_set import TransactionSet
from clerkship.formats.x12.writer import OutgoingEnvelope
from clerkship.payer.inquiry import AuthorizationQuery, EligibilityInquiry, PersonQuery, RequestedService
from clerkship.simulators.x12.requests import (
    RequestHeader,
    build_authorization_request,
    build_eligibility_request,
    render_requests,
)
from tests.suites.overridden_solutions import Agent, Verb, call_twice, do_nothing
from tests.suites.revenue_agents import CLINIC, ask_about_stranger, do_also, override_solution, replace_edi
from tests.suites.revenue_ways import renumber
from tests.suites.suite_checks import Mistake

follow_up = partial(override_solution, "claim_follow_up")

NOTES, DENIED, PAID = "Follow up claim C005203", "Follow up claim C008904", "Follow up claim C006004"
LOST, IN_PROCESS = "Follow up claim C001704", "Follow up claim C008104"
ASKED, SAID = "The payer was asked about this claim", "The answer is what the payer said"
OTHER_PERSON, OTHER_CHANGES = "No payer was asked about another person", "Nothing else was changed in the chart"
CLAIMS_ONLY = "Payers were asked about claims only"
RADHA = PersonQuery(member_id="CM232420990", family="Chopra", given="Radha", birth_date=date(1964, 5, 16))


def render(number: int, request: TransactionSet, sandboxes: Any) -> str:
    """Return an interchange of the practice."""
    return render_requests(OutgoingEnvelope("CLINIC01", "CLEARING01", number, sandboxes.now), [request])


def ask_about_diego_first(send: Verb, edi: str) -> Any:
    """Ask about the claims of another patient before the question."""
    other = re.sub(r"NM1\*IL\*1\*[^~]*~", "NM1*IL*1*TRUJILLO*DIEGO****MI*CM912625204~", renumber(edi))
    other = re.sub(r"DMG\*[^~]*~", "DMG*D8*20001228*M~", re.sub(r"PI\*\w+", "PI*CM002", other))
    send(re.sub(r"REF\*EJ\*[^~]*~", "REF*EJ*C002605~", other))
    return send(edi)


def ask_second_payer(send: Verb, edi: str) -> Any:
    """Ask the payer of the other policy."""
    return send(edi.replace("PI*CM002", "PI*HL001").replace("MI*CM848689109", "MI*HL114178651"))


def write_task_with(**elements: Any) -> Verb:
    """Override `ehr.create` so that the Task has other elements."""
    return lambda create, resource: create({**resource, **elements})


def describe_task_with(pattern: str, new: str) -> Verb:
    """Override `ehr.create` so that the description of the Task differs."""
    return lambda create, resource: create({**resource, "description": re.sub(pattern, new, resource["description"])})


def answer_with(agent: Agent, **fields: Any) -> Agent:
    """Return an agent that answers something else."""
    return lambda task_item, sandboxes: {**agent(task_item, sandboxes), **fields}


def write_without_asking(claim: str, code: str, description: str) -> Agent:
    """Return an agent that writes the Task and answers without a question to the payer."""

    def on_task(task_item: Any, sandboxes: Any) -> Any:
        resource = sandboxes["ehr"].read("Claim", claim)
        write_task(sandboxes["ehr"], resource, code, description)
        return {"status": "pended", "claim_number": "CLM230513367", "status_date": "2026-02-27", "paid": 0}

    return on_task


def write_task(ehr: Any, claim: dict[str, Any], code: str, description: str) -> None:
    """Write a Task about a claim."""
    focus, patient = {"reference": f"Claim/{claim['id']}"}, {"reference": claim["patient"]["reference"]}
    work = {"code": {"text": code}, "description": description, "focus": focus, "for": patient}
    ehr.create({"resourceType": "Task", "status": "requested", "intent": "order", **work})


def write_task_before_asking(task_item: Any, sandboxes: Any) -> Any:
    """Write the right Task first, and ask then."""
    claim = sandboxes["ehr"].read("Claim", "claim-0052-3")
    write_task(sandboxes["ehr"], claim, "Send notes", "Notes of 2026-02-20 for CLM230513367")
    return follow_up(ehr_create=do_nothing)(task_item, sandboxes)


def check_eligibility_too(task_item: Any, sandboxes: Any) -> Any:
    """Ask whether the patient is covered, which was not asked for."""
    mercedes = PersonQuery(member_id="HL283393860", family="Olivares", given="Mercedes", birth_date=date(1993, 2, 7))
    inquiry = EligibilityInquiry(payer_id="HL001", provider_id=CLINIC, subscriber=mercedes)
    request = build_eligibility_request([inquiry], RequestHeader("MORE1", sandboxes.now))
    sandboxes["clearing"].send(render(77, request, sandboxes))
    return follow_up()(task_item, sandboxes)


def request_authorization_too(kind: Any) -> Agent:
    """Return an agent that requests or appeals an authorization beside the right work."""

    def on_task(task_item: Any, sandboxes: Any) -> Any:
        query = AuthorizationQuery(
            payer_id="CM002",
            provider_id=CLINIC,
            subscriber=RADHA,
            services=(RequestedService(procedure_code="72141"),),
            diagnoses=("M5416",),
            place="11",
            note="The authorization exists",
        )
        number = None if kind == "request" else "A733904412"
        header = RequestHeader("PA1", sandboxes.now)
        request = build_authorization_request(query, header, kind, authorization_number=number)
        sandboxes["clearing"].send(render(78, request, sandboxes))
        return follow_up()(task_item, sandboxes)

    return on_task


def file_claim_again(task_item: Any, sandboxes: Any) -> Any:
    """Create the claim again in the chart."""
    answer = follow_up()(task_item, sandboxes)
    claim = sandboxes["ehr"].read("Claim", "claim-0017-lost")
    sandboxes["ehr"].create({key: value for key, value in claim.items() if key not in ("id", "meta")})
    return answer


def report_other_claim(task_item: Any, sandboxes: Any) -> Any:
    """Ask without numbers and days, and take the last claim of the patient."""

    def ask_about_all(send: Verb, edi: str) -> Any:
        edi = re.sub(r"REF\*EJ\*[^~]*~|DTP\*472\*[^~]*~", "", edi)
        reply = send(re.sub(r"SE\*(\d+)", lambda match: f"SE*{int(match[1]) - 2}", edi))
        loops = re.split(r"(?=TRN\*2\*)", reply)
        return loops[0] + loops[-1]

    answer: Any = follow_up(clearing_send=ask_about_all)(task_item, sandboxes)
    return answer


def leave_notes_task(task_item: Any, sandboxes: Any) -> Any:
    """Send notes for which the payer did not ask."""
    answer = follow_up()(task_item, sandboxes)
    claim = sandboxes["ehr"].read("Claim", "claim-0081-4")
    write_task(sandboxes["ehr"], claim, "Send notes", "Notes of 2026-02-16 for CLM297658959")
    return answer


def delete_remittance(task_item: Any, sandboxes: Any) -> Any:
    """Delete the list after use."""
    answer = follow_up()(task_item, sandboxes)
    sandboxes["drop"].delete("inbound/remittance-0302.csv")
    return answer


def ask_by_day(send: Verb, edi: str) -> Any:
    """Ask without our claim number."""
    return send(re.sub(r"REF\*EJ\*[^~]*~(.*~SE\*)(\d+)", lambda match: f"{match[1]}{int(match[2]) - 1}", edi))


def mistype_birth_date_first(send: Verb, edi: str) -> Any:
    """Ask with a wrong birth date, which the payer rejects, and then with the right one."""
    send(re.sub(r"DMG\*D8\*\d{8}", "DMG*D8*19010101", renumber(edi)))
    return send(edi)


FOLLOW_UP_MISTAKES = [
    Mistake(
        NOTES,
        "notes: payer not asked",
        write_without_asking("claim-0052-3", "Send notes", "Notes of 2026-02-20 for CLM230513367"),
        ASKED,
    ),
    Mistake(NOTES, "notes: no Task", follow_up(ehr_create=do_nothing), "A Task asks for the notes of the visit"),
    Mistake(NOTES, "notes: two Tasks", follow_up(ehr_create=call_twice), "A Task asks for the notes of the visit"),
    Mistake(
        NOTES,
        "notes: our number instead of the payer's",
        follow_up(ehr_create=describe_task_with(r"CLM\d+", "C005203")),
        "A Task asks for the notes of the visit",
    ),
    Mistake(
        NOTES,
        "notes: Task about another claim",
        follow_up(ehr_create=write_task_with(focus={"reference": "Claim/claim-0052-2"})),
        OTHER_CHANGES,
    ),
    Mistake(NOTES, "notes: answered in process", answer_with(follow_up(), status="in process"), SAID),
    Mistake(
        NOTES,
        "notes: Task before the question",
        write_task_before_asking,
        "The payer was asked before the Task was written",
    ),
    Mistake(NOTES, "notes: eligibility asked too", check_eligibility_too, CLAIMS_ONLY),
    Mistake(
        DENIED,
        "denied: authorization that had expired",
        follow_up(ehr_create=describe_task_with(r"A\d+", "A402117365")),
        "A Task names the authorization that covers the service",
    ),
    Mistake(
        DENIED,
        "denied: authorization for another service",
        follow_up(ehr_create=describe_task_with(r"A\d+", "A733904412")),
        "A Task names the authorization that covers the service",
    ),
    Mistake(
        DENIED,
        "denied: new authorization requested",
        request_authorization_too("request"),
        "No authorization was requested, changed or cancelled",
    ),
    Mistake(
        DENIED,
        "denied: authorization cancelled",
        request_authorization_too("cancel"),
        "No authorization was requested, changed or cancelled",
    ),
    Mistake(DENIED, "denied: appealed", request_authorization_too("appeal"), "Nothing was appealed"),
    Mistake(
        DENIED,
        "denied: notes sent",
        follow_up(ehr_create=write_task_with(code={"text": "Send notes"})),
        "A Task names the authorization that covers the service",
    ),
    Mistake(DENIED, "denied: answered pended", answer_with(follow_up(), status="pended"), SAID),
    Mistake(
        PAID,
        "paid: earlier payment added",
        follow_up(ehr_create=describe_task_with(r"31\.08", "209.08")),
        "A Task states what the patient owes",
    ),
    Mistake(
        PAID,
        "paid: contractual adjustment billed",
        follow_up(ehr_create=describe_task_with(r"31\.08", "66.68")),
        "A Task states what the patient owes",
    ),
    Mistake(
        PAID,
        "paid: copay only",
        follow_up(ehr_create=describe_task_with(r"31\.08", "25.00")),
        "A Task states what the patient owes",
    ),
    Mistake(
        PAID,
        "paid: earlier payment named",
        follow_up(ehr_create=describe_task_with(r"EFT\d+", "EFT301882945")),
        "A Task states what the patient owes",
    ),
    Mistake(PAID, "paid: charge answered", answer_with(follow_up(), paid=178), SAID),
    Mistake(
        PAID,
        "paid: second payer asked",
        follow_up(clearing_send=ask_second_payer),
        ASKED,
    ),
    Mistake(PAID, "paid: remittance deleted", delete_remittance, "No file was deleted"),
    Mistake(LOST, "lost: another claim reported", report_other_claim, ASKED),
    Mistake(LOST, "lost: claim created again", file_claim_again, OTHER_CHANGES),
    Mistake(LOST, "lost: no Task", follow_up(ehr_create=do_nothing), "A Task says that the claim was not received"),
    Mistake(
        LOST,
        "lost: notes sent",
        follow_up(ehr_create=write_task_with(code={"text": "Send notes"})),
        "A Task says that the claim was not received",
    ),
    Mistake(LOST, "lost: answered denied", answer_with(follow_up(), status="denied"), SAID),
    Mistake(
        LOST,
        "lost: asked as the hospital",
        follow_up(clearing_send=replace_edi(("XX*9999900019", "XX*9999900027"))),
        ASKED,
    ),
    Mistake(IN_PROCESS, "in process: notes sent", leave_notes_task, "Nothing was changed in the chart"),
    Mistake(IN_PROCESS, "in process: answered pended", answer_with(follow_up(), status="pended"), SAID),
    Mistake(IN_PROCESS, "in process: charge as payment", answer_with(follow_up(), paid=254), SAID),
    Mistake(
        IN_PROCESS,
        "in process: our number answered",
        answer_with(follow_up(), claim_number="C008104"),
        SAID,
    ),
]


WRONG: list[Mistake] = [
    *FOLLOW_UP_MISTAKES,
    *(
        Mistake(task, "another patient asked about", follow_up(clearing_send=ask_about_diego_first), OTHER_PERSON)
        for task in (NOTES, PAID, LOST, IN_PROCESS)
    ),
    Mistake(DENIED, "stranger asked about", do_also("claim_follow_up", ask_about_stranger), OTHER_PERSON),
]
RIGHT: dict[str, tuple[str, Agent]] = {
    "claims found by their day": ("Follow up claim *", follow_up(clearing_send=ask_by_day)),
    "claims asked about after a wrong birth date": (
        "Follow up claim *",
        follow_up(clearing_send=mistype_birth_date_first),
    ),
}
