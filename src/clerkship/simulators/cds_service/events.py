"""Events of a CDS service."""

from typing import Any, ClassVar

from clerkship.events.event import EffectType, Payload


class ServicesListed(Payload, kind="cds_service.listed"):
    """The agent read which services there are."""

    effect: ClassVar[EffectType] = "none"


class ServiceCalled(Payload, kind="cds_service.called"):
    """The agent called a service."""

    holds_body: ClassVar[bool] = True
    service: str
    hook: str
    instance: str
    context: dict[str, Any]
    prefetch: dict[str, Any]
    """The prefetch of the request, by key."""
    client: str = ""
    """The issuer of the JWT of the request; empty if it had none."""


class ServiceAnswered(Payload, kind="cds_service.answered"):
    """A service answered a call with cards."""

    is_by_sandbox: ClassVar[bool] = True
    service: str
    instance: str
    cards: tuple[dict[str, Any], ...]


class FeedbackReceived(Payload, kind="cds_service.feedback.received"):
    """The agent reported what became of a card."""

    service: str
    card: str
    outcome: str
    feedback: dict[str, Any]


class ClientRegistered(Payload, kind="cds_service.client.registered"):
    """The agent registered the public keys with which its JWTs are verified.

    The keys are not logged, because they are different in every run.
    """

    issuer: str
    keys: int
    """How many keys there are."""


class CardsChanged(Payload, kind="cds_service.cards.changed"):
    """A service answers with other cards from now on."""

    service: str
    cards: tuple[dict[str, Any], ...]


EVENTS = (ServicesListed, ServiceCalled, ServiceAnswered, FeedbackReceived, ClientRegistered, CardsChanged)
