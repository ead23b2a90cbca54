"""Events of a CDS service."""

from typing import Any, ClassVar

from clerkship.events.event import Payload


class ServicesListed(Payload):
    """The agent read which services there are."""

    kind: ClassVar[str] = "cds_service.listed"


class ServiceCalled(Payload):
    """The agent called a service."""

    kind: ClassVar[str] = "cds_service.called"
    holds_body: ClassVar[bool] = True
    service: str
    hook: str
    instance: str
    context: dict[str, Any]
    prefetch: dict[str, Any]
    """The prefetch of the request, by key."""
    client: str = ""
    """The issuer of the JWT of the request; empty if it had none."""


class ServiceAnswered(Payload):
    """A service answered a call with cards."""

    kind: ClassVar[str] = "cds_service.answered"
    service: str
    instance: str
    cards: tuple[dict[str, Any], ...]


class FeedbackReceived(Payload):
    """The agent reported what became of a card."""

    kind: ClassVar[str] = "cds_service.feedback.received"
    service: str
    card: str
    outcome: str
    feedback: dict[str, Any]


class ClientRegistered(Payload):
    """The agent registered the public keys with which its JWTs are verified.

    The keys are not logged, because they are different in every run.
    """

    kind: ClassVar[str] = "cds_service.client.registered"
    issuer: str
    keys: int
    """How many keys there are."""


class CardsChanged(Payload):
    """A service answers with other cards from now on."""

    kind: ClassVar[str] = "cds_service.cards.changed"
    service: str
    cards: tuple[dict[str, Any], ...]


EVENTS = (ServicesListed, ServiceCalled, ServiceAnswered, FeedbackReceived, ClientRegistered, CardsChanged)
