"""What the far ends of calls and the people in them need of the state of a `voice` sandbox."""

from typing import Any, Protocol

from clerkship.events.event import Event
from clerkship.formats.fhir.chart import Chart
from clerkship.formats.phone_tree.session import FarEnd
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.voice.calls import CallTable
from clerkship.simulators.voice.cases import CaseTable
from clerkship.simulators.voice.config import VoiceConfig
from clerkship.simulators.voice.lines import LineTable
from clerkship.simulators.voice.mailboxes import Mailboxes
from clerkship.simulators.voice.people import PeopleByPhone
from clerkship.simulators.voice.records import CallOutcome, CallParty, PhoneCall, Speaker


class VoiceHost(Protocol):
    """The calls and lines of a sandbox, and the means to connect and end a call."""

    lines: LineTable
    calls: CallTable
    chart: Chart
    people: PeopleByPhone
    mailboxes: Mailboxes
    cases: CaseTable

    @property
    def settings(self) -> VoiceConfig:
        """The config."""

    def find_call(self, id: str) -> PhoneCall:
        """Return a call; refused if there is none."""

    def check_count(self) -> None:
        """Refuse another call if there are too many."""

    def connect_far_end(
        self, action: ActionContext, call: PhoneCall, far_end: FarEnd | None, address: str = ""
    ) -> None:
        """Connect a call to a far end, which answers; None for a simulated person. `address` is its number."""

    def speak_far_end(
        self, action: ActionContext, call: PhoneCall, text: str, speaker: Speaker, **utterance: Any
    ) -> Event:
        """Let a person or an announcement say something."""

    def speak_agent(self, action: ActionContext, call: PhoneCall, text: str, **utterance: Any) -> Event:
        """Emit what the agent says in a call."""

    def end_call(
        self, action: ActionContext, call: PhoneCall, by: CallParty, outcome: CallOutcome, reason: str = ""
    ) -> None:
        """End a call."""
