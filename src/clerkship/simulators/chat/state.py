"""The state of a chat: whether it is open, and its messages in order."""

from typing import Any

from clerkship.events.event import Event
from clerkship.sandbox.component import NoConfig
from clerkship.sandbox.request import Refusal
from clerkship.sandbox.state import ActionContext, State
from clerkship.simulators.chat.events import ChatMessageSent, PastMessage, PastReply, SessionEnded, SessionStarted


class ChatState(State[NoConfig]):
    """The person in the conversation, and the messages."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.open = False
        self.person: str | None = None
        self.turns = 0
        self.messages: list[Event] = []

    def start(self, action: ActionContext, person: str) -> Event:
        """Start the conversation with a person; refuse if one is open."""
        if self.open:
            raise Refusal(409, "already_open", f"the conversation with {self.person} is already open")
        return action.emit(SessionStarted(person=person))

    def say(self, action: ActionContext, text: str, **extra: Any) -> Event:
        """Add a message; refuse if the conversation is not open.

        A turn begins with a message of the person. What the agent says before their first message is turn 0.
        """
        if not self.open:
            raise Refusal(409, "not_open", "the conversation is not open")
        turn = self.turns + (action.actor != "agent")
        return action.emit(ChatMessageSent(text=text, turn=turn, **extra))

    def add_past(self, action: ActionContext, text: str, *, by_agent: bool) -> Event:
        """Add a message that was sent before the trial; refuse if the conversation is not open."""
        if not self.open:
            raise Refusal(409, "not_open", "the conversation is not open")
        if by_agent:
            return action.emit(PastReply(text=text, turn=self.turns))
        return action.emit(PastMessage(text=text, turn=self.turns + 1))

    def end(self, action: ActionContext, reason: str, detail: str | None = None) -> Event:
        """End the conversation; refuse if it is not open."""
        if not self.open:
            raise Refusal(409, "not_open", "the conversation is not open")
        return action.emit(SessionEnded(reason=reason, detail=detail))

    def since(self, seq: int) -> list[Event]:
        """Return the messages after an event number."""
        return [message for message in self.messages if message.seq > seq]

    def apply(self, event: Event) -> None:
        match event.payload:
            case ChatMessageSent(turn=turn):
                self.messages.append(event)
                self.turns = turn
            case SessionStarted(person=person):
                self.open, self.person = True, person
            case SessionEnded():
                self.open = False
