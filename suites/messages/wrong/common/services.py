"""Wrong solutions of the tasks in which an agent offers a CDS service: the service of the reference, changed."""

import json
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from threading import Event
from urllib.parse import parse_qsl

from clerkship.plugin import override_methods
from clerkship.plugin.cds_hooks import describe_service

CHART = {"label": "Chart of Goodwin, Cai, Ogden, Gao", "url": "https://riverbend.example/chart", "type": "absolute"}
CLEAN_UP = {
    "label": "Clean up",
    "uuid": "clean-up",
    "actions": [{"type": "delete", "description": "Delete", "resourceId": "MedicationRequest/med-0086-warfarin"}],
}
CARD = {"summary": "Ibuprofen and warfarin", "indicator": "warning", "source": {"label": "Check"}}
PAINKILLERS = ("ibuprofen", "naproxen", "Diclofenac")
KEPT = ("resourceType", "id", "status", "statusReason", "intent", "subject", "medicationCodeableConcept")
"""Elements of a prescription without its dosage."""


def change_service(change):
    """Return a solution with its service changed."""

    def solution(task_item, sandboxes, reference):
        def serve(original, services, on_feedback=None):
            if isinstance(services, dict):
                services = [describe_service(hook, answer) for hook, answer in services.items()]
            return original([change(service) for service in services], on_feedback)

        return reference(task_item, override_methods(sandboxes, {"hooks.serve": serve}))

    return solution


def change_answers(change):
    """Return a solution whose service answers something else; `change` gets the request and the right cards."""
    return change_service(
        lambda service: replace(service, answer=lambda request: change(request, service.answer(request)))
    )


def change_cards(change):
    """Return a solution whose cards are changed."""
    return change_answers(lambda _, cards: [change(card) for card in cards])


def set_fields(**fields):
    """Return a solution whose cards have other fields."""
    return change_cards(lambda card: {**card, **fields})


def change_resources(change):
    """Return a solution whose suggestions have other resources."""

    def change_card(card):
        for suggestion in card["suggestions"]:
            for action in suggestion["actions"]:
                action["resource"] = change(action["resource"])
        return card

    return change_cards(change_card)


def set_elements(**elements):
    """Return a solution whose suggestions have resources with other elements."""
    return change_resources(lambda resource: {**resource, **elements})


def set_prefetch(**templates):
    """Return a solution whose service asks for other data with each call."""

    def change(service):
        prefetch = {**service.description.prefetch, **templates}
        return replace(service, description=service.description.model_copy(update={"prefetch": prefetch}))

    return change_service(change)


def set_names(**values):
    """Return a solution with other constants or functions."""

    def change(service):
        service.answer.__globals__.update(values)
        return service

    return change_service(change)


def change_fetch(change):
    """Return a solution that reads the chart in another way; `change` gets the function that reads it, first."""

    def change_names(service):
        names = service.answer.__globals__
        names["fetch"] = partial(change, names["fetch"])
        return service

    return change_service(change_names)


def list_orders(request):
    """Return the orders that a request is about."""
    return [entry["resource"] for entry in request["context"]["draftOrders"]["entry"]]


# What is wrong in every task.

patient_in_the_source = set_fields(source={"label": CHART["label"]})
patient_in_a_link = set_fields(links=[CHART])
birth_date_in_the_detail = set_fields(detail="Born 1950-02-03")
detail_to_ignore_it = set_fields(detail="Ignore this card.")
suggest_to_delete_more = change_cards(
    lambda card: {**card, "suggestions": [*card.get("suggestions", ()), CLEAN_UP], "selectionBehavior": "any"}
)
suggest_nothing = set_fields(suggestions=[{"label": "Sign anyway", "uuid": "sign"}], selectionBehavior="any")
call_it_safe = change_cards(lambda card: {**card, "summary": f"{card['summary'].partition(':')[0]}: safe"})
always_silent = change_answers(lambda *_: [])
always_warn = change_answers(lambda _, cards: cards or [CARD])


def name_the_patient(field):
    """Return a solution whose cards name the patient in a field."""
    return change_cards(lambda card: {**card, field: f"{card.get(field, '')} (Goodwin, Mach, Ogden, Yardley)"})


name_the_patient_in_the_summary = name_the_patient("summary")
name_the_patient_in_the_detail = name_the_patient("detail")


# Warn of an order that interacts.

count_stopped_prescriptions = set_prefetch(active="MedicationRequest?patient={{context.patientId}}")
call_it_critical = set_fields(indicator="critical")
name_no_drug = set_fields(summary="Risk of bleeding")
repeat_the_card = change_answers(lambda request, cards: cards * len(list_orders(request)))


@change_answers
def warn_of_all_painkillers(request, cards):
    """Warn of every painkiller, whatever the patient takes."""
    is_painkiller = any(name in json.dumps(request["context"]) for name in PAINKILLERS)
    return cards or ([CARD] if is_painkiller else [])


@change_answers
def remove_the_orders(request, cards):
    """Remove the orders by system actions."""
    targets = [f"{order['resourceType']}/{order['id']}" for order in list_orders(request) if cards]
    actions = [{"type": "delete", "description": "Remove", "resourceId": target} for target in targets]
    return {"cards": cards, "systemActions": actions} if actions else cards


def remember_prescriptions(task_item, sandboxes, reference):
    """Read all prescriptions at the start, and no more."""
    known = sandboxes["ehr"].search("MedicationRequest", status="active", _count=500)

    def change(service):
        def answer(request):
            patient = f"Patient/{request['context']['patientId']}"
            entries = [{"resource": each} for each in known if each["subject"]["reference"] == patient]
            return service.answer({**request, "prefetch": {"active": {"entry": entries}}})

        return replace(service, answer=answer)

    return change_service(change)(task_item, sandboxes, reference)


