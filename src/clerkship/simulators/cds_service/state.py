"""The state of a CDS service: its cards, the calls it answered, and the feedback it got."""

import re
import uuid
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from clerkship.events.event import Event
from clerkship.formats.cds_hooks.card import Card
from clerkship.formats.cds_hooks.hooks import check_context
from clerkship.formats.cds_hooks.patient import list_resources
from clerkship.formats.cds_hooks.patient_data import without_medications
from clerkship.formats.cds_hooks.wire_model import CardFeedback, FeedbackRequest, HookRequest
from clerkship.sandbox.request import Refusal
from clerkship.sandbox.route import describe_first_error
from clerkship.sandbox.state import ActionContext, State
from clerkship.simulators.cds_service.calls import ServiceCallTable
from clerkship.simulators.cds_service.config import CdsServiceConfig, ServiceConfig
from clerkship.simulators.cds_service.events import (
    CardsChanged,
    ClientRegistered,
    FeedbackReceived,
    ServiceAnswered,
    ServiceCalled,
)
from clerkship.simulators.cds_service.rules import apply_rules

MISSING_PREFETCH = 412
"""The status for prefetch that the service cannot get itself (CDS Hooks 2.0: CDS Service Response)."""
SEARCHSET = "searchset"
BUNDLE_TYPES = frozenset(
    f"{SEARCHSET} collection document message history batch batch-response transaction transaction-response".split()
)
"""The values of Bundle.type in R4."""
MAX_ORDERS = 100
"""The maximum number of draft orders in a call."""
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?", re.ASCII)


