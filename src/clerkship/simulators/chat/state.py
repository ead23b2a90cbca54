"""The rules of a chat: it is open from its start to its end, and messages keep their order."""

from typing import Any

from clerkship.events.event import Event
from clerkship.sandbox.request import Refusal
from clerkship.sandbox.state import ActionContext, State
from clerkship.simulators.chat.events import MessageSent, SessionEnded, SessionStarted


class ChatState(State):
    """Who is there, and what was said."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.open = False
        self.person: str | None = None
        self.turns = 0
        self.messages: list[Event] = []

    def start(self, act: ActionContext, person: str) -> Event:
        """Somebody comes."""
        if self.open:
            raise Refusal(409, "already_open", f"{self.person} is here already")
        return act.emit(SessionStarted(person=person))

    def say(self, act: ActionContext, text: str, **extra: Any) -> Event:
        """Somebody says something; a turn begins with the person, and what comes before their first line is turn 0."""
        if not self.open:
            raise Refusal(409, "not_open", "nobody is here to talk with")
        turn = self.turns + (act.actor != "agent")
        return act.emit(MessageSent(text=text, turn=turn, **extra))

    def end(self, act: ActionContext, reason: str, detail: str | None = None) -> Event:
        """Somebody leaves."""
        if not self.open:
            raise Refusal(409, "not_open", "nobody is here to talk with")
        return act.emit(SessionEnded(reason=reason, detail=detail))

    def since(self, seq: int) -> list[Event]:
        """Messages after this point of the log."""
        return [message for message in self.messages if message.seq > seq]

    def apply(self, event: Event) -> None:
        """Take in what happened."""
        match event.payload:
            case MessageSent(turn=turn):
                self.messages.append(event)
                self.turns = turn
            case SessionStarted(person=person):
                self.open, self.person = True, person
            case SessionEnded():
                self.open = False

    def dump(self) -> Any:
        """All of it as plain data."""
        said = [
            {"seq": message.seq, "from": message.actor, "payload": message.payload.model_dump()}
            for message in self.messages
        ]
        return {"open": self.open, "person": self.person, "turns": self.turns, "messages": said}
