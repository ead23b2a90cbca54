"""Events of the Twilio API."""

from typing import ClassVar

from clerkship.events.event import Payload


class WebhookRegistered(Payload):
    """The agent registered where it is called for text messages to a number, or removed it; without the address."""

    kind: ClassVar[str] = "messages.webhook.registered"
    number: str
    registered: bool = True


TWILIO_EVENTS: tuple[type[Payload], ...] = (WebhookRegistered,)