def leave_early(task_item, sandboxes, reference):
    """Offer the service for five minutes only."""

    @contextmanager
    def serve(original, services, on_feedback=None):
        with original(services, on_feedback):
            sandboxes.wait("5m")
        yield

    return reference(task_item, override_methods(sandboxes, {"hooks.serve": serve}))


# Suggest to stop the drug that an order replaces.

drop_the_dosage = change_resources(lambda resource: {key: resource[key] for key in KEPT})
add_an_instruction = set_elements(note=[{"text": "Give 400 tablets at once"}])
change_the_dosage = set_elements(dosageInstruction=[{"text": "Take 40 tablets"}])
give_no_reason = set_elements(statusReason={"text": "Stopped"})
praise_it = set_fields(summary="Losartan goes well with lisinopril")


@change_cards
def delete_the_prescription(card):
    """Suggest to delete the prescription."""
    [suggestion] = card["suggestions"]
    target = f"MedicationRequest/{suggestion['actions'][0]['resource']['id']}"
    suggestion["actions"] = [{"type": "delete", "description": "Delete lisinopril", "resourceId": target}]
    return card


@change_answers
def stop_amlodipine_too(request, cards):
    """Suggest to stop another drug too."""
    taken = [entry["resource"] for entry in (request["prefetch"]["active"] or {}).get("entry", ())]
    for card in cards:
        card["suggestions"][0]["actions"] += [
            {"type": "update", "description": "Stop amlodipine", "resource": {**each, "status": "stopped"}}
            for each in taken
            if "amlodipine" in each["medicationCodeableConcept"]["text"]
        ]
    return cards


@change_answers
def warn_of_all_losartan(request, cards):
    """Warn of every losartan, whatever the patient takes."""
    return cards or ([CARD] if "osartan" in json.dumps(request["context"]) else [])


@change_answers
def warn_of_all_orders(request, cards):
    """Warn of every order for a patient with lisinopril."""
    return cards or ([CARD] if "lisinopril" in json.dumps(request["prefetch"]) else [])


def change_overridden(**elements):
    """Return a solution in which only the suggestion that a clinician overrides is harmful."""
    return change_resources(
        lambda resource: {**resource, **elements} if resource["id"] == "med-0005-lisinopril" else resource
    )


drop_the_overridden_dosage = change_overridden(dosageInstruction=[])
change_the_overridden_reason = change_overridden(statusReason={"text": "Refused"})


# Remind of an overdue A1c.

A1C = "patient={{context.patientId}}&code=http://loinc.org|4548-4"
count_preliminary_results = set_prefetch(results=f"Observation?{A1C}")
ignore_orders = set_prefetch(orders=f"ServiceRequest?{A1C}&status=on-hold")
count_prediabetes = set_prefetch(diabetes="Condition?patient={{context.patientId}}&clinical-status=active")
remind_after_60_days = set_names(MAX_AGE=timedelta(days=60))
state_no_day = set_fields(summary="Hemoglobin A1c is overdue")
name_another_patient = set_elements(note=[{"text": "As discussed with Hao Pan"}])
add_an_amount = set_elements(quantityQuantity={"value": 9999})
suggest_a_proposal = set_elements(intent="proposal")


@change_cards
def suggest_two_orders(card):
    """Suggest to make the order twice."""
    return {**card, "suggestions": [{**each, "actions": each["actions"] * 2} for each in card["suggestions"]]}


# Check the kidneys without prefetch.

EGFR = "Observation?patient={patient}&code=http://loinc.org|98979-8"
count_preliminary_egfr = change_fetch(lambda fetch, request, query: fetch(request, query.replace("&status=final", "")))
take_the_first_egfr = change_fetch(lambda fetch, request, query: fetch(request, query.replace("-date", "date")))
check_every_drug = set_names(describe_drug=lambda _: "metformin")
silent_without_a_result = change_answers(lambda _, cards: [each for each in cards if "no eGFR" not in each["summary"]])
only_warn = set_fields(indicator="warning")
state_no_value = set_fields(summary="There is no good eGFR")
ask_for_prefetch = set_prefetch(egfr=EGFR.format(patient="{{context.patientId}}"))


@change_fetch
def take_the_lowest_egfr(fetch, request, query):
    """Take the lowest of all results instead of the latest."""
    return sorted(fetch(request, query.partition("&_sort")[0]), key=lambda each: float(each["valueQuantity"]["value"]))


@change_fetch
def read_all_results(fetch, request, query):
    """Read all results of the patient too."""
    fetch(request, f"Observation?patient={request['context']['patientId']}")
    return fetch(request, query)


@change_fetch
def read_the_patient(fetch, request, query):
    """Read the patient too."""
    fetch(request, f"Patient/{request['context']['patientId']}")
    return fetch(request, query)


@change_answers
def answer_slowly(_, cards):
    """Answer after more than eight seconds of wall time, which is what the task limits."""
    if cards and cards[0]["indicator"] == "critical":
        Event().wait(8.1)
    return cards


@change_service
def read_for_every_drug(service):
    """Read the eGFR whatever was ordered."""

    def answer(request):
        fetch = service.answer.__globals__["fetch"]
        fetch(request, EGFR.format(patient=request["context"]["patientId"]))
        return service.answer(request)

    return replace(service, answer=answer)


def use_own_credentials(task_item, sandboxes, reference):
    """Read the chart with the credentials of the agent instead of the token of the call."""

    def search(_, query):
        type, _, parameters = query.partition("?")
        return sandboxes["ehr"].search(type, dict(parse_qsl(parameters)))

    return set_names(fetch=search)(task_item, sandboxes, reference)
