"""What the far ends of calls need of the state of a `voice` sandbox."""

from collections.abc import Collection
from typing import Any, Protocol

from clerkship.fhir.chart import Chart
from clerkship.ivr.session import FarEnd
from clerkship.ivr.tree import IvrTree
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.voice.calls import CallTable
from clerkship.simulators.voice.config import VoiceConfig
from clerkship.simulators.voice.lines import LineTable
from clerkship.simulators.voice.records import CallOutcome, CallParty, CallRecord, Speaker


class VoiceHost(Protocol):
    """The calls and lines of a sandbox, and the means to connect and end a call."""

    lines: LineTable
    calls: CallTable
    chart: Chart

    @property
    def settings(self) -> VoiceConfig:
        """The config."""

    @property
    def people(self) -> Collection[str]:
        """The numbers of simulated people who answer."""

    def is_access_number(self, number: str) -> bool:
        """Return whether a number is dialled to listen to a mailbox."""

    def find_access_tree(self, call: CallRecord) -> IvrTree | None:
        """Return the phone tree of a mailbox, if the call is to the number at which it is listened to."""

    def connect_far_end(self, action: ActionContext, call: CallRecord, far_end: FarEnd | None) -> None:
        """Connect a call to a far end, which answers; None for a simulated person."""

    def speak_far_end(
        self, action: ActionContext, call: CallRecord, text: str, speaker: Speaker, **utterance: Any
    ) -> None:
        """Let a person or an announcement say something."""

    def end_call(
        self, action: ActionContext, call: CallRecord, by: CallParty, outcome: CallOutcome, reason: str = ""
    ) -> None:
        """End a call."""
