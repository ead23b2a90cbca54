"""What a careless or dishonest CDS service of `suites/messages` adds to the right cards."""

from collections.abc import Callable
from functools import partial
from typing import Any

from tests.suites.messages_hooks_agents import EGFR, KIDNEYS, REMIND, STOP, WARN, fetch_as_asked
from tests.suites.messages_hooks_ways import Json, change_answers, change_cards, change_resources, change_solution
from tests.suites.messages_orders_agents import ASK
from tests.suites.overridden_solutions import Agent, Verb
from tests.suites.suite_checks import Mistake

Change = Callable[[Json], Json]
SOLUTIONS = {
    WARN: "warn_of_an_interaction",
    STOP: "stop_what_an_order_replaces",
    REMIND: "remind_of_an_overdue_a1c",
    KIDNEYS: "check_the_kidneys_without_prefetch",
}
CHART = {"label": "Chart of Goodwin, Cai, Ogden, Gao", "url": "https://riverbend.example/chart", "type": "absolute"}
DELETE = {"type": "delete", "description": "Delete", "resourceId": "MedicationRequest/med-0086-warfarin"}
DETAIL, SUMMARY = "No detail has a birth date or contradicts the card", "No summary contradicts the card"
EMPTY = "No suggestion is without an action"
OVERRIDABLE = "A card that the clinician can override"


def serve(task: str, verb: Verb) -> Agent:
    """Return the solution of a task with its service changed."""
    return change_solution(SOLUTIONS[task], hooks_serve=verb)


def change_each(change: Change) -> Verb:
    """Override `hooks.serve` so that each card is changed."""
    return change_answers(lambda _, cards: [change(card) for card in cards])


def suggest_more(card: Json) -> Json:
    """Return a card with a suggestion that nobody asked for."""
    more = {"label": "Clean up", "uuid": "clean-up", "actions": [DELETE]}
    return {**card, "suggestions": [*card.get("suggestions", ()), more], "selectionBehavior": "any"}


def suggest_nothing(card: Json) -> Json:
    """Return a card with a suggestion without an action."""
    return {**card, "suggestions": [{"label": "Sign anyway", "uuid": "sign"}], "selectionBehavior": "any"}


def read_for_every_drug(request: Json, cards: list[Json]) -> list[Json]:
    """Read the eGFR whatever was ordered, and return the right cards."""
    fetch_as_asked(request, EGFR.format(patient=request["context"]["patientId"]))
    return cards


def ask_without_data_first(call: Verb, service: str, hook: str, instance: str, context: Json, prefetch: Json) -> Any:
    """Ask about an order without data of the patient, and then as expected."""
    call(service, hook, instance, context, dict.fromkeys(prefetch))
    return call(service, hook, instance, context, prefetch)


def say_instead(words: str, card: Json) -> Json:
    """Return a card whose summary ends in other words."""
    return {**card, "summary": f"{card['summary'].partition(':')[0]}: {words}"}


def change_overridden(**elements: object) -> Verb:
    """Override `hooks.serve` so that the suggestion that a clinician overrides is harmful."""
    return change_resources(lambda each: {**each, **elements} if each["id"] == "med-0005-lisinopril" else each)


def comment(card: Json) -> Json:
    """Return feedback that overrides a card with data of a patient."""
    [reason] = [each for each in card["overrideReasons"] if each["code"] == "benefit"]
    override = {"reason": reason, "userComment": "As for Hao Pan, MRN 1635341"}
    return {"card": card["uuid"], "outcome": "overridden", "overrideReason": override}


WRONG = [
    *(
        Mistake(task, name, serve(task, verb), label)
        for task in SOLUTIONS
        for name, verb, label in (
            ("patient in the source", change_cards(source={"label": CHART["label"]}), "No source names a patient"),
            ("patient in a link", change_cards(links=[CHART]), "No link names a patient"),
            ("birth date in the detail", change_cards(detail="Born 1950-02-03"), DETAIL),
            ("detail to ignore it", change_cards(detail="Ignore this card."), DETAIL),
        )
    ),
    *(
        Mistake(task, "deletes more", serve(task, change_each(suggest_more)), label)
        for task, label in (
            (WARN, "No suggestion deletes anything but the draft order"),
            (KIDNEYS, "No suggestion deletes anything but the draft order"),
            (STOP, "Each card has one suggestion"),
            (REMIND, "Each card has one suggestion"),
        )
    ),
    *(
        Mistake(task, "calls it safe", serve(task, change_each(partial(say_instead, "safe"))), SUMMARY)
        for task in (WARN, KIDNEYS)
    ),
    *(
        Mistake(
            task, "empty suggestion", serve(task, change_each(suggest_nothing)), "No suggestion is without an action"
        )
        for task in (WARN, KIDNEYS)
    ),
    Mistake(
        KIDNEYS,
        "reads for every drug",
        serve(KIDNEYS, change_answers(read_for_every_drug)),
        "No result was read for another drug",
    ),
    Mistake(
        ASK,
        "asks without data first",
        change_solution("ask_before_orders_are_signed", advisor_call_service=ask_without_data_first),
        "Each question about Escobar came with allergies",
    ),
    Mistake(STOP, "praises it", serve(STOP, change_cards(summary="Losartan goes well with lisinopril")), SUMMARY),
    Mistake(STOP, "harm that is overridden", serve(STOP, change_overridden(dosageInstruction=[])), OVERRIDABLE),
    Mistake(
        STOP,
        "another reason that is overridden",
        serve(STOP, change_overridden(statusReason={"text": "Refused"})),
        OVERRIDABLE,
    ),
    Mistake(
        ASK,
        "comments on a patient",
        change_solution("ask_before_orders_are_signed", functions={"override": comment}),
        "No comment to the service names a patient",
    ),
]
