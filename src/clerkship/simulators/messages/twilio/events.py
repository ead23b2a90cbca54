"""Events of the Twilio API."""

from clerkship.events.event import Payload


class WebhookRegistered(Payload, kind="messages.webhook.registered"):
    """The agent registered where it is called for text messages to a number, or removed it; without the address."""

    number: str
    registered: bool = True


class SmsDeleted(Payload, kind="messages.sms.deleted"):
    """The agent deleted a text message at Twilio, or only its text. The organization and the log keep the message."""

    id: str
    only_text: bool = False


TWILIO_EVENTS: tuple[type[Payload], ...] = (WebhookRegistered, SmsDeleted)
