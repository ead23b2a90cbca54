"""What a telephone has: its lines, calls, people, mailboxes and cases, and how each event changes them."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, ClassVar, cast

from clerkship.events.event import Event, Payload
from clerkship.events.lifecycle import OutboundAttempted
from clerkship.formats.fhir.chart import Chart, load_chart
from clerkship.formats.phone_tree.session import FarEnd
from clerkship.sandbox.agenda import Agenda
from clerkship.sandbox.plain_data import to_plain
from clerkship.sandbox.request import Refusal
from clerkship.sandbox.state import ConversationRecord, DueWork, State
from clerkship.simulators.voice.calls import CallTable
from clerkship.simulators.voice.config import VoiceConfig
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
    VoiceWebhookRegistered,
    WebhookEvent,
)
from clerkship.simulators.voice.hooks.contract import CaseTable
from clerkship.simulators.voice.lines import LineTable
from clerkship.simulators.voice.mailboxes import Mailboxes
from clerkship.simulators.voice.records import PhoneCall

DEFAULT_GREETING = "Hello?"


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


@dataclass(slots=True, kw_only=True)
class PersonByPhone(ConversationRecord):
    """A simulated person at a number, and what was said with them."""

    number: str
    greeting: str = ""
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
        match event.payload:
            case FarEndSpoke(far_end=number, speaker=speaker, turn=turn):
                if speaker == "person":
                    self._add(event, number, turn)
            case AgentSpoke(far_end=number):
                self._add(event, number, 0)
            case PhoneConversationStarted(person=name, number=number, greeting=greeting):
                self.by_number[number] = PersonByPhone(person=name, number=number, greeting=greeting)
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
        if person is not None:
            person.add(event, turn)


class PhoneTables(State[VoiceConfig]):
    """The tables of a telephone, which only events change."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        base = getattr(self.records, "base", None)
        self.chart = base if isinstance(base, Chart) else load_chart(())
        """The resources of the FHIR datasets."""
        self.zone = self.config.local_zone
        """The zone of opening hours."""
        self.lines = LineTable(self.config)
        self.calls = CallTable(self.config, self.lines)
        self.far_ends: dict[tuple[str, str, str], FarEnd | None] = {}
        """Phone trees and representatives by number, version of the tree and name: each is built once."""
        self.people = PeopleByPhone()
        """The simulated people who can be reached at a number."""
        self.mailboxes = Mailboxes(self.config.mailboxes)
        self.cases = CaseTable()
        self.webhook = WebhookRecord()
        self._appliers = self._index_appliers()

    @property
    def answered_calls(self) -> Collection[tuple[str, str]]:
        """The webhook's calls that the agent answered."""
        return self.webhook.answered

    def find_call(self, id: str) -> PhoneCall:
        """Return a call; refused if there is none."""
        return self.calls.find(id)

    def find_call_of(self, number: str) -> PhoneCall | None:
        """Return the call in which the person at a number is connected with the agent."""
        id = self.people.find_call(number)
        return None if id is None else self.calls.find(id)

    def check_count(self) -> None:
        """Refuse another call if there are too many."""
        settings = self.config
        if len(self.calls.open_calls) >= settings.max_open_calls:
            limit = settings.max_open_calls
            raise Refusal(429, "too_many_calls", f"{limit:,} calls are open (max_open_calls); hang up one first")
        if len(self.calls.by_id) >= settings.max_calls:
            raise Refusal(429, "too_many_calls", f"the limit of {settings.max_calls:,} calls is reached (max_calls)")

    def apply(self, event: Event) -> None:
        for apply in self._appliers.get(type(event.payload), ()):
            apply(event)

    def _index_appliers(self) -> dict[type[Payload], list[Callable[[Event], None]]]:
        """Return, for each event, what applies it, in order: a look at all of them would cost more than the change."""
        appliers: dict[type[Payload], list[Callable[[Event], None]]] = {}
        for table in (self.lines, self.calls, self.people, self.mailboxes, self.cases, self.webhook):
            for kind in table.applied_events:
                appliers.setdefault(kind, []).append(table.apply)
        appliers[PhoneConversationEnded].append(self._schedule_hang_up)
        return appliers

    def _schedule_hang_up(self, event: Event) -> None:
        """Let a person who has left hang up when they have finished speaking."""
        call = self.find_call_of(cast(PhoneConversationEnded, event.payload).number)
        if call is not None and call.speech_end is not None and call.speech_end > event.at:
            self.calls.schedule(call, "hang_up", call.speech_end, event.seq)

    def dump(self) -> Any:
        """Return plain data."""
        return to_plain(
            {
                "calls": self.calls.by_id,
                "rung": self.calls.rung,
                "lines": self.lines.dump_changes(),
                "people": self.people.by_number,
                "voicemails": self.mailboxes.messages,
                "wrong_pins": self.mailboxes.wrong_pins,
                "locked_mailboxes": self.mailboxes.locked,
                "cases": self.cases.by_member,
                "webhook": self.webhook,
            }
        )
