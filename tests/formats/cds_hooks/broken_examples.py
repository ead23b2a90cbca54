"""Example requests, answers, discoveries and feedback in `examples/`, and broken variants of each."""

import copy
import json
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from clerkship.formats.cds_hooks.hooks import HOOK_NAMES, check_context
from clerkship.formats.cds_hooks.validation import validate_discovery, validate_response
from clerkship.formats.cds_hooks.wire_model import FeedbackRequest, HookRequest

EXAMPLES = Path(__file__).parent / "examples"
REMOVED: Final = object()
"""The value of a change that removes a field."""
LONG = "x" * 140
Change = tuple[str, Any]

_REQUEST: dict[str, Change] = {
    "hook is missing": ("hook", REMOVED),
    "hook is a number": ("hook", 7),
    "context is missing": ("context", REMOVED),
    "context is a list": ("context", []),
    "patientId is missing": ("context.patientId", REMOVED),
    "patientId is a number": ("context.patientId", 7),
    "prefetch is a list": ("prefetch", []),
}
_USER: dict[str, Change] = {
    "userId is missing": ("context.userId", REMOVED),
    "userId is no reference": ("context.userId", "doc-3"),
    "userId is a device": ("context.userId", "Device/pump"),
}
_CARD: dict[str, Change] = {
    "cards are an object": ("cards", {}),
    "card is a text": ("cards.0", "card"),
    "summary is missing": ("cards.0.summary", REMOVED),
    "summary is a number": ("cards.0.summary", 7),
    "summary has 141 characters": ("cards.0.summary", LONG + "x"),
    "indicator is missing": ("cards.0.indicator", REMOVED),
    "indicator is unknown": ("cards.0.indicator", "hard-stop"),
    "indicator has a capital": ("cards.0.indicator", "Warning"),
    "source is missing": ("cards.0.source", REMOVED),
    "source is a text": ("cards.0.source", "Kidney checker"),
    "source has no label": ("cards.0.source.label", REMOVED),
    "detail is a list": ("cards.0.detail", ["x"]),
}
_SUGGESTION = "cards.0.suggestions.0"
BROKEN: dict[str, dict[str, Change]] = {
    "request-patient-view": {
        **_REQUEST,
        **_USER,
        "hookInstance is missing": ("hookInstance", REMOVED),
        "fhirServer is missing": ("fhirServer", REMOVED),
        "access_token is missing": ("fhirAuthorization.access_token", REMOVED),
        "expires_in is a text": ("fhirAuthorization.expires_in", "soon"),
        "scope is missing": ("fhirAuthorization.scope", REMOVED),
        "subject is missing": ("fhirAuthorization.subject", REMOVED),
    },
    "request-order-select": {
        **_REQUEST,
        **_USER,
        "selections are missing": ("context.selections", REMOVED),
        "selection is no reference": ("context.selections.0", "draft-41"),
        "draftOrders are missing": ("context.draftOrders", REMOVED),
        "draftOrders are a list": ("context.draftOrders", []),
    },
    "request-order-sign": {
        **_REQUEST,
        **_USER,
        "draftOrders are missing": ("context.draftOrders", REMOVED),
        "draftOrders are no Bundle": ("context.draftOrders.resourceType", "List"),
        "order is a patient": ("context.draftOrders.entry.0.resource.resourceType", "Patient"),
    },
    "request-order-dispatch": {
        **_REQUEST,
        "dispatchedOrders are missing": ("context.dispatchedOrders", REMOVED),
        "performer is missing": ("context.performer", REMOVED),
    },
    "request-appointment-book": {**_REQUEST, **_USER, "appointments are missing": ("context.appointments", REMOVED)},
    "request-encounter-start": {**_REQUEST, **_USER, "encounterId is missing": ("context.encounterId", REMOVED)},
    "request-encounter-discharge": {**_REQUEST, **_USER, "encounterId is missing": ("context.encounterId", REMOVED)},
    "response-no-cards": {"cards are missing": ("cards", REMOVED), "cards are null": ("cards", None)},
    "response-information": {
        **_CARD,
        "summary has 140 characters": ("cards.0.summary", LONG),
        "summary is empty": ("cards.0.summary", ""),
        "url of the source is no URL": ("cards.0.source.url", "about us"),
        "topic has no code": ("cards.0.source.topic.code", REMOVED),
        "card has an unknown field": ("cards.0.colour", "red"),
    },
    "response-suggestions": {
        **_CARD,
        "selectionBehavior is missing": ("cards.0.selectionBehavior", REMOVED),
        "selectionBehavior is unknown": ("cards.0.selectionBehavior", "one"),
        "suggestion has no label": (f"{_SUGGESTION}.label", REMOVED),
        "isRecommended is a text": (f"{_SUGGESTION}.isRecommended", "maybe"),
        "action has an unknown type": (f"{_SUGGESTION}.actions.0.type", "remove"),
        "action has no description": (f"{_SUGGESTION}.actions.0.description", REMOVED),
        "delete has no resourceId": (f"{_SUGGESTION}.actions.0.resourceId", REMOVED),
        "create has no resource": (f"{_SUGGESTION}.actions.1.resource", REMOVED),
        "override reason has no display": ("cards.0.overrideReasons.0.display", REMOVED),
        "override reason has no code": ("cards.0.overrideReasons.0.code", REMOVED),
        "two suggestions have one uuid": (f"{_SUGGESTION}.uuid", "7b7d2f60-1111-4d0a-9f43-0a54c1c7a004"),
    },
    "response-links": {
        "link has no label": ("cards.0.links.0.label", REMOVED),
        "link has no url": ("cards.0.links.0.url", REMOVED),
        "link has no type": ("cards.0.links.0.type", REMOVED),
        "link has an unknown type": ("cards.0.links.0.type", "relative"),
        "appContext is on an absolute link": ("cards.0.links.0.appContext", "x"),
    },
    "response-system-actions": {
        "system actions are an object": ("systemActions", {"type": "update"}),
        "system action has no type": ("systemActions.0.type", REMOVED),
        "update has no resource": ("systemActions.0.resource", REMOVED),
    },
    "discovery": {
        "services are missing": ("services", REMOVED),
        "services are an object": ("services", {}),
        "hook is missing": ("services.0.hook", REMOVED),
        "id is missing": ("services.0.id", REMOVED),
        "description is missing": ("services.0.description", REMOVED),
        "title is a number": ("services.0.title", 7),
        "prefetch is a list": ("services.0.prefetch", []),
        "id occurs twice": ("services.1.id", "kidney-checker"),
        "hook is unknown": ("services.0.hook", "coffee-break"),
    },
    "feedback-accepted": {
        "card is missing": ("feedback.0.card", REMOVED),
        "outcome is missing": ("feedback.0.outcome", REMOVED),
        "outcome is unknown": ("feedback.0.outcome", "ignored"),
        "outcomeTimestamp is missing": ("feedback.0.outcomeTimestamp", REMOVED),
        "acceptedSuggestions are missing": ("feedback.0.acceptedSuggestions", REMOVED),
    },
    "feedback-overridden": {
        "card is missing": ("feedback.0.card", REMOVED),
        "reason has no code": ("feedback.0.overrideReason.reason.code", REMOVED),
        "comment is a number": ("feedback.0.overrideReason.userComment", 7),
    },
}
"""The changes that break each example: a path, and the value put there."""


