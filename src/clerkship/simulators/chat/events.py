"""Events of a chat."""

from typing import ClassVar

from clerkship.events.event import Payload, Utterance


class SessionStarted(Payload):
    """A person joined the conversation."""

    kind: ClassVar[str] = "chat.session.started"
    person: str


class ChatMessageSent(Utterance):
    """A message of the person or the agent; the event's actor is the sender."""

    kind: ClassVar[str] = "chat.message.sent"


class SessionEnded(Payload):
    """The conversation ended, with the reason."""

    kind: ClassVar[str] = "chat.session.ended"
    reason: str
    detail: str | None = None
