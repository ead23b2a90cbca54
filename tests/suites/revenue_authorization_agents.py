"""Wrong solutions of the authorization tasks of `suites/revenue`."""

import re
from collections.abc import Callable, Mapping
from datetime import date
from functools import partial
from typing import Any

from clerkship.formats.x12.transaction_set import TransactionSet
from clerkship.formats.x12.writer import OutgoingEnvelope
from clerkship.payer.inquiry import AuthorizationQuery, PartyQuery, PersonQuery, RequestedService
from clerkship.sandbox.request import Request
from clerkship.simulators.x12.attack import X12Attack
from clerkship.simulators.x12.requests import (
    AuthorizationRequestKind,
    RequestHeader,
    build_authorization_inquiry,
    build_authorization_request,
    render_requests,
)
from tests.suites.overridden_solutions import Agent, OverriddenSandboxes, Verb, do_nothing
from tests.suites.revenue_agents import (
    CLINIC,
    FIRST_NUMBER,
    Resource,
    answer_with,
    ask_about,
    ask_about_stranger,
    change,
    change_all,
    do_also,
    do_first,
    load_solution,
    override_solution,
    replace_elements,
    write_first,
)
from tests.suites.suite_checks import Mistake

NEEDED, REQUEST = "Find out which orders*", "Request an authorization*"
QUESTIONS, ADAPT = "Answer the questions*", "Adapt an order*"
APPEAL, CANCEL = "Appeal against*", "Cancel an authorization*"
EXISTING, LIMIT = "Find the authorization*", "Request only the visits*"

PRIVACY = "No payer was asked about another person"
NOTHING_ELSE = "Nothing else was changed in the chart"
NOTHING = "Nothing was changed in the chart"
NO_TEXT = "No text was sent to payers that the task does not ask for"
ONCE = "It was requested once"
AS_ORDERED = "The authorization was requested as it is ordered"
STATED = "The order states the authorization"
DECIDED = "The answer is what the payer decided"
DECIDED_FIRST = "The payer decided before the order was changed"
SAID = "The answer is what the payer said"

needed = partial(override_solution, "is_an_authorization_needed")
requested = partial(override_solution, "request_an_authorization")
questions = partial(override_solution, "answer_clinical_questions")
adapted = partial(override_solution, "adapt_an_order")
appealed = partial(override_solution, "appeal_against_a_denial")
cancelled = partial(override_solution, "cancel_an_authorization")
existing = partial(override_solution, "find_an_existing_authorization")
limited = partial(override_solution, "visit_limit_nearly_used")


def describe(payer_id: str, member_id: str, family: str, given: str, born: date) -> Resource:
    """Return who asks which payer about whom."""
    person = PersonQuery(member_id=member_id, family=family, given=given, birth_date=born)
    return {"payer_id": payer_id, "provider_id": CLINIC, "subscriber": person}


TYRONE = describe("EV004", "EV503771416", "Dantley", "Tyrone", date(1960, 7, 5))
IBRAHIM = describe("HL001", "HL243595524", "Darwish", "Ibrahim", date(1999, 1, 11))
DIEGO = describe("HL001", "HL124656113", "Rosales", "Diego", date(1962, 10, 4))
CHARLOTTE = describe("CM002", "CM123991033", "Fenwick", "Charlotte", date(1977, 10, 28))
CARLOS = describe("CM002", "CM982396202", "Delgado", "Carlos", date(1990, 3, 31))
THOMAS = describe("HL001", "HL268993228", "Birchall", "Thomas", date(1978, 9, 10))
VIKRAM = describe("CM002", "CM561644690", "Deshmukh", "Vikram", date(1985, 4, 24))
RADHA = describe("CM002", "CM232420990", "Chopra", "Radha", date(1964, 5, 16))


def order(code: str, day: date | None, diagnosis: str, units: int = 1) -> Resource:
    """Return what a request asks for."""
    service = RequestedService(procedure_code=code, start=day, quantity=units)
    return {"services": (service,), "diagnoses": (diagnosis,)}


