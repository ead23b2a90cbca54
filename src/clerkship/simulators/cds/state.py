"""The state of an EHR that calls CDS services. Only events change it."""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple
from uuid import UUID

from clerkship.events.event import Event
from clerkship.formats.cds_hooks.card import Card, SuggestedAction
from clerkship.formats.cds_hooks.hooks import check_context
from clerkship.formats.cds_hooks.prefetch import MAX_TEMPLATES, UnresolvedTemplate, parse_query, resolve_template
from clerkship.formats.cds_hooks.validation import CdsProblem, ValidatedDiscovery, ValidatedResponse
from clerkship.formats.cds_hooks.wire_model import (
    AcceptedSuggestion,
    CardFeedback,
    CdsCoding,
    CdsService,
    HookRequest,
    OverrideReason,
)
from clerkship.model.pattern import has_match_in_time
from clerkship.sandbox.request import find_record
from clerkship.sandbox.state import ActionContext, State
from clerkship.simulators.cds.config import CardDecision, CdsConfig
from clerkship.simulators.cds.events import (
    ActionRefused,
    CardDecided,
    DiscoveryFailed,
    FailureReason,
    FeedbackSent,
    HookAnswered,
    HookFailed,
    HookFired,
    HookRequested,
    HookTriggered,
    Json,
    PrefetchRequest,
    ServiceRefused,
    ServicesDiscovered,
    ServicesRegistered,
    ServicesRemoved,
    SuggestionAccepted,
)
from clerkship.simulators.cds.records import Prefetch, PreparedCall, ServiceCall, TriggeredHook, list_drafts


class ChosenOutcome(NamedTuple):
    """The outcome of a card."""

    accepted: tuple[int, ...] = ()
    """The numbers of the accepted suggestions."""
    is_overridden: bool = False
    reason: CdsCoding | None = None
    comment: str | None = None


def decide(card: Card, call: ServiceCall, decisions: Iterable[CardDecision]) -> ChosenOutcome:
    """Return what the first decision that fits a card does with it. A card that none fits is ignored."""
    decision = next((each for each in decisions if _fits(each, card, call)), None)
    if decision is None or decision.do == "ignore":
        return ChosenOutcome()
    if decision.do == "accept":
        return ChosenOutcome(accepted=_choose(card, decision))
    reason = next((each for each in card.override_reasons if each.code == decision.reason), None)
    if reason is None and decision.reason is not None:  # an EHR may have reasons of its own
        reason = CdsCoding(code=decision.reason)
    return ChosenOutcome(is_overridden=True, reason=reason, comment=decision.comment)


def _fits(decision: CardDecision, card: Card, call: ServiceCall) -> bool:
    return (
        decision.hook in (None, call.hook)
        and decision.service in (None, call.service.id)
        and decision.indicator in (None, card.indicator)
        and (decision.summary is None or has_match_in_time(decision.summary, card.summary))
    )


def _choose(card: Card, decision: CardDecision) -> tuple[int, ...]:
    """Return the numbers of the suggestions to accept; at most one unless the card allows more."""
    numbers = range(len(card.suggestions))
    if decision.label is not None:
        chosen = [n for n in numbers if has_match_in_time(decision.label, card.suggestions[n].label)]
    elif decision.choose == "recommended":
        chosen = [n for n in numbers if card.suggestions[n].is_recommended] or list(numbers[:1])
    else:
        chosen = list(numbers if decision.choose == "all" else numbers[:1])
    return tuple(chosen if card.selection_behavior == "any" else chosen[:1])


