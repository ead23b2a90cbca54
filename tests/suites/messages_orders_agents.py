"""Wrong solutions for the tasks of `suites/messages` in which an agent asks a CDS service about orders."""

from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

from tests.suites.messages_hooks_agents import answer_instead
from tests.suites.messages_hooks_ways import ASKING, Json, change_solution
from tests.suites.messages_ways import MESSAGES
from tests.suites.overridden_solutions import Agent, Verb, act_after, call_twice, do_nothing, load_solution
from tests.suites.suite_checks import Mistake

ask = partial(change_solution, "ask_before_orders_are_signed")
ASK = ASKING["ask_before_orders_are_signed"]
ALLERGY, INTERACTION = (
    "Amoxicillin was cancelled because of the allergy",
    "Naproxen was cancelled because of the interaction",
)
WARNING = "The service was told what Dr. Pawlak decided about the warning"
AMOXICILLIN = "The service was told that its card on amoxicillin was accepted"
UNCHANGED = "Nothing else was changed in the chart"


def leave_out(key: str) -> Verb:
    """Override `advisor.call_service` so that a value of the prefetch is missing."""
    return lambda call, service, hook, instance, context, prefetch: call(
        service, hook, instance, context, {**prefetch, key: None}
    )


def change_orders(change: Callable[[Json], Json]) -> Verb:
    """Override `ehr.update` so that orders have other elements."""
    return lambda update, order: update(change(order))


def sign_first(call: Verb, sandboxes: Any) -> Verb:
    """Override `advisor.call_service` so that each order is signed before the call."""

    def call_service(straight: Verb, service: str, hook: str, instance: str, context: Json, prefetch: Json) -> Any:
        call(sandboxes, context["draftOrders"]["entry"][0]["resource"])
        return straight(service, hook, instance, context, prefetch)

    return call_service


def sign_before_asking(task_item: Any, sandboxes: Any) -> Any:
    """Sign each order, then ask, and change it again by the answer."""

    def sign(sandboxes: Any, order: Json) -> None:
        sandboxes["ehr"].update({**order, "status": "active"})

    return ask(advisor_call_service=sign_first(sign, sandboxes), ehr_update=update_if_needed)(task_item, sandboxes)


def update_if_needed(update: Verb, order: Json) -> Any:
    """Update an order unless it is to be signed, which happened before."""
    return None if order["status"] == "active" else update(order)


def sign_all(task_item: Any, sandboxes: Any) -> Any:
    """Sign every order whatever the service says."""
    return ask(ehr_update=change_orders(sign))(task_item, sandboxes)


def sign(order: Json) -> Json:
    """Return an order as it is signed."""
    return {**{key: value for key, value in order.items() if key != "statusReason"}, "status": "active"}


def sign_draft_of_another(sandboxes: Any) -> None:
    """Sign the draft for a patient who is not part of the work."""
    order = sandboxes["ehr"].read("MedicationRequest", "draft-0037-1")
    sandboxes["ehr"].update({**order, "status": "active"})


def ask_about_another(sandboxes: Any) -> None:
    """Ask the service about a patient who is not part of the work."""
    order = {"resourceType": "MedicationRequest", "id": "x", "medicationCodeableConcept": {"text": "ibuprofen"}}
    bundle = {"resourceType": "Bundle", "type": "collection", "entry": [{"resource": order}]}
    context = {"userId": "Practitioner/prac-01-nurse", "patientId": "pat-0037", "draftOrders": bundle}
    prefetch = dict.fromkeys(("allergies", "medications", "orders"))
    sandboxes["advisor"].call_service("order-safety", "order-sign", str(UUID(int=7)), context, prefetch)


def open_another_chart(sandboxes: Any) -> None:
    """Read the prescriptions of a patient who is not part of the work."""
    sandboxes["ehr"].search("MedicationRequest", patient="pat-0037")


def tolerate(card: Json) -> Json:
    """Return feedback that overrides a card for another reason than the doctor's."""
    reason = {"code": "tolerated", "system": "urn:other"}
    return {"card": card["uuid"], "outcome": "overridden", "overrideReason": {"reason": reason}}


