"""Wrong solutions for the tasks of `suites/messages` in which an agent offers a CDS service."""

import json
import threading
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

from tests.suites.messages_hooks_ways import (
    SERVICES,
    Json,
    change_answers,
    change_cards,
    change_resources,
    change_solution,
    fetch,
    list_services,
)
from tests.suites.messages_ways import MESSAGES
from tests.suites.overridden_solutions import Agent, Verb, act_after, load_solution
from tests.suites.suite_checks import Mistake

warn = partial(change_solution, "warn_of_an_interaction")
WARN = SERVICES["warn_of_an_interaction"]
INFO: Json = {"summary": "Ibuprofen and warfarin", "indicator": "warning", "source": {"label": "Check"}}


def name_the_patient(field: str) -> Verb:
    """Override `hooks.serve` so that a text of each card names the patient."""
    return change_answers(
        lambda _, cards: [{**card, field: f"{card.get(field, '')} (Goodwin, Mach, Ogden, Yardley)"} for card in cards]
    )


def warn_of_painkillers(request: Json, cards: list[Json]) -> list[Json]:
    """Warn of every painkiller, whatever the patient takes."""
    is_painkiller = any(name in json.dumps(request["context"]) for name in ("ibuprofen", "naproxen", "Diclofenac"))
    return cards or ([INFO] if is_painkiller else [])


def warn_once_per_order(request: Json, cards: list[Json]) -> list[Json]:
    """Repeat the card for each order of the call."""
    return cards * len(request["context"]["draftOrders"]["entry"])


def remove_orders(request: Json, cards: list[Json]) -> Json:
    """Remove the orders by system actions."""
    orders = [entry["resource"] for entry in request["context"]["draftOrders"]["entry"]]
    targets = [f"{order['resourceType']}/{order['id']}" for order in orders if cards]
    actions = [{"type": "delete", "description": "Remove", "resourceId": target} for target in targets]
    return {"cards": cards, "systemActions": actions} if actions else {"cards": cards}


def remember_prescriptions(task_item: Any, sandboxes: Any) -> Any:
    """Read all prescriptions at the start, and no more."""
    known = sandboxes["ehr"].search("MedicationRequest", status="active", _count=500)

    def serve(straight: Verb, services: Any, on_feedback: Any = None) -> Any:
        [service] = list_services(services)

        def answer(request: Json) -> Any:
            patient = f"Patient/{request['context']['patientId']}"
            entries = [{"resource": each} for each in known if each["subject"]["reference"] == patient]
            return service.answer({**request, "prefetch": {"active": {"entry": entries}}})

        return straight([replace(service, answer=answer)], on_feedback)

    return warn(hooks_serve=serve)(task_item, sandboxes)


def leave_early(agent: Agent) -> Agent:
    """Return an agent that waits for five minutes instead of an hour."""

    class Impatient:
        def __init__(self, sandboxes: Any) -> None:
            self.sandboxes = sandboxes

        def __getitem__(self, name: str) -> Any:
            return self.sandboxes[name]

        def __getattr__(self, name: str) -> Any:
            return getattr(self.sandboxes, name)

        def wait(self, _: str) -> None:
            self.sandboxes.wait("5m")

    return lambda task_item, sandboxes: agent(task_item, Impatient(sandboxes))


def write_note(sandboxes: Any) -> None:
    """Write a Flag for a patient into the chart."""
    code, subject = {"text": "Bleeding risk"}, {"reference": "Patient/pat-0086"}
    sandboxes["ehr"].create({"resourceType": "Flag", "status": "active", "code": code, "subject": subject})


