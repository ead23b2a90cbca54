"""The conversation with a simulated person at one address, over the messages of an organization."""

from collections.abc import Sequence
from typing import Any, Protocol, cast

from clerkship.events.event import Event, is_by_agent
from clerkship.model.conversation_key import normalize_address
from clerkship.sandbox.request import Refusal
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.messages.events import ConversationEnded, ConversationStarted, MessageArrived, MessageSent
from clerkship.simulators.messages.outgoing import IncomingMessage, OutgoingMessage
from clerkship.simulators.messages.people import ConversationTable
from clerkship.simulators.messages.records import Channel, ConversationRecord, MessageHeader


class MessagesHost(Protocol):
    """The part of the state of messages that a conversation uses."""

    conversations: ConversationTable

    def send(self, action: ActionContext, message: OutgoingMessage, **utterance: Any) -> Event:
        """Send a message."""

    def receive(self, action: ActionContext, message: IncomingMessage, **utterance: Any) -> Event:
        """Let a message arrive."""


class MessagesConversation:
    """A conversation by text message, e-mail or portal message: one channel and one address."""

    def __init__(self, state: MessagesHost, channel: Channel, address: str) -> None:
        self._state, self._channel, self._address = state, channel, normalize_address(channel, address)

    @property
    def _record(self) -> ConversationRecord | None:
        return self._state.conversations.find(self._channel, self._address)

    @property
    def open(self) -> bool:
        """Whether the person can be reached at the address."""
        return self._record is not None and self._record.is_open

    @property
    def turns(self) -> int:
        """How many messages the person has sent."""
        return self._record.turns if self._record is not None else 0

    @property
    def messages(self) -> Sequence[Event]:
        """The messages to and from the address since the conversation was started."""
        return self._record.messages if self._record is not None else ()

    def start(self, action: ActionContext, person: str) -> Event:
        """Start the conversation with a person; refuse if it is open."""
        if self.open:
            raise Refusal(409, "already_open", f"the conversation at {self._address} is already open")
        return action.emit(ConversationStarted(person=person, channel=self._channel, address=self._address))

    def say(self, action: ActionContext, text: str, subject: str | None = None, **extra: Any) -> Event:
        """Send a message to the person, or let one of theirs arrive, as a reply to the last one of the other side.

        `subject` is for a message that answers none.
        """
        if not self.open:
            raise Refusal(409, "not_open", f"there is no conversation at {self._address}")
        is_reply_of_agent = action.actor == "agent"
        answered = self._find_answered(by_agent=not is_reply_of_agent)
        fields: dict[str, Any] = {
            "channel": self._channel,
            "text": text,
            "subject": self._build_subject(answered, subject),
            "in_reply_to": answered.id if answered is not None else None,
        }
        if is_reply_of_agent:
            return self._state.send(action, OutgoingMessage(to=(self._address,), **fields), **extra)
        own_address = (answered.sender,) if answered is not None and self._channel != "portal" else ()
        return self._state.receive(action, IncomingMessage(sender=self._address, to=own_address, **fields), **extra)

    def end(self, action: ActionContext, reason: str, detail: str | None = None) -> Event:
        """End the conversation; refuse if it is not open."""
        if not self.open:
            raise Refusal(409, "not_open", f"there is no conversation at {self._address}")
        return action.emit(
            ConversationEnded(channel=self._channel, address=self._address, reason=reason, detail=detail)
        )

    def _find_answered(self, *, by_agent: bool) -> MessageHeader | None:
        """Return the header of the last message of one side; None if there is none."""
        event = next((event for event in reversed(self.messages) if is_by_agent(event) == by_agent), None)
        return cast(MessageSent | MessageArrived, event.payload).header if event is not None else None

    def _build_subject(self, answered: MessageHeader | None, subject: str | None) -> str | None:
        if self._channel == "sms":
            return None
        if answered is None or answered.subject is None:
            return subject
        if self._channel == "portal" or answered.subject.casefold().startswith("re:"):
            return answered.subject
        return f"Re: {answered.subject}"
