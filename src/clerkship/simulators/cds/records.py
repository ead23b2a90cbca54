"""Hooks that fired, the calls of services, and what became of their cards."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple

from clerkship.formats.cds_hooks.card import Card, SuggestedAction
from clerkship.formats.cds_hooks.hooks import list_bundle_resources
from clerkship.formats.cds_hooks.validation import CdsProblem
from clerkship.formats.cds_hooks.wire_model import CdsService, HookRequest
from clerkship.simulators.cds.config import CardDecision
from clerkship.simulators.cds.events import CardDecided, Json

CallStatus = Literal["waiting", "fired", "answered", "failed"]
_DRAFT_FIELDS = ("draftOrders", "appointments")


class Prefetch(NamedTuple):
    """What a chart returned for the prefetch queries of a call; a reaction of the chart returns it."""

    values: dict[str, Any]
    """A resource, a searchset Bundle, or None for "there is none", by key. A key whose query failed is not there."""


class PreparedCall(NamedTuple):
    """The request for a service, without credentials, and the chart for which it gets an access token."""

    request: HookRequest
    service: str
    patient: str
    chart: str
    """The name of the sandbox that answers prefetch queries; empty if none does."""


@dataclass(slots=True)
class ServiceCall:
    """The call of one service for one hook."""

    id: str
    instance: str
    hook: str
    service: CdsService
    status: CallStatus = "waiting"
    http_status: int | None = None
    failure: str = ""
    cards: tuple[Card, ...] = ()
    system_actions: tuple[SuggestedAction, ...] = ()
    problems: tuple[CdsProblem, ...] = ()
    decided: list[CardDecided] = field(default_factory=list)
    wants_feedback: bool = False
    """Whether feedback has to be sent."""
    feedback: tuple[Json, ...] = ()
    """The feedback to send."""

    @property
    def identity(self) -> dict[str, str]:
        """The fields that name the call in its events."""
        return {"call": self.id, "instance": self.instance, "hook": self.hook, "service": self.service.id}

    @property
    def message(self) -> str:
        """The id of the call among the outbound messages."""
        return f"call/{self.id}"

    @property
    def is_open(self) -> bool:
        """Whether the service has not answered yet."""
        return self.status in ("waiting", "fired")


@dataclass(slots=True)
class TriggeredHook:
    """A hook that a user triggered, and the calls that it led to."""

    instance: str
    at: datetime
    hook: str
    context: Json
    service: str | None
    decisions: tuple[CardDecision, ...]
    drafts: dict[str, Json]
    """The orders or appointments of the context by key, as accepted suggestions have changed them."""
    calls: list[ServiceCall] | None = None
    """None until the services are known."""

    @property
    def patient(self) -> str | None:
        patient: str | None = self.context.get("patientId")
        return patient

    def route(self, services: Sequence[CdsService]) -> None:
        """Make a call for each service of the hook."""
        chosen = [each for each in services if each.hook == self.hook and self.service in (None, each.id)]
        self.calls = [
            ServiceCall(f"{self.instance}/{number}", self.instance, self.hook, service)
            for number, service in enumerate(chosen, 1)
        ]


def list_drafts(context: Json) -> dict[str, Json]:
    """Return the resources of the context that are not in the chart yet, by key."""
    resources = [each for name in _DRAFT_FIELDS for each in list_bundle_resources(context.get(name)) or ()]
    return {f"{each['resourceType']}/{each.get('id', number)}": each for number, each in enumerate(resources)}