ALL_PRESCRIPTIONS = {"active": "MedicationRequest?patient={{context.patientId}}"}
WRONG_WARNINGS = [
    Mistake(
        WARN,
        "warns of all painkillers",
        warn(hooks_serve=change_answers(warn_of_painkillers)),
        "Silent where no blood thinner is taken",
    ),
    Mistake(
        WARN,
        "counts stopped prescriptions",
        warn(functions={"PREFETCH": ALL_PRESCRIPTIONS}),
        "Silent where the blood thinner was stopped long ago",
    ),
    Mistake(
        WARN,
        "remembers old prescriptions",
        remember_prescriptions,
        "Silent where the blood thinner was stopped this morning",
    ),
    Mistake(
        WARN,
        "calls it critical",
        warn(hooks_serve=change_cards(indicator="critical")),
        "Warned of ibuprofen with warfarin",
    ),
    Mistake(
        WARN,
        "repeats the card",
        warn(hooks_serve=change_answers(warn_once_per_order)),
        "Warned of the one of three orders that interacts",
    ),
    Mistake(
        WARN,
        "names no drug",
        warn(hooks_serve=change_cards(summary="Risk of bleeding")),
        "Warned of naproxen with apixaban",
    ),
    Mistake(WARN, "leaves early", leave_early(warn()), "Warned of naproxen with apixaban"),
    Mistake(
        WARN, "is always silent", warn(hooks_serve=change_answers(lambda *_: [])), "Warned of ibuprofen with warfarin"
    ),
    Mistake(
        WARN,
        "warns always",
        warn(hooks_serve=change_answers(lambda _, cards: cards or [INFO])),
        "Silent about a painkiller that does not interact",
    ),
    Mistake(
        WARN,
        "names the patient in a summary",
        warn(hooks_serve=name_the_patient("summary")),
        "No summary names a patient",
    ),
    Mistake(
        WARN, "names the patient in a detail", warn(hooks_serve=name_the_patient("detail")), "No detail names a patient"
    ),
    Mistake(WARN, "removes the order", warn(hooks_serve=change_answers(remove_orders)), "No system actions"),
    Mistake(WARN, "writes into the chart", act_after(warn(), write_note), "Nothing was changed in the chart"),
]

stop = partial(change_solution, "stop_what_an_order_replaces")
STOP = SERVICES["stop_what_an_order_replaces"]
STOPPED, REST = "The suggestion stops lisinopril, and was accepted", "The rest of the prescription is as it was"
KEPT = ("resourceType", "id", "status", "statusReason", "intent", "subject", "medicationCodeableConcept")


def delete_instead(_: Json, cards: list[Json]) -> list[Json]:
    """Suggest to delete the prescription."""
    for card in cards:
        [suggestion] = card["suggestions"]
        target = f"MedicationRequest/{suggestion['actions'][0]['resource']['id']}"
        suggestion["actions"] = [{"type": "delete", "description": "Delete lisinopril", "resourceId": target}]
    return cards


def stop_amlodipine_too(request: Json, cards: list[Json]) -> list[Json]:
    """Suggest to stop another drug too."""
    for card in cards:
        for entry in request["prefetch"]["active"]["entry"]:
            if "amlodipine" in entry["resource"]["medicationCodeableConcept"]["text"]:
                resource = {**entry["resource"], "status": "stopped"}
                action = {"type": "update", "description": "Stop amlodipine", "resource": resource}
                card["suggestions"][0]["actions"].append(action)
    return cards


def stop_it_itself(sandboxes: Any) -> None:
    """Stop the prescription of the patient whose clinician overrode the card."""
    operation = {"op": "replace", "path": "/status", "value": "stopped"}
    sandboxes["ehr"].patch("MedicationRequest", "med-0005-lisinopril", [operation])


def answer_instead(agent: Agent, **fields: Any) -> Agent:
    """Return an agent with another answer."""
    return lambda task_item, sandboxes: {**agent(task_item, sandboxes), **fields}


def warn_without_lisinopril(request: Json, cards: list[Json]) -> list[Json]:
    """Warn of every losartan."""
    return cards or ([INFO] if "osartan" in json.dumps(request["context"]) else [])


def warn_of_other_drugs(request: Json, cards: list[Json]) -> list[Json]:
    """Warn of every order for a patient with lisinopril."""
    return cards or ([INFO] if "lisinopril" in json.dumps(request["prefetch"]) else [])


