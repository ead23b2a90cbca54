"""What a telephone has: its lines, calls, people, mailboxes and cases, and how each event changes them."""

from collections.abc import Callable, Collection
from typing import Any, cast

from clerkship.events.event import Event, Payload
from clerkship.formats.fhir.chart import Chart, load_chart
from clerkship.sandbox.plain_data import to_plain
from clerkship.sandbox.request import Refusal
from clerkship.sandbox.state import State
from clerkship.simulators.voice.calls import CallTable
from clerkship.simulators.voice.config import VoiceConfig
from clerkship.simulators.voice.events import PhoneConversationEnded
from clerkship.simulators.voice.hooks.contract import CaseTable
from clerkship.simulators.voice.lines import LineTable
from clerkship.simulators.voice.mailboxes import Mailboxes
from clerkship.simulators.voice.people import PeopleByPhone
from clerkship.simulators.voice.records import PhoneCall
from clerkship.simulators.voice.webhook_record import WebhookRecord


class PhoneTables(State[VoiceConfig]):
    """The tables of a telephone, which only events change."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        base = getattr(self.records, "base", None)
        self.chart = base if isinstance(base, Chart) else load_chart(())
        """The resources of the FHIR datasets."""
        self.zone = self.settings.local_zone
        """The zone of opening hours."""
        self.lines = LineTable(self.settings)
        self.calls = CallTable(self.settings, self.lines)
        self.people = PeopleByPhone()
        """The simulated people who can be reached at a number."""
        self.mailboxes = Mailboxes(self.settings.mailboxes)
        self.cases = CaseTable()
        self.webhook = WebhookRecord()
        self._appliers = self._index_appliers()

    @property
    def settings(self) -> VoiceConfig:
        """The config."""
        return self.config

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
        settings = self.settings
        if len(self.calls.open_calls) >= settings.max_open_calls:
            limit = settings.max_open_calls
            raise Refusal(429, "too_many_calls", f"{limit:,} calls are open (max_open_calls); hang up one first")
        if len(self.calls.by_id) >= settings.max_calls:
            raise Refusal(429, "too_many_calls", f"the limit of {settings.max_calls:,} calls is reached (max_calls)")

    def apply(self, event: Event) -> None:
        """Change the tables by an event."""
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