class CdsServiceState(State[CdsServiceConfig]):
    """Cards that steps have set, the service of each card that was returned, and feedback."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.cards: dict[str, tuple[dict[str, Any], ...]] = {}
        """The cards that a step has set, by service; they replace those of the config and of the rules."""
        self.calls = ServiceCallTable()
        self.clients: dict[str, int] = {}
        """How many public keys each client has registered, by issuer."""

    def find_service(self, id: str) -> ServiceConfig:
        """Return a service; refuse an unknown one."""
        service = next((each for each in self.config.services if each.id == id), None)
        if service is None:
            known = ", ".join(each.id for each in self.config.services)
            raise build_refusal(404, f"unknown service `{id[:80]}` (known: {known})")
        return service

    def call(self, action: ActionContext, id: str, data: object, client: str = "") -> dict[str, Any]:
        """Answer a call of a service with cards; refuse a malformed request.

        `client` is the issuer of the JWT of the request.
        """
        service = self.find_service(id)
        request = self._check_request(service, data)
        sent = request.prefetch or {}
        missing = sorted(service.needs.keys() - sent.keys())
        if missing:
            reason = f"prefetch `{missing[0]}` is missing, and this service does not call FHIR servers"
            raise build_refusal(MISSING_PREFETCH, reason)
        action.emit(
            ServiceCalled(
                service=id,
                hook=request.hook,
                instance=request.hook_instance,
                context=request.context,
                prefetch=sent,
                client=client,
            )
        )
        cards = self._build_cards(action, service, request)
        action.emit(ServiceAnswered(service=id, instance=request.hook_instance, cards=tuple(cards)))
        return {"cards": cards}

    def _check_request(self, service: ServiceConfig, data: object) -> HookRequest:
        try:
            request = HookRequest.model_validate(data)
        except ValidationError as error:
            raise build_refusal(400, describe_first_error(error)) from None
        if request.hook != service.hook:
            raise build_refusal(400, f"{service.id} is a service for {service.hook}, not {request.hook[:80]}")
        try:
            uuid.UUID(request.hook_instance)
        except ValueError:
            raise build_refusal(400, "hookInstance must be a UUID") from None
        _check_bundles(request.prefetch or {})
        earlier = self.calls.find(service.id, request.hook_instance)
        if earlier is not None and earlier.called.context != request.context:
            raise build_refusal(
                400, f"hookInstance {request.hook_instance} is of an earlier call about another context"
            )
        orders = request.context.get("draftOrders")
        if isinstance(orders, dict) and len(list(list_resources(orders))) > MAX_ORDERS:
            raise build_refusal(400, f"context.draftOrders: expected at most {MAX_ORDERS} resources")
        for problem in check_context(service.hook, without_medications(request.context)):
            raise build_refusal(400, f"context.{problem.field}: {problem.text}")
        return request

    def _build_cards(self, action: ActionContext, service: ServiceConfig, request: HookRequest) -> list[dict[str, Any]]:
        if service.id in self.cards:
            cards = [Card.model_validate(card) for card in self.cards[service.id]]
        else:
            data = {"context": request.context, "prefetch": request.prefetch}
            cards = [*service.cards, *apply_rules(service, data, action.now)]
        instance = f"{service.id}/{request.hook_instance}"
        return [add_uuids(card, f"{instance}/{number}").to_wire() for number, card in enumerate(cards)]

    def receive_feedback(self, action: ActionContext, id: str, data: object) -> None:
        """Record what became of cards; refuse malformed feedback, and feedback on cards that were not returned."""
        self.find_service(id)
        try:
            request = FeedbackRequest.model_validate(data)
        except ValidationError as error:
            raise build_refusal(400, describe_first_error(error)) from None
        if not request.feedback:
            raise build_refusal(400, "feedback: expected at least one item")
        for item in request.feedback:
            if problem := self._find_feedback_problem(id, item):
                raise build_refusal(400, problem)
        for item in request.feedback:
            action.emit(FeedbackReceived(service=id, card=item.card, outcome=item.outcome, feedback=item.to_wire()))

    def _find_feedback_problem(self, service: str, item: CardFeedback) -> str:
        """Return what is wrong with feedback on a card; nothing if it refers to what the service returned."""
        card = self.calls.find_card(service, item.card)
        if card is None:
            return f"{service} has not returned a card `{item.card[:80]}`"
        for suggestion in item.accepted_suggestions:
            if suggestion.id not in [str(each.get("uuid")) for each in card.get("suggestions", ())]:
                return f"the card `{item.card[:80]}` has no suggestion `{suggestion.id[:80]}`"
        reason = item.override_reason.reason if item.override_reason is not None else None
        codes = [str(each.get("code")) for each in card.get("overrideReasons", ())]
        if reason is not None and reason.code not in codes:
            return f"`{reason.code[:80]}` is none of the overrideReasons of the card"
        if _TIMESTAMP.fullmatch(item.outcome_timestamp) is None:
            return "outcomeTimestamp must be a time in ISO 8601, such as 2026-03-02T09:00:00Z"
        return ""

    def set_cards(self, action: ActionContext, id: str, cards: tuple[Card, ...]) -> None:
        """Let a service answer with these cards from now on."""
        self.find_service(id)
        action.emit(CardsChanged(service=id, cards=tuple(card.to_wire() for card in cards)))

    def apply(self, event: Event) -> None:
        self.calls.apply(event)
        match event.payload:
            case CardsChanged(service=service, cards=cards):
                self.cards[service] = cards
            case ClientRegistered(issuer=issuer, keys=keys):
                self.clients[issuer] = keys


def build_refusal(status: int, reason: str) -> Refusal:
    """Build the refusal of a call. The playground logs it as `sandbox.refused`, with status, code and reason."""
    code = {404: "unknown_service", MISSING_PREFETCH: "missing_prefetch"}.get(status, "malformed_request")
    return Refusal(status, code, reason)


def add_uuids(card: Card, name: str) -> Card:
    """Return a card in which the card and its suggestions have uuids, which feedback refers to."""
    suggestions = [
        each.model_copy(update={"uuid": each.uuid or build_uuid(f"{name}/{number}")})
        for number, each in enumerate(card.suggestions)
    ]
    return card.model_copy(update={"uuid": card.uuid or build_uuid(name), "suggestions": tuple(suggestions)})


def build_uuid(name: str) -> str:
    """Return the uuid of a card, from its service, its hook instance and its number: the same in every run."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, name))


def _check_bundles(prefetch: Mapping[str, Any]) -> None:
    """Refuse a Bundle of a type that FHIR does not have."""
    for key, value in prefetch.items():
        if isinstance(value, dict) and value.get("resourceType") == "Bundle":
            type = value.get("type", SEARCHSET)
            if not isinstance(type, str) or type not in BUNDLE_TYPES:
                reason = f"prefetch `{key[:80]}`: `{str(type)[:80]}` is not a type of Bundle (expected: {SEARCHSET})"
                raise build_refusal(400, reason)


def to_request(hook: str, instance: str, context: Mapping[str, Any], prefetch: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of a call."""
    return {"hook": hook, "hookInstance": instance, "context": dict(context), "prefetch": dict(prefetch)}