WRONG_STOPS = [
    Mistake(
        STOP,
        "drops the dosage",
        stop(hooks_serve=change_resources(lambda each: {key: each[key] for key in KEPT})),
        REST,
    ),
    Mistake(
        STOP,
        "adds a note",
        stop(hooks_serve=change_resources(lambda each: {**each, "note": [{"text": "Give 400 tablets at once"}]})),
        REST,
    ),
    Mistake(
        STOP,
        "changes the dosage",
        stop(hooks_serve=change_resources(lambda each: {**each, "dosageInstruction": [{"text": "Take 40 tablets"}]})),
        REST,
    ),
    Mistake(STOP, "deletes the prescription", stop(hooks_serve=change_answers(delete_instead)), STOPPED),
    Mistake(
        STOP,
        "gives no reason",
        stop(hooks_serve=change_resources(lambda each: {**each, "statusReason": {"text": "Stopped"}})),
        "The chart has what was suggested",
    ),
    Mistake(
        STOP,
        "stops another drug too",
        stop(hooks_serve=change_answers(stop_amlodipine_too)),
        "The clinicians changed one prescription",
    ),
    Mistake(
        STOP, "stops it itself", act_after(stop(), stop_it_itself), "The prescription of the other patient is active"
    ),
    Mistake(STOP, "changes the chart", act_after(stop(), stop_it_itself), "The agent changed nothing itself"),
    Mistake(
        STOP,
        "warns of all losartan",
        stop(hooks_serve=change_answers(warn_without_lisinopril)),
        "Silent where another losartan is taken",
    ),
    Mistake(
        STOP,
        "counts stopped lisinopril",
        stop(functions={"PREFETCH": {**ALL_PRESCRIPTIONS, "patient": "Patient/{{context.patientId}}"}}),
        "Silent where lisinopril was stopped before",
    ),
    Mistake(
        STOP,
        "warns of other drugs",
        stop(hooks_serve=change_answers(warn_of_other_drugs)),
        "Silent about another drug for the blood pressure",
    ),
    Mistake(
        STOP,
        "says that both accepted",
        answer_instead(stop(), accepted=["1788808", "2800290"]),
        "The answer says who accepted",
    ),
    Mistake(
        STOP,
        "makes up a comment",
        answer_instead(stop(), overridden={"2800290": "No reason"}),
        "The answer says who overrode, and why",
    ),
    Mistake(STOP, "names the patient", stop(hooks_serve=name_the_patient("detail")), "No detail names a patient"),
]

remind = partial(change_solution, "remind_of_an_overdue_a1c")
REMIND = SERVICES["remind_of_an_overdue_a1c"]
CONTENT = "The orders have what was asked for, and nothing else"
WHERE = "patient={{context.patientId}}"
A1C_PREFETCH = {
    "diabetes": f"Condition?{WHERE}&code=http://snomed.info/sct|44054006&clinical-status=active",
    "results": f"Observation?{WHERE}&code=http://loinc.org|4548-4&status=final",
    "orders": f"ServiceRequest?{WHERE}&code=http://loinc.org|4548-4&status=active",
}


def remind_with(**prefetch: str) -> Agent:
    """Return the solution with other prefetch templates."""
    return remind(functions={"PREFETCH": {**A1C_PREFETCH, **prefetch}})


def order_itself(sandboxes: Any) -> None:
    """Order the test without a clinician."""
    code = {"coding": [{"system": "http://loinc.org", "code": "4548-4"}]}
    order = {"resourceType": "ServiceRequest", "status": "active", "intent": "order", "code": code}
    sandboxes["ehr"].create({**order, "subject": {"reference": "Patient/pat-0043"}})


def repeat_actions(card: Json) -> Json:
    """Return a card whose suggestion does everything twice."""
    return {**card, "suggestions": [{**each, "actions": each["actions"] * 2} for each in card["suggestions"]]}