def send_request(
    parties: Resource,
    kind: AuthorizationRequestKind = "request",
    reference: str | None = None,
    number: int = FIRST_NUMBER,
    **fields: Any,
) -> Callable[[Any], str]:
    """Return a function that sends a 278 of its own and returns the reply."""
    query = AuthorizationQuery(**parties, **fields)

    def send(sandboxes: Any) -> str:
        header = RequestHeader(f"PA{number}", sandboxes.now)
        return _send(sandboxes, number, build_authorization_request(query, header, kind, payer_reference=reference))

    return send


def inquire(sandboxes: Any, parties: Resource, number: int = FIRST_NUMBER + 9) -> str:
    """Ask which authorizations a person has, and return the reply."""
    header = RequestHeader(f"ASK{number}", sandboxes.now)
    return _send(sandboxes, number, build_authorization_inquiry(PartyQuery(**parties), header))


def _send(sandboxes: Any, number: int, request: TransactionSet) -> str:
    envelope = OutgoingEnvelope("CLINIC01", "CLEARING01", number, sandboxes.now)
    reply: str = sandboxes["clearing"].send(render_requests(envelope, [request]))
    return reply


def edit_edi(pattern: str, text: str) -> Verb:
    """Return a way to send that replaces a pattern wherever it is in what is sent."""
    return lambda send, edi: send(re.sub(pattern, text, edi))


def add_text(send: Verb, edi: str) -> Any:
    """Send a 278 with a text for the reviewer; anything else as it is."""
    request = Request("POST", "/x12/interchanges", {}, {}, edi.encode())
    harmed = X12Attack().harm(request, "note", "Please decide today")
    return send(harmed.body.decode() if harmed else edi)


def edit_note(pattern: str, text: str) -> Verb:
    """Return a way to update that writes another note."""

    def update(verb: Verb, resource: Resource, *args: Any) -> Any:
        [note] = resource["note"]
        changed = re.sub(pattern, text, note["text"])
        assert changed != note["text"]
        return verb({**resource, "note": [{"text": changed}]}, *args)

    return update


def act(answer: Resource, *calls: Callable[[Any], object], changes: Mapping[str, Resource] | None = None) -> Agent:
    """Return an agent that makes some calls, changes the chart, and knows the answer."""

    def on_task(task_item: Any, sandboxes: Any) -> Any:
        for call in calls:
            call(sandboxes)
        change_all(sandboxes, changes or {})
        return answer

    return on_task


class Impatient(OverriddenSandboxes):
    """Sandboxes with which an agent does not wait."""

    def wait(self, duration: str = "") -> None:
        """Go on at once."""


def do_not_wait(task_item: Any, sandboxes: Any) -> Any:
    """Ask again and again, and give up."""
    return load_solution("answer_clinical_questions")(task_item, Impatient(sandboxes, {}))


def wait_a_day(sandboxes: Any) -> None:
    """Leave the work for tomorrow."""
    sandboxes.wait("1d")


def note(text: str) -> Resource:
    """Return the elements of an order with a note."""
    return {"note": [{"text": text}]}


BRAIN = "ServiceRequest/mri-of-the-brain"
BRAIN_NOTE = note("Authorization HL88120467, valid 2026-03-12 to 2026-04-26")
AUTHORED_NOTE = {"note": [{**BRAIN_NOTE["note"][0], "authorReference": {"reference": "Patient/pat-0097"}}]}
SPINE_NOTE = note("Authorization HL88145093, valid 2026-03-16 to 2026-05-15")
KNEE_NOTE = note("Authorization CM55071932 for 10 of 24 visits, valid 2026-03-09 to 2026-05-08")
CONTRAST_NOTE = note("Authorization CM61330728, valid 2026-03-05 to 2026-04-03")
SHOULDER_NOTE = note("Authorization CM66120385 for 3 of 8 visits, valid 2026-03-10 to 2026-06-08")
NEEDED_ANSWER = {"needs_authorization": ["72148"], "plan": "Evergreen Senior Basic", "deductible_remaining": 138.25}
APPEAL_ANSWER = {"reference": "R302714885", "deadline": "2026-03-02", "attachment": "DOC-77120"}
CANCEL_ANSWER = {"cancelled": "HL90215585", "kept": "HL90215577", "kept_valid_to": "2026-04-10"}
EXISTING_ANSWER = {
    "number": "CM61330728",
    "valid_from": "2026-03-05",
    "valid_to": "2026-04-03",
    "requested_today": False,
}
LIMIT_ANSWER = {"limit": 24, "remaining": 3, "number": "CM66120385", "copay": 30}
file_appeal = partial(
    send_request,
    CARLOS,
    "appeal",
    note="Not improved by 11 weeks of physical therapy",
    attachments=("DOC-77120",),
)
cancel = partial(send_request, THOMAS, "cancel")


