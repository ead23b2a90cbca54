"""Events of an EHR that calls CDS services.

A hook is `triggered` when a user does something. For each service of the hook it is then `requested` (the prefetch),
`fired` (the call), and `answered` or `failed`.
"""

from typing import Any, ClassVar, Literal

from clerkship.events.event import Payload, collect_events
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


class ServicesRegistered(Payload, kind="cds.services.registered"):
    """The agent registered the base URL of its services; the URL itself is not logged."""


class ServicesRemoved(Payload, kind="cds.services.removed"):
    """The agent removed its services."""


class ServicesDiscovered(Payload, kind="cds.services.discovered"):
    """The discovery endpoint of the agent answered. These services replace the earlier ones."""

    services: tuple[Json, ...]


class ServiceRefused(Payload, kind="cds.service.refused"):
    """The description of a service cannot be used, or only in part."""

    problems: tuple[CdsProblem, ...]


class DiscoveryFailed(Payload, kind="cds.discovery.failed"):
    """The discovery endpoint of the agent could not be read."""

    reason: FailureReason
    status: int | None = None
    problems: tuple[CdsProblem, ...] = ()


class HookTriggered(Payload, kind="cds.hook.triggered"):
    """A user did something on which a hook fires. The services of the hook are called, once they are known."""

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


class HookRequested(Payload, kind="cds.hook.requested"):
    """The EHR prepares a call: these queries of the service are to be answered from the chart."""

    call: str
    """The id of the call: one hook and one service."""
    instance: str
    hook: str
    service: str
    patient: str | None
    prefetch: tuple[PrefetchRequest, ...] = ()


class HookFired(Payload, kind="cds.hook.fired"):
    """A service is called. The request is without credentials."""

    call: str
    service: str
    request: Json


class HookAnswered(Payload, kind="cds.hook.answered"):
    """A service answered with cards and system actions. Those that break a rule are left out, and are problems."""

    holds_body: ClassVar[bool] = True
    call: str
    instance: str
    hook: str
    service: str
    status: int
    cards: tuple[Json, ...] = ()
    system_actions: tuple[Json, ...] = ()
    problems: tuple[CdsProblem, ...] = ()


class HookFailed(Payload, kind="cds.hook.failed"):
    """A service did not answer in a way that can be used."""

    call: str
    instance: str
    hook: str
    service: str
    reason: FailureReason
    status: int | None = None
    problems: tuple[CdsProblem, ...] = ()


class CardDecided(Payload, kind="cds.card.decided"):
    """The clinician accepted suggestions of a card, overrode it, or ignored it."""

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


class SuggestionAccepted(Payload, kind="cds.suggestion.accepted"):
    """The actions of an accepted suggestion, or system actions, are to be applied."""

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


class ActionRefused(Payload, kind="cds.action.refused"):
    """The chart refused the actions of a suggestion. None of them was applied."""

    call: str
    card: int | None
    suggestion: int | None
    code: str
    reason: str


class FeedbackSent(Payload, kind="cds.feedback.sent"):
    """A service was told what became of its cards."""

    call: str
    feedback: tuple[Json, ...]
    delivered: Flag
    """Whether the service accepted it."""
    status: int | None = None


EVENTS = collect_events(globals())
