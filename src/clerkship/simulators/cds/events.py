"""Events of an EHR that calls CDS services.

A hook is `triggered` when a user does something. For each service of the hook it is then `requested` (the prefetch),
`fired` (the call), and `answered` or `failed`.
"""

from typing import Any, ClassVar, Literal

from clerkship.events.event import Payload
from clerkship.formats.cds_hooks.validation import CdsProblem
from clerkship.model.frozen import Flag, Frozen
from clerkship.simulators.cds.config import CardDecision

Json = dict[str, Any]
FailureReason = Literal[
    "timed_out",
    "status",
    "missing_prefetch",
    "invalid_json",
    "invalid_response",
    "too_large",
    "wrong_content_type",
    "redirected",
    "refused_by_policy",
    "not_reached",
]
"""Why a call failed. `missing_prefetch` is the status 412."""


class ServicesRegistered(Payload):
    """The agent registered the base URL of its services; the URL itself is not logged."""

    kind: ClassVar[str] = "cds.services.registered"


class ServicesRemoved(Payload):
    """The agent removed its services."""

    kind: ClassVar[str] = "cds.services.removed"


class ServicesDiscovered(Payload):
    """The discovery endpoint of the agent answered. These services replace the earlier ones."""

    kind: ClassVar[str] = "cds.services.discovered"
    services: tuple[Json, ...]


class ServiceRefused(Payload):
    """The description of a service cannot be used, or only in part."""

    kind: ClassVar[str] = "cds.service.refused"
    problems: tuple[CdsProblem, ...]


class DiscoveryFailed(Payload):
    """The discovery endpoint of the agent could not be read."""

    kind: ClassVar[str] = "cds.discovery.failed"
    reason: FailureReason
    status: int | None = None
    problems: tuple[CdsProblem, ...] = ()


class HookTriggered(Payload):
    """A user did something on which a hook fires. The services of the hook are called, once they are known."""

    kind: ClassVar[str] = "cds.hook.triggered"
    instance: str
    """The hookInstance, a UUID."""
    hook: str
    context: Json
    service: str | None = None
    """The only service to call; None for all services of the hook."""
    decisions: tuple[CardDecision, ...] = ()
    """What the clinician does with cards of this hook; they come before those of the config."""


class PrefetchRequest(Frozen):
    """A prefetch key and the query of FHIR for it, such as `Patient/123`."""

    key: str
    query: str


class HookRequested(Payload):
    """The EHR prepares a call: these queries of the service are to be answered from the chart."""

    kind: ClassVar[str] = "cds.hook.requested"
    call: str
    """The id of the call: one hook and one service."""
    instance: str
    hook: str
    service: str
    patient: str | None
    prefetch: tuple[PrefetchRequest, ...] = ()


class HookFired(Payload):
    """A service is called. The request is without credentials."""

    kind: ClassVar[str] = "cds.hook.fired"
    call: str
    service: str
    request: Json


class HookAnswered(Payload):
    """A service answered with cards and system actions. Those that break a rule are left out, and are problems."""

    kind: ClassVar[str] = "cds.hook.answered"
    holds_body: ClassVar[bool] = True
    call: str
    instance: str
    hook: str
    service: str
    status: int
    cards: tuple[Json, ...] = ()
    system_actions: tuple[Json, ...] = ()
    problems: tuple[CdsProblem, ...] = ()


class HookFailed(Payload):
    """A service did not answer in a way that can be used."""

    kind: ClassVar[str] = "cds.hook.failed"
    call: str
    instance: str
    hook: str
    service: str
    reason: FailureReason
    status: int | None = None
    problems: tuple[CdsProblem, ...] = ()


class CardDecided(Payload):
    """The clinician accepted suggestions of a card, overrode it, or ignored it."""

    kind: ClassVar[str] = "cds.card.decided"
    call: str
    card: int
    """The number of the card in the answer, from zero."""
    uuid: str | None
    outcome: Literal["accepted", "overridden", "ignored"]
    suggestions: tuple[int, ...] = ()
    """The numbers of the accepted suggestions, from zero."""
    reason: Json | None = None
    """The override reason, as a coding."""
    comment: str | None = None


class SuggestionAccepted(Payload):
    """The actions of an accepted suggestion, or system actions, are to be applied."""

    kind: ClassVar[str] = "cds.suggestion.accepted"
    call: str
    card: int | None
    """None for system actions."""
    suggestion: int | None
    label: str
    patient: str | None
    actions: tuple[Json, ...]
    """Changes to the chart."""
    draft_actions: tuple[Json, ...] = ()
    """Changes to orders or appointments of the context. The chart makes those of resources that it has."""


class ActionRefused(Payload):
    """The chart refused the actions of a suggestion. None of them was applied."""

    kind: ClassVar[str] = "cds.action.refused"
    call: str
    card: int | None
    suggestion: int | None
    code: str
    reason: str


class FeedbackSent(Payload):
    """A service was told what became of its cards."""

    kind: ClassVar[str] = "cds.feedback.sent"
    call: str
    feedback: tuple[Json, ...]
    delivered: Flag
    """Whether the service accepted it."""
    status: int | None = None


EVENTS = (
    *(ServicesRegistered, ServicesRemoved, ServicesDiscovered, ServiceRefused, DiscoveryFailed),
    *(HookTriggered, HookRequested, HookFired, HookAnswered, HookFailed),
    *(CardDecided, SuggestionAccepted, ActionRefused, FeedbackSent),
)