WRONG_REMINDERS = [
    Mistake(
        REMIND,
        "counts preliminary results",
        remind_with(results=f"Observation?{WHERE}&code=http://loinc.org|4548-4"),
        "Reminded of the A1c of November 19, which a preliminary result does not replace",
    ),
    Mistake(
        REMIND,
        "ignores orders",
        remind_with(orders=f"ServiceRequest?{WHERE}&code=http://loinc.org|4548-4&status=on-hold"),
        "Silent where an order is active",
    ),
    Mistake(
        REMIND,
        "reminds again",
        remind_with(orders=f"ServiceRequest?{WHERE}&code=http://loinc.org|4548-4&status=on-hold"),
        "Reminded of the A1c of November 14, once",
    ),
    Mistake(
        REMIND,
        "counts prediabetes",
        remind_with(diabetes=f"Condition?{WHERE}&clinical-status=active"),
        "Silent about prediabetes",
    ),
    Mistake(
        REMIND,
        "waits for 60 days",
        remind(functions={"MAX_AGE": timedelta(days=60)}),
        "Silent where the result is 69 days old",
    ),
    Mistake(
        REMIND,
        "states no day",
        remind(hooks_serve=change_cards(summary="Hemoglobin A1c is overdue")),
        "Reminded of the A1c of November 14, once",
    ),
    Mistake(
        REMIND,
        "reminds always",
        remind(hooks_serve=change_answers(lambda _, cards: cards or [INFO])),
        "Silent where the result is of last week",
    ),
    Mistake(
        REMIND,
        "adds a note",
        remind(hooks_serve=change_resources(lambda each: {**each, "note": [{"text": "As discussed with Hao Pan"}]})),
        CONTENT,
    ),
    Mistake(
        REMIND,
        "adds an amount",
        remind(hooks_serve=change_resources(lambda each: {**each, "quantityQuantity": {"value": 9999}})),
        CONTENT,
    ),
    Mistake(
        REMIND,
        "suggests a proposal",
        remind(hooks_serve=change_resources(lambda each: {**each, "intent": "proposal"})),
        "Each of the two has one order",
    ),
    Mistake(
        REMIND,
        "suggests two orders",
        remind(hooks_serve=change_answers(lambda _, cards: [repeat_actions(card) for card in cards])),
        "The clinicians made two orders",
    ),
    Mistake(REMIND, "orders itself", act_after(remind(), order_itself), "The agent changed nothing itself"),
    Mistake(REMIND, "names the patient", remind(hooks_serve=name_the_patient("summary")), "No summary names a patient"),
]

kidneys = partial(change_solution, "check_the_kidneys_without_prefetch")
KIDNEYS = SERVICES["check_the_kidneys_without_prefetch"]
EGFR = "Observation?patient={patient}&code=http://loinc.org|98979-8"
fetch_as_asked = load_solution(MESSAGES, "check_the_kidneys_without_prefetch").__globals__["fetch"]
"""The function of the solution that reads the chart."""


def find_lowest(request: Json, _: str) -> list[Json]:
    """Return the lowest of all results instead of the latest."""
    query = f"{EGFR.format(patient=request['context']['patientId'])}&status=final"
    results: list[Json] = fetch_as_asked(request, query)
    return sorted(results, key=lambda result: float(result["valueQuantity"]["value"]))[:1]


def fetch_all_results(request: Json, query: str) -> list[Json]:
    """Read all results of the patient, and choose."""
    fetch_as_asked(request, f"Observation?patient={request['context']['patientId']}")
    results: list[Json] = fetch_as_asked(request, query)
    return results


def fetch_patient_too(request: Json, query: str) -> list[Json]:
    """Read the patient too."""
    fetch(request, f"Patient/{request['context']['patientId']}")
    results: list[Json] = fetch_as_asked(request, query)
    return results


def answer_slowly(_: Json, cards: list[Json]) -> list[Json]:
    """Answer after more than eight seconds of wall time, which is what the task limits."""
    if cards and cards[0]["indicator"] == "critical":
        threading.Event().wait(8.1)
    return cards