def load_example(name: str) -> Any:
    """Return an example."""
    return json.loads((EXAMPLES / f"{name}.json").read_text(encoding="utf-8"))


def break_example(name: str, flaw: str) -> Any:
    """Return an example with a flaw."""
    path, value = BROKEN[name][flaw]
    data = copy.deepcopy(load_example(name))
    *parents, last = path.split(".")
    place = data
    for part in parents:
        place = place[int(part)] if part.isdecimal() else place[part]
    key: Any = int(last) if last.isdecimal() else last
    if value is REMOVED:
        del place[key]
    else:
        place[key] = value
    return data


def find_our_problems(name: str, data: Any) -> list[str]:
    """Return what the project says is wrong with a variant of an example."""
    sort = name.partition("-")[0]
    if sort == "response":
        return [f"{each.path}: {each.rule}" for each in validate_response(data).problems]
    if sort == "discovery":
        return [f"{each.path}: {each.rule}" for each in validate_discovery(data).problems]
    try:
        if sort == "feedback":
            FeedbackRequest.model_validate(data)
            return []
        request = HookRequest.model_validate(data)
    except ValidationError as error:
        return [str(each["loc"]) for each in error.errors()]
    if request.hook not in HOOK_NAMES:
        return ["hook"]
    return [f"{each.field}: {each.text}" for each in check_context(request.hook, request.context)]