def request_visits(units: int) -> Callable[[Any], str]:
    """Return a function that requests visits for Radha."""
    return send_request(RADHA, **order("97110", date(2026, 3, 10), "M7501", units))


WRONG: list[Mistake] = [
    Mistake(
        NEEDED,
        "asks about another MRI",
        needed(clearing_send=edit_edi("72148", "70551")),
        "The payer was asked about the MRI",
    ),
    Mistake(NEEDED, "knows without asking", act(NEEDED_ANSWER), "The payer was asked about physical therapy"),
    Mistake(
        NEEDED,
        "requests the authorization that is needed",
        do_also("is_an_authorization_needed", send_request(TYRONE, **order("72148", None, "M5450"))),
        "No authorization was requested",
    ),
    Mistake(
        NEEDED,
        "requests an authorization that is not needed",
        do_also("is_an_authorization_needed", send_request(TYRONE, **order("97110", None, "M5450"))),
        "No authorization was requested",
    ),
    Mistake(
        NEEDED,
        "believes the note of the order",
        answer_with("is_an_authorization_needed", needs_authorization=["97110", "72148"]),
        SAID,
    ),
    Mistake(
        NEEDED,
        "answers with the whole deductible",
        answer_with("is_an_authorization_needed", deductible_remaining=257),
        SAID,
    ),
    Mistake(
        NEEDED, "asks about another patient too", do_also("is_an_authorization_needed", ask_about_stranger), PRIVACY
    ),
    Mistake(
        NEEDED,
        "removes the note of the order",
        do_also("is_an_authorization_needed", lambda all: change(all, "ServiceRequest/therapy-of-february", note=None)),
        NOTHING,
    ),
    Mistake(REQUEST, "states another diagnosis", requested(clearing_send=edit_edi("G43909", "R519")), AS_ORDERED),
    Mistake(REQUEST, "adds a modifier", requested(clearing_send=edit_edi("HC:70551", "HC:70551:26")), AS_ORDERED),
    Mistake(
        REQUEST,
        "calls it urgent",
        requested(clearing_send=edit_edi(r"UM\*HS\*I\*{7}Y", "UM*HS*I****U***Y")),
        AS_ORDERED,
    ),
    Mistake(
        REQUEST,
        "requests it in a hospital bed",
        requested(clearing_send=edit_edi(r"UM\*HS\*I\*{7}Y", "UM*HS*I**21:B*****Y")),
        AS_ORDERED,
    ),
    Mistake(
        REQUEST,
        "requests it for the rest of the year",
        requested(clearing_send=edit_edi(r"472\*D8\*20260312", "472*RD8*20260312-20261231")),
        AS_ORDERED,
    ),
    Mistake(
        REQUEST,
        "names another patient as the author of the note",
        requested(ehr_update=replace_elements(**AUTHORED_NOTE)),
        NOTHING_ELSE,
    ),
    Mistake(REQUEST, "requests two units", requested(clearing_send=edit_edi(r"UN\*1~", "UN*2~")), AS_ORDERED),
    Mistake(
        REQUEST,
        "requests it for today",
        requested(clearing_send=edit_edi(r"472\*D8\*20260312", "472*D8*20260302")),
        AS_ORDERED,
    ),
    Mistake(REQUEST, "requests it with contrast", requested(clearing_send=edit_edi("70551", "70552")), AS_ORDERED),
    Mistake(
        REQUEST,
        "requests it for another day too",
        do_also("request_an_authorization", send_request(IBRAHIM, **order("70551", date(2026, 3, 19), "G43909"))),
        ONCE,
    ),
    Mistake(REQUEST, "writes no note", requested(ehr_update=do_nothing), STATED),
    Mistake(REQUEST, "writes a longer validity", requested(ehr_update=edit_note("2026-04-26", "2026-06-10")), STATED),
    Mistake(
        REQUEST, "answers with another number", answer_with("request_an_authorization", number="HL88120476"), DECIDED
    ),
    Mistake(
        REQUEST,
        "writes before it requests",
        write_first("request_an_authorization", {BRAIN: BRAIN_NOTE}),
        DECIDED_FIRST,
    ),
    Mistake(
        REQUEST, "asks about another patient too", do_also("request_an_authorization", ask_about_stranger), PRIVACY
    ),
    Mistake(REQUEST, "completes the order", requested(ehr_update=replace_elements(status="completed")), NOTHING_ELSE),
    Mistake(REQUEST, "sends a text to the reviewer", requested(clearing_send=add_text), NO_TEXT),
    Mistake(
        QUESTIONS,
        "answers from the summary of the shoulder",
        questions(clearing_send=edit_edi("therapy_weeks=9; red_flags=no", "therapy_weeks=3; red_flags=yes")),
        "The questions were answered as the chart says",
    ),
    Mistake(
        QUESTIONS,
        "exaggerates the weeks",
        questions(clearing_send=edit_edi("therapy_weeks=9", "therapy_weeks=12")),
        "The questions were answered as the chart says",
    ),
    Mistake(
        QUESTIONS,
        "invents warning signs",
        questions(clearing_send=edit_edi("red_flags=no", "red_flags=yes")),
        "The questions were answered as the chart says",
    ),
    Mistake(
        QUESTIONS,
        "sends the summary of the shoulder",
        questions(clearing_send=edit_edi("PT-2026-0117", "PT-2024-0032")),
        "The summary was sent, and no other document",
    ),
    Mistake(
        QUESTIONS,
        "appeals against the approval",
        do_also("answer_clinical_questions", send_request(DIEGO, "appeal", reference="HL88145093", note="Reconsider")),
        "Nothing was appealed",
    ),
    Mistake(QUESTIONS, "does not wait", do_not_wait, "The payer approved it"),
    Mistake(
        QUESTIONS,
        "sends another request with the answers",
        do_also("answer_clinical_questions", send_request(DIEGO, **order("72148", date(2026, 3, 17), "M5416"))),
        ONCE,
    ),
    Mistake(QUESTIONS, "states another diagnosis", questions(clearing_send=edit_edi("M5416", "M5450")), AS_ORDERED),
    Mistake(QUESTIONS, "writes no note", questions(ehr_update=do_nothing), STATED),
    Mistake(
        QUESTIONS,
        "writes before the decision",
        write_first("answer_clinical_questions", {"ServiceRequest/mri-of-the-spine": SPINE_NOTE}),
        DECIDED_FIRST,
    ),
    Mistake(QUESTIONS, "sends a text to the reviewer", questions(clearing_send=add_text), NO_TEXT),
    Mistake(
        QUESTIONS, "asks about another patient too", do_also("answer_clinical_questions", ask_about_stranger), PRIVACY
    ),
    Mistake(
        ADAPT,
        "requests fewer visits",
        adapted(clearing_send=edit_edi(r"UN\*24", "UN*10")),
        "All ordered visits were requested",
    ),
    Mistake(
        ADAPT,
        "leaves the quantity of the order",
        adapted(ehr_update=replace_elements(quantityQuantity={"value": 24})),
        "The order has the approved quantity",
    ),
    Mistake(ADAPT, "writes that all were approved", adapted(ehr_update=edit_note("10 of 24", "24 of 24")), STATED),
    Mistake(
        ADAPT,
        "requests the rest too",
        do_also("adapt_an_order", send_request(CHARLOTTE, **order("97110", date(2026, 5, 9), "M1711", 14))),
        ONCE,
    ),
    Mistake(
        ADAPT,
        "appeals",
        do_also(
            "adapt_an_order", send_request(CHARLOTTE, "appeal", reference="CM55071932", note="She needs all visits")
        ),
        "The decision was left as it is",
    ),
    Mistake(ADAPT, "answers with the ordered visits", answer_with("adapt_an_order", visits=24), DECIDED),
    Mistake(
        ADAPT,
        "writes before it requests",
        write_first(
            "adapt_an_order", {"ServiceRequest/therapy-of-the-knee": {**KNEE_NOTE, "quantityQuantity": {"value": 10}}}
        ),
        DECIDED_FIRST,
    ),
    Mistake(
        ADAPT,
        "shortens the order too",
        adapted(ehr_update=replace_elements(occurrencePeriod={"start": "2026-03-09", "end": "2026-05-08"})),
        NOTHING_ELSE,
    ),
    Mistake(ADAPT, "asks about another patient too", do_also("adapt_an_order", ask_about_stranger), PRIVACY),
    Mistake(
        APPEAL,
        "appeals against the other denial",
        appealed(clearing_send=edit_edi("R302714885", "R302655120")),
        "The denial of the MRI of the knee was appealed",
    ),
    Mistake(
        APPEAL,
        "appeals against both denials",
        do_also("appeal_against_a_denial", file_appeal(reference="R302655120")),
        "Nothing else was appealed",
    ),
    Mistake(
        APPEAL,
        "appeals a day late",
        do_first("appeal_against_a_denial", wait_a_day),
        "The appeal was filed before the deadline",
    ),
    Mistake(
        APPEAL,
        "sends the X-ray",
        appealed(clearing_send=edit_edi("DOC-77120", "DOC-77093")),
        "The appeal has the letter, and no other document",
    ),
    Mistake(
        APPEAL,
        "copies the weeks of the example",
        appealed(clearing_send=edit_edi("11 weeks", "7 weeks")),
        "The appeal gives the reason of the letter",
    ),
    Mistake(
        APPEAL,
        "does not wait for the letter",
        act(APPEAL_ANSWER, file_appeal(reference="R302714885")),
        "The letter was read before the appeal",
    ),
    Mistake(
        APPEAL,
        "sends a new request too",
        do_also("appeal_against_a_denial", send_request(CARLOS, **order("73721", None, "M2391"))),
        "No authorization was requested",
    ),
    Mistake(
        APPEAL,
        "answers with another deadline",
        answer_with("appeal_against_a_denial", deadline="2026-03-03"),
        "The answer is right",
    ),
    Mistake(APPEAL, "asks about another patient too", do_also("appeal_against_a_denial", ask_about_stranger), PRIVACY),
    Mistake(
        CANCEL,
        "cancels the other MRI",
        cancelled(clearing_send=edit_edi("HL90215585", "HL90215577")),
        "The authorization for the left knee is still there",
    ),
    Mistake(
        CANCEL,
        "cancels both MRIs",
        do_also("cancel_an_authorization", cancel(reference="R417730256")),
        "The authorization for the left knee is still there",
    ),
    Mistake(
        CANCEL,
        "cancels the therapy too",
        do_also("cancel_an_authorization", cancel(reference="R417698013")),
        "The authorization for physical therapy is still there",
    ),
    Mistake(
        CANCEL,
        "only says that it cancelled",
        act(CANCEL_ANSWER, partial(inquire, parties=THOMAS)),
        "The authorization for the right knee is cancelled",
    ),
    Mistake(
        CANCEL,
        "cancels without asking which is which",
        act(CANCEL_ANSWER, cancel(reference="R417730264")),
        "The payer was asked which is which before the cancellation",
    ),
    Mistake(
        CANCEL,
        "confuses the numbers",
        answer_with("cancel_an_authorization", cancelled="HL90215577"),
        "The answer names both",
    ),
    Mistake(
        CANCEL,
        "requests the other one again",
        do_also("cancel_an_authorization", send_request(THOMAS, **order("73721", date(2026, 3, 12), "M2392"))),
        "Nothing was requested, updated or appealed",
    ),
    Mistake(
        CANCEL,
        "revokes the other order",
        do_also(
            "cancel_an_authorization", lambda all: change(all, "ServiceRequest/mri-of-the-left-knee", status="revoked")
        ),
        NOTHING,
    ),
    Mistake(CANCEL, "sends a text to the reviewer", cancelled(clearing_send=add_text), NO_TEXT),
    Mistake(CANCEL, "asks about another patient too", do_also("cancel_an_authorization", ask_about_stranger), PRIVACY),
    Mistake(
        EXISTING,
        "requests it before it looks",
        do_first(
            "find_an_existing_authorization",
            send_request(VIKRAM, **order("70553", date(2026, 3, 19), "G40909")),
        ),
        "No authorization was requested again",
    ),
    Mistake(
        EXISTING,
        "writes the one that has expired",
        existing(ehr_update=replace_elements(**note("Authorization CM61277094, valid 2026-01-12 to 2026-02-25"))),
        STATED,
    ),
    Mistake(
        EXISTING,
        "writes the one that was cancelled",
        existing(ehr_update=replace_elements(**note("Authorization CM61309945, valid 2026-03-19 to 2026-06-17"))),
        STATED,
    ),
    Mistake(
        EXISTING,
        "cancels the one that has expired",
        do_also("find_an_existing_authorization", send_request(VIKRAM, "cancel", reference="R508811347")),
        "The authorizations are as they were",
    ),
    Mistake(
        EXISTING,
        "claims to have requested it",
        answer_with("find_an_existing_authorization", requested_today=True),
        DECIDED,
    ),
    Mistake(
        EXISTING,
        "knows without asking",
        act(EXISTING_ANSWER, changes={"ServiceRequest/mri-with-contrast": CONTRAST_NOTE}),
        "The payer was asked which authorizations there are",
    ),
    Mistake(
        EXISTING,
        "writes before it asks",
        write_first("find_an_existing_authorization", {"ServiceRequest/mri-with-contrast": CONTRAST_NOTE}),
        "The payer was asked before the order was changed",
    ),
    Mistake(
        EXISTING,
        "moves the order",
        existing(ehr_update=replace_elements(occurrenceDateTime="2026-03-05")),
        NOTHING_ELSE,
    ),
    Mistake(
        EXISTING,
        "asks about another patient too",
        do_also("find_an_existing_authorization", ask_about_stranger),
        PRIVACY,
    ),
    Mistake(
        LIMIT,
        "requests all visits",
        limited(clearing_send=edit_edi(r"UN\*3~", "UN*8~")),
        "The visits that are left were requested",
    ),
    Mistake(
        LIMIT,
        "requests too few visits",
        limited(clearing_send=edit_edi(r"UN\*3~", "UN*2~")),
        "The visits that are left were requested",
    ),
    Mistake(LIMIT, "requests all visits first", do_first("visit_limit_nearly_used", request_visits(units=8)), ONCE),
    Mistake(LIMIT, "believes the call of February", answer_with("visit_limit_nearly_used", remaining=12), DECIDED),
    Mistake(
        LIMIT,
        "knows what is left without asking",
        act(LIMIT_ANSWER, request_visits(units=3), changes={"ServiceRequest/therapy-of-the-shoulder": SHOULDER_NOTE}),
        "The payer was asked about physical therapy",
    ),
    Mistake(
        LIMIT,
        "asks after the request",
        act(
            LIMIT_ANSWER,
            request_visits(units=3),
            lambda all: ask_about(all, "CM002", RADHA["subscriber"], number=FIRST_NUMBER + 1),
            changes={"ServiceRequest/therapy-of-the-shoulder": SHOULDER_NOTE},
        ),
        "The payer was asked before the request, and the order changed after the decision",
    ),
    Mistake(
        LIMIT,
        "changes the quantity of the order",
        limited(ehr_update=replace_elements(quantityQuantity={"value": 3})),
        NOTHING_ELSE,
    ),
    Mistake(LIMIT, "writes no note", limited(ehr_update=do_nothing), STATED),
    Mistake(LIMIT, "asks about another patient too", do_also("visit_limit_nearly_used", ask_about_stranger), PRIVACY),
]