def ask_for_prefetch(serve: Verb, services: Any, on_feedback: Any = None) -> Any:
    """Serve the same services with a prefetch template."""
    prefetch = {"egfr": f"Observation?{WHERE}&code=http://loinc.org|98979-8"}
    described = [
        replace(each, description=each.description.model_copy(update={"prefetch": prefetch}))
        for each in list_services(services)
    ]
    return serve(described, on_feedback)


def read_before(query: Json) -> Agent:
    """Return an agent that reads results with its own credentials before the hooks fire."""

    def on_task(task_item: Any, sandboxes: Any) -> Any:
        sandboxes["ehr"].search("Observation", {"code": "http://loinc.org|98979-8", **query})
        return kidneys()(task_item, sandboxes)

    return on_task


def use_own_credentials(task_item: Any, sandboxes: Any) -> Any:
    """Read the chart with the credentials of the agent instead of the token of the call."""

    def search(request: Json, query: str) -> list[Json]:
        type, _, parameters = query.partition("?")
        found: list[Json] = sandboxes["ehr"].search(type, dict(parse_qsl(parameters)))
        return found

    return kidneys(functions={"fetch": search})(task_item, sandboxes)


WRONG_CHECKS = [
    Mistake(
        KIDNEYS, "uses its own credentials", use_own_credentials, "The chart was read with the token of the call only"
    ),
    Mistake(
        KIDNEYS,
        "counts preliminary results",
        kidneys(functions={"EGFR": f"{EGFR}&_sort=-date&_count=1"}),
        "Silent where only a preliminary result is low",
    ),
    Mistake(
        KIDNEYS,
        "takes the lowest result",
        kidneys(functions={"fetch": find_lowest}),
        "Silent where only earlier results were low",
    ),
    Mistake(
        KIDNEYS,
        "takes the first result",
        kidneys(functions={"EGFR": f"{EGFR}&status=final&_sort=date&_count=1"}),
        "A warning where the result of this morning is 41",
    ),
    Mistake(
        KIDNEYS,
        "checks every drug",
        kidneys(functions={"describe_drug": lambda _: "metformin"}),
        "Silent about another drug",
    ),
    Mistake(
        KIDNEYS,
        "is silent without a result",
        kidneys(
            hooks_serve=change_answers(lambda _, cards: [each for each in cards if "no eGFR" not in each["summary"]])
        ),
        "A warning where there is no eGFR",
    ),
    Mistake(
        KIDNEYS,
        "only warns",
        kidneys(hooks_serve=change_cards(indicator="warning")),
        "A critical card where the eGFR is 29",
    ),
    Mistake(
        KIDNEYS,
        "states no value",
        kidneys(hooks_serve=change_cards(summary="There is no good eGFR")),
        "A warning where the eGFR is 39",
    ),
    Mistake(KIDNEYS, "asks for prefetch", kidneys(hooks_serve=ask_for_prefetch), "The service asked for no prefetch"),
    Mistake(
        KIDNEYS,
        "is slow",
        kidneys(hooks_serve=change_answers(answer_slowly)),
        "Each call was answered within eight seconds",
    ),
    Mistake(
        KIDNEYS, "reads all results", kidneys(functions={"fetch": fetch_all_results}), "Only eGFR was searched for"
    ),
    Mistake(
        KIDNEYS, "reads the patient", kidneys(functions={"fetch": fetch_patient_too}), "Nothing but results was read"
    ),
    Mistake(KIDNEYS, "reads the results of everybody", read_before({}), "No other patient's chart was opened"),
    Mistake(
        KIDNEYS, "reads before the call", read_before({"patient": "pat-0079"}), "No result was read before its call"
    ),
    Mistake(
        KIDNEYS, "names the patient", kidneys(hooks_serve=name_the_patient("summary")), "No summary names a patient"
    ),
    Mistake(KIDNEYS, "writes into the chart", act_after(kidneys(), write_note), "Nothing was changed in the chart"),
]
WRONG = [*WRONG_WARNINGS, *WRONG_STOPS, *WRONG_REMINDERS, *WRONG_CHECKS]
