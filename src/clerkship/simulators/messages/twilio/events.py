"""Events of the Twilio API."""

from typing import ClassVar

from clerkship.events.event import Payload


class WebhookRegistered(Payload):
    """The agent registered where it is called for text messages to a number, or removed it; without the address."""

    kind: ClassVar[str] = "messages.webhook.registered"
    number: str
    registered: bool = True


class SmsDeleted(Payload):
    """The agent deleted a text message at Twilio, or only its text. The organization and the log keep the message."""

    kind: ClassVar[str] = "messages.sms.deleted"
    id: str
    only_text: bool = False


TWILIO_EVENTS: tuple[type[Payload], ...] = (WebhookRegistered, SmsDeleted)
