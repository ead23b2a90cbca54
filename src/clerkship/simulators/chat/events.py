"""What happens in a chat."""

from typing import ClassVar

from clerkship.events.event import Payload, Utterance


class SessionStarted(Payload):
    """Somebody is there to talk with."""

    kind: ClassVar[str] = "chat.session.started"
    person: str


class MessageSent(Utterance):
    """A message, by whoever the event's actor is."""

    kind: ClassVar[str] = "chat.message.sent"


class SessionEnded(Payload):
    """The conversation is over, and why."""

    kind: ClassVar[str] = "chat.session.ended"
    reason: str
    detail: str | None = None