class CdsState(State[CdsConfig]):
    """The agent's services, the hooks that fired, and what became of the cards."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.services: tuple[CdsService, ...] = ()
        self.is_discovered = False
        """Whether the discovery endpoint has answered."""
        self.needs_discovery = self.config.url is not None
        self.discoveries = 0
        self.hooks: dict[str, TriggeredHook] = {}
        self._calls: dict[str, ServiceCall] = {}
        self._unfinished: dict[str, ServiceCall] = {}
        """The calls that are open, or whose feedback is to be sent or not decided yet, the oldest first."""

    # The agent's services.

    def register(self, action: ActionContext) -> None:
        """Log that the agent registered its services; they are then discovered."""
        action.emit(ServicesRegistered())

    def remove(self, action: ActionContext) -> None:
        """Log that the agent removed its services."""
        action.emit(ServicesRemoved())

    def discover(self, action: ActionContext, discovery: ValidatedDiscovery) -> None:
        """Store the services that the agent offers."""
        if not discovery.is_readable:
            self.fail_discovery(action, "invalid_response", 200, discovery.problems)
            return
        action.emit(ServicesDiscovered(services=tuple(service.to_wire() for service in discovery.services)))
        if discovery.problems:
            action.emit(ServiceRefused(problems=discovery.problems))

    def fail_discovery(
        self,
        action: ActionContext,
        reason: FailureReason,
        status: int | None = None,
        problems: tuple[CdsProblem, ...] = (),
    ) -> None:
        """Log that the discovery endpoint could not be read. The agent may register again."""
        action.emit(DiscoveryFailed(reason=reason, status=status, problems=problems))

    # Hooks.

    def trigger(
        self,
        action: ActionContext,
        hook: str,
        context: Json,
        service: str | None = None,
        decisions: tuple[CardDecision, ...] = (),
    ) -> str:
        """Trigger a hook and return its instance. Raises ValueError if the context lacks a field of the hook."""
        if problems := check_context(hook, context):
            raise ValueError("; ".join(f"{problem.field}: {problem.text}" for problem in problems))
        instance = new_uuid(action)
        action.emit(HookTriggered(instance=instance, hook=hook, context=context, service=service, decisions=decisions))
        return instance

    def find_hook(self, instance: str) -> TriggeredHook:
        """Return a hook by its instance; refused if it does not exist."""
        return find_record(self.hooks, "hook", instance, "; GET /hooks lists them")

    def find_call(self, id: str) -> ServiceCall:
        """Return a call by its id; refused if it does not exist."""
        return find_record(self._calls, "call", id)

    def list_pending(self) -> Iterator[str]:
        """Iterate over the outbound work, the oldest first: `discover/1`, `call/…`, `feedback/…`."""
        if self.needs_discovery:
            yield f"discover/{self.discoveries + 1}"
            return
        for call in self._unfinished.values():
            if call.is_open:
                yield call.message
            elif call.wants_feedback:
                yield f"feedback/{call.id}"

    def fire(self, action: ActionContext, id: str) -> PreparedCall:
        """Ask the chart for the prefetch, and return the request for a service. What is logged has no credentials."""
        call = self.find_call(id)
        hook = self.hooks[call.instance]
        prefetch_requests = tuple(_resolve_prefetch(call.service, hook))
        requested = action.emit(HookRequested(**call.identity, patient=hook.patient, prefetch=prefetch_requests))
        charts: dict[str, Prefetch] = {
            each.target: each.result for each in action.reactions_to(requested) if isinstance(each.result, Prefetch)
        }
        values: dict[str, Any] = {}
        for prefetch in charts.values():
            values |= prefetch.values
        request = HookRequest(
            hook=hook.hook, hook_instance=hook.instance, context=hook.context, prefetch=values or None
        )
        action.emit(HookFired(call=id, service=call.service.id, request=request.to_wire()))
        return PreparedCall(request, call.service.id, hook.patient or "", next(iter(charts), ""))

    def answer(self, action: ActionContext, id: str, status: int, response: ValidatedResponse) -> None:
        """Record the answer of a service."""
        call = self.find_call(id)
        if not response.is_readable:
            reason: FailureReason = "invalid_json" if response.problems[0].rule == "json" else "invalid_response"
            self.fail(action, id, reason, status, response.problems)
            return
        action.emit(
            HookAnswered(
                **call.identity,
                status=status,
                cards=tuple(card.to_wire() for card in response.cards),
                system_actions=tuple(each.to_wire() for each in response.system_actions),
                problems=response.problems,
            )
        )

    def fail(
        self,
        action: ActionContext,
        id: str,
        reason: FailureReason,
        status: int | None = None,
        problems: tuple[CdsProblem, ...] = (),
    ) -> None:
        """Record that a service did not answer as it should."""
        call = self.find_call(id)
        action.emit(HookFailed(**call.identity, reason=reason, status=status, problems=problems))

    # What the clinician does.

    def decide_cards(self, action: ActionContext, id: str) -> None:
        """Have the clinician deal with the cards of an answer, and apply what was accepted."""
        call = self.find_call(id)
        hook = self.hooks[call.instance]
        if call.system_actions and self.config.apply_system_actions:
            self._accept(action, call, None, None, "system actions", call.system_actions)
        decisions = (*hook.decisions, *self.config.decisions)
        for number, card in enumerate(call.cards):
            outcome = decide(card, call, decisions)
            self._log_decision(action, call, number, card, outcome)
            for index in outcome.accepted:
                suggestion = card.suggestions[index]
                self._accept(action, call, number, index, suggestion.label, suggestion.actions)

    def _log_decision(
        self, action: ActionContext, call: ServiceCall, number: int, card: Card, outcome: ChosenOutcome
    ) -> None:
        action.emit(
            CardDecided(
                call=call.id,
                card=number,
                uuid=card.uuid,
                outcome="accepted" if outcome.accepted else "overridden" if outcome.is_overridden else "ignored",
                suggestions=outcome.accepted,
                reason=None if outcome.reason is None else outcome.reason.to_wire(),
                comment=outcome.comment,
            )
        )

    def _accept(
        self,
        action: ActionContext,
        call: ServiceCall,
        card: int | None,
        suggestion: int | None,
        label: str,
        actions: tuple[SuggestedAction, ...],
    ) -> None:
        """Apply actions: to the drafts of the context, or by a reaction of the chart, which may refuse them."""
        hook = self.hooks[call.instance]
        drafted = [each for each in actions if each.target in hook.drafts]
        charted = [each for each in actions if each.target not in hook.drafts]
        accepted = action.emit(
            SuggestionAccepted(
                call=call.id,
                card=card,
                suggestion=suggestion,
                label=label,
                patient=hook.patient,
                actions=tuple(each.to_wire() for each in charted),
                draft_actions=tuple(each.to_wire() for each in drafted),
            )
        )
        for refusal in action.reaction_refusals(accepted):
            action.emit(
                ActionRefused(
                    call=call.id, card=card, suggestion=suggestion, code=refusal.code, reason=refusal.reason[:500]
                )
            )

    def log_feedback(self, action: ActionContext, id: str, *, delivered: bool, status: int | None) -> None:
        """Record that feedback was sent."""
        call = self.find_call(id)
        action.emit(FeedbackSent(call=id, feedback=call.feedback, delivered=delivered, status=status))

    # Events.

    def apply(self, event: Event) -> None:
        match event.payload:
            case ServicesRegistered():
                self.needs_discovery, self.is_discovered = True, False
            case ServicesRemoved():
                self.needs_discovery, self.is_discovered, self.services = False, False, ()
            case ServicesDiscovered(services=services):
                self._store_services(tuple(CdsService.model_validate(service) for service in services))
            case DiscoveryFailed():
                self.needs_discovery, self.discoveries = False, self.discoveries + 1
            case HookTriggered() as triggered:
                self._add_hook(event, triggered)
            case HookFired(call=id):
                self._calls[id].status = "fired"
            case HookAnswered() as answered:
                self._add_answer(answered)
            case HookFailed() as failed:
                call = self._finish(failed.call)
                call.status, call.failure, call.http_status = "failed", failed.reason, failed.status
                call.problems = failed.problems
            case CardDecided() as decided:
                self._add_decision(event, decided)
            case SuggestionAccepted() as accepted:
                self._change_drafts(accepted)
            case FeedbackSent(call=id):
                self._finish(id).wants_feedback = False

    def _store_services(self, services: tuple[CdsService, ...]) -> None:
        self.services, self.is_discovered, self.needs_discovery = services, True, False
        self.discoveries += 1
        for hook in self.hooks.values():
            if hook.calls is None:
                self._route(hook)

    def _route(self, hook: TriggeredHook) -> None:
        hook.route(self.services)
        calls = {call.id: call for call in hook.calls or ()}
        self._calls |= calls
        self._unfinished |= calls

    def _finish(self, id: str) -> ServiceCall:
        self._unfinished.pop(id, None)
        return self._calls[id]

    def _add_hook(self, event: Event, triggered: HookTriggered) -> None:
        hook = TriggeredHook(
            triggered.instance,
            event.at,
            triggered.hook,
            triggered.context,
            triggered.service,
            triggered.decisions,
            list_drafts(triggered.context),
        )
        self.hooks[triggered.instance] = hook
        if self.is_discovered:
            self._route(hook)

    def _add_answer(self, answered: HookAnswered) -> None:
        call = self._calls[answered.call]
        call.status, call.http_status, call.problems = "answered", answered.status, answered.problems
        call.cards = tuple(Card.model_validate(card) for card in answered.cards)
        call.system_actions = tuple(SuggestedAction.model_validate(each) for each in answered.system_actions)
        if not call.cards:
            self._finish(call.id)

    def _add_decision(self, event: Event, decided: CardDecided) -> None:
        call = self._calls[decided.call]
        call.decided.append(decided)
        feedback = _build_feedback(call.cards[decided.card], decided, event)
        if feedback is not None and self.config.send_feedback:
            call.feedback = (*call.feedback, feedback.to_wire())
            call.wants_feedback = True
        if decided.card == len(call.cards) - 1 and not call.wants_feedback:
            self._finish(call.id)

    def _change_drafts(self, accepted: SuggestionAccepted) -> None:
        drafts = self.hooks[self._calls[accepted.call].instance].drafts
        for data in accepted.draft_actions:
            each = SuggestedAction.model_validate(data)
            if each.type == "delete":
                drafts.pop(each.target or "", None)
            else:
                drafts[each.target or ""] = each.resource or {}


def _resolve_prefetch(service: CdsService, hook: TriggeredHook) -> Iterator[PrefetchRequest]:
    """Yield the queries of a service. A template that cannot be resolved is left out, as the specification says."""
    for key, template in list(service.prefetch.items())[:MAX_TEMPLATES]:
        try:
            query = resolve_template(template, hook.hook, hook.context)
            parse_query(query)
        except UnresolvedTemplate:
            continue
        yield PrefetchRequest(key=key, query=query)


def _build_feedback(card: Card, decided: CardDecided, event: Event) -> CardFeedback | None:
    """Return the feedback on a card; None if it was ignored, or a uuid is missing (specification: Feedback)."""
    if card.uuid is None or decided.outcome == "ignored":
        return None
    at = event.at.strftime("%Y-%m-%dT%H:%M:%SZ")
    if decided.outcome == "overridden":
        reason = None
        if decided.reason is not None or decided.comment is not None:
            reason = OverrideReason.model_validate({"reason": decided.reason, "userComment": decided.comment})
        return CardFeedback(card=card.uuid, outcome="overridden", outcome_timestamp=at, override_reason=reason)
    uuids = [card.suggestions[number].uuid for number in decided.suggestions]
    accepted = tuple(AcceptedSuggestion(id=uuid) for uuid in uuids if uuid is not None)
    if not accepted:
        return None
    return CardFeedback(card=card.uuid, outcome="accepted", outcome_timestamp=at, accepted_suggestions=accepted)


def new_uuid(action: ActionContext) -> str:
    """Return a UUID that follows from the seed of the run."""
    digest = hashlib.blake2b(action.ids.new("hook").encode(), digest_size=16).digest()
    return str(UUID(bytes=digest, version=4))