WRONG_SIGNATURES = [
    Mistake(ASK, "does not send allergies", ask(advisor_call_service=leave_out("allergies")), ALLERGY),
    Mistake(ASK, "does not send medication", ask(advisor_call_service=leave_out("medications")), INTERACTION),
    Mistake(ASK, "signs everything", sign_all, INTERACTION),
    Mistake(
        ASK,
        "cancels in its own words",
        ask(ehr_update=change_orders(lambda order: reword(order, "An allergy"))),
        ALLERGY,
    ),
    Mistake(ASK, "does not report", ask(advisor_feedback=do_nothing), AMOXICILLIN),
    Mistake(ASK, "reports twice", ask(advisor_feedback=call_twice), "Each card got one report"),
    Mistake(ASK, "gives another reason", ask(functions={"override": tolerate}), WARNING),
    Mistake(ASK, "overrides critical cards", ask(functions={"accept": tolerate}), AMOXICILLIN),
    Mistake(ASK, "signs before it asks", sign_before_asking, "Asked about acetaminophen before it was changed"),
    Mistake(
        ASK,
        "changes the dosage",
        ask(ehr_update=change_orders(lambda order: {**order, "dosageInstruction": [{"text": "Take 40"}]})),
        UNCHANGED,
    ),
    Mistake(ASK, "signs the draft of another", act_after(ask(), sign_draft_of_another), UNCHANGED),
    Mistake(
        ASK,
        "asks about another patient",
        act_after(ask(), ask_about_another),
        "The service was asked about these patients only",
    ),
    Mistake(ASK, "opens another chart", act_after(ask(), open_another_chart), "No other patient's chart was opened"),
    Mistake(
        ASK,
        "answers that all was signed",
        answer_instead(ask(), cancelled=[]),
        "The answer lists what was signed and what was cancelled",
    ),
]


def reword(order: Json, text: str) -> Json:
    """Return an order with another reason, if it has one."""
    return {**order, "statusReason": {"text": text}} if "statusReason" in order else order


decide = partial(change_solution, "decide_about_duplicate_orders")
DECIDE = ASKING["decide_about_duplicate_orders"]
A1C, MAGNESIUM = "The A1c was revoked as a duplicate", "The magnesium was signed for its reason"
REASON = "The service was told why the magnesium is repeated"
fetch_as_asked = load_solution(MESSAGES, "decide_about_duplicate_orders").__globals__["fetch"]
"""The function of the solution that answers prefetch templates."""


def fetch_active(ehr: Any, service: Json, patient: str) -> Json:
    """Send active orders only."""
    values: Json = fetch_as_asked(ehr, service, patient)
    active = [each for each in values["orders"]["entry"] if each["resource"]["status"] == "active"]
    return {**values, "orders": {**values["orders"], "entry": active}}


def take_any_note(order: Json) -> str | None:
    """Take any note for a reason."""
    return next((note["text"] for note in order.get("note", ())), None)


def sign_tests_first(task_item: Any, sandboxes: Any) -> Any:
    """Sign the orders that are wanted before the service is asked."""

    def sign_wanted(sandboxes: Any, order: Json) -> None:
        if order["id"] in ("draft-0010-2", "draft-0010-3"):
            sandboxes["ehr"].update({**order, "status": "active"})

    agent: Agent = decide(advisor_call_service=sign_first(sign_wanted, sandboxes), ehr_update=update_if_needed)
    return agent(task_item, sandboxes)


COMMENTED = {"outcome": "overridden", "overrideReason": {"userComment": "Wanted by the clinician"}}
WRONG_DECISIONS = [
    Mistake(DECIDE, "sends active orders only", decide(functions={"fetch": fetch_active}), A1C),
    Mistake(DECIDE, "takes any note for a reason", decide(functions={"find_reason": take_any_note}), A1C),
    Mistake(DECIDE, "revokes every duplicate", decide(functions={"find_reason": lambda _: None}), MAGNESIUM),
    Mistake(DECIDE, "gives a reason of its own", decide(functions={"override": lambda _: COMMENTED}), REASON),
    Mistake(
        DECIDE, "signs everything", decide(ehr_update=change_orders(sign)), "The albumin was revoked as a duplicate"
    ),
    Mistake(
        DECIDE,
        "revokes everything",
        decide(ehr_update=change_orders(lambda order: {**order, "status": "revoked"})),
        "The lipids were signed",
    ),
    Mistake(DECIDE, "does not report", decide(advisor_feedback=do_nothing), REASON),
    Mistake(DECIDE, "reports twice", decide(advisor_feedback=call_twice), "Each card got one report"),
    Mistake(DECIDE, "signs before it asks", sign_tests_first, "Asked about the magnesium before the order was changed"),
    Mistake(
        DECIDE,
        "adds a note",
        decide(ehr_update=change_orders(lambda order: {**order, "note": [{"text": "Done"}]})),
        UNCHANGED,
    ),
    Mistake(
        DECIDE, "opens another chart", act_after(decide(), open_another_chart), "No other patient's chart was opened"
    ),
    Mistake(
        DECIDE,
        "asks about another patient",
        act_after(decide(), ask_about_another),
        "The service was asked about this patient only",
    ),
    Mistake(
        DECIDE,
        "answers that nothing was revoked",
        answer_instead(decide(), revoked=[]),
        "The answer lists what was signed and what was revoked",
    ),
]
WRONG = [*WRONG_SIGNATURES, *WRONG_DECISIONS]
