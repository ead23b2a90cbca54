"""What the webhook of a telephone reports, and what it has reported."""

from typing import ClassVar

from clerkship.events.event import Event, Payload
from clerkship.events.lifecycle import OutboundAttempted
from clerkship.simulators.voice.events import VoiceWebhookRegistered, WebhookEvent


class WebhookRecord:
    """Which events the agent wants, and which calls to it were answered."""

    applied_events: ClassVar[tuple[type[Payload], ...]] = (VoiceWebhookRegistered, OutboundAttempted)

    def __init__(self) -> None:
        self.events: tuple[WebhookEvent, ...] = ("call.ringing",)
        self.answered: set[tuple[str, str]] = set()
        """Name of the delivery, and event with id: the agent answered, so it is not called again after a rewind."""

    def apply(self, event: Event) -> None:
        match event.payload:
            case VoiceWebhookRegistered(events=events):
                self.events = events
            case OutboundAttempted(channel=channel, message=id, is_answered=True):
                self.answered.add((channel, id))
