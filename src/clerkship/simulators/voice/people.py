"""The simulated people who can be reached by phone, and the calls in which they are."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import ClassVar

from clerkship.events.event import Event, Payload
from clerkship.sandbox.agenda import Agenda
from clerkship.sandbox.state import DueWork
from clerkship.simulators.voice.events import (
    AgentSpoke,
    CallAnswered,
    CallEnded,
    CallTransferred,
    FarEndSpoke,
    PersonPaused,
    PersonResumed,
    PhoneConversationEnded,
    PhoneConversationStarted,
)

DEFAULT_GREETING = "Hello?"


@dataclass(slots=True)
class PersonByPhone:
    """A simulated person at a number, and what was said with them."""

    person: str
    number: str
    greeting: str = ""
    is_open: bool = True
    """Whether they answer and may call. False after they have left."""
    turns: int = 0
    messages: list[Event] = field(default_factory=list)
    pauses: list[Event] = field(default_factory=list)
    """The PersonPaused events."""
    open_pauses: dict[int, DueWork] = field(default_factory=dict)
    """When each pause that is not over ends, by its number."""


class PeopleByPhone:
    """The people by their number."""

    applied_events: ClassVar[tuple[type[Payload], ...]] = (
        PhoneConversationStarted,
        PhoneConversationEnded,
        PersonPaused,
        PersonResumed,
        CallAnswered,
        CallTransferred,
        CallEnded,
        FarEndSpoke,
        AgentSpoke,
    )

    def __init__(self) -> None:
        self.by_number: dict[str, PersonByPhone] = {}
        self._calls: dict[str, str] = {}
        """Number -> id of the call in which the person is connected with the agent."""
        self.agenda = Agenda(self._find_due)
        """The ends of pauses, by number of the person and of the pause."""

    def __contains__(self, number: object) -> bool:
        """Return whether a person answers at a number."""
        person = self.by_number.get(str(number))
        return person is not None and person.is_open

    def find(self, number: str) -> PersonByPhone | None:
        """Return the person at a number, also one who has left."""
        return self.by_number.get(number)

    def find_by_name(self, name: str) -> PersonByPhone | None:
        """Return the person with a name."""
        return next((person for person in self.by_number.values() if person.person == name), None)

    def find_call(self, number: str) -> str | None:
        """Return the id of the call in which a person is connected with the agent."""
        return self._calls.get(number)

    def _find_due(self, key: tuple[str, int]) -> DueWork | None:
        return self.by_number[key[0]].open_pauses.get(key[1])

    def next_turn(self, number: str) -> int:
        """Return the turn of the next thing that the far end at a number says; 0 if no person is there."""
        person = self.by_number.get(number)
        return person.turns + 1 if person is not None and person.is_open else 0

    def current_turn(self, number: str) -> int:
        """Return the turn of a conversation; 0 if there is none."""
        person = self.by_number.get(number)
        return person.turns if person is not None and person.is_open else 0

    def choose_greeting(self, number: str) -> str:
        """Return what a person says when they answer: their own greeting the first time."""
        person = self.by_number[number]
        return person.greeting if person.greeting and not person.turns else DEFAULT_GREETING

    def apply(self, event: Event) -> None:
        """Change the people by an event."""
        match event.payload:
            case PhoneConversationStarted(person=name, number=number, greeting=greeting):
                self.by_number[number] = PersonByPhone(name, number, greeting)
            case PhoneConversationEnded(number=number):
                self.by_number[number].is_open = False
                self.by_number[number].open_pauses.clear()
            case PersonPaused(number=number, pause=pause, seconds=seconds):
                self._pause(event, number, pause, seconds)
            case PersonResumed(number=number, pause=pause):
                self.by_number[number].open_pauses.pop(pause, None)
            case CallAnswered(call=call, far_end=number):
                self._disconnect(call)
                if number in self.by_number:
                    self._calls[number] = call
            case CallTransferred(call=call) | CallEnded(call=call):
                self._disconnect(call)
            case FarEndSpoke(far_end=number, speaker="person", turn=turn):
                self._add(event, number, turn)
            case AgentSpoke(far_end=number):
                self._add(event, number, 0)

    def _disconnect(self, call: str) -> None:
        for number in [number for number, id in self._calls.items() if id == call]:
            del self._calls[number]

    def _pause(self, event: Event, number: str, pause: int, seconds: float) -> None:
        person = self.by_number[number]
        person.pauses.append(event)
        end = event.at + timedelta(seconds=seconds)
        person.open_pauses[pause] = self.agenda.schedule((number, pause), end, event.seq)

    def _add(self, event: Event, number: str, turn: int) -> None:
        person = self.by_number.get(number)
        if person is not None and person.is_open:
            person.messages.append(event)
            person.turns = max(person.turns, turn)
