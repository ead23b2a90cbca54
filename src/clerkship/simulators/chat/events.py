"""Events of a chat."""

from typing import ClassVar

from clerkship.events.event import EffectType, Payload, Utterance


class SessionStarted(Payload, kind="chat.session.started"):
    """A person joined the conversation."""

    person: str


class ChatMessageSent(Utterance, kind="chat.message.sent"):
    """A message of the person or the agent; the event's actor is the sender."""

    effect: ClassVar[EffectType] = "talk"


class PastMessage(ChatMessageSent, kind="chat.past.message"):
    """A message of the person before the trial."""

    effect: ClassVar[EffectType] = "none"
    is_past: ClassVar[bool] = True


class PastReply(PastMessage, kind="chat.past.reply"):
    """What an agent said to the person before the trial."""

    is_outgoing: ClassVar[bool] = True


class SessionEnded(Payload, kind="chat.session.ended"):
    """The conversation ended, with the reason."""

    reason: str
    detail: str | None = None
