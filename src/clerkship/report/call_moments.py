"""A phone call as a report shows it: its facts, and its moments in order."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

MomentSort = Literal[
    "speech", "keys", "hold", "node", "answered", "transfer", "verified", "rejected", "beep", "voicemail", "ended"
]
SPEAKER_NAMES: Mapping[str, str] = {
    "agent": "Agent",
    "line": "Line",
    "representative": "Representative",
    "person": "Person",
    "system": "Network",
}
OUTCOME_WORDS: Mapping[str, str] = {
    "completed": "completed",
    "busy": "busy",
    "no_answer": "no answer",
    "rejected": "rejected",
    "failed": "not in service",
    "dropped": "connection lost",
    "abandoned": "abandoned",
}


@dataclass(frozen=True, slots=True)
class CallMoment:
    """Something in a call, with its time in seconds since the call began."""

    sort: MomentSort
    seq: int
    """The event that began it."""
    start: float
    end: float
    speaker: str = ""
    """Who spoke, put the call on hold, or ended it."""
    text: str = ""
    """What was said, up to a cut; or keys, or a short description."""
    rest: str = ""
    """What was not said because the speech was cut."""
    note: str = ""
    """What else is to be known of it."""
    is_cut: bool = False

    @property
    def is_by_agent(self) -> bool:
        """Whether the agent said or pressed it."""
        return self.speaker == "agent"


@dataclass(frozen=True, slots=True)
class ShownCall:
    """One call with everything that a report shows of it."""

    id: str
    source: str
    """The sandbox."""
    seq: int
    """The event that began it."""
    direction: str
    number: str
    """The number of the other side."""
    started_at: datetime
    end: float
    """When it ended, or the last moment of a call that is still open, in seconds since it began."""
    outcome: str
    """How it ended; empty if it is still open."""
    ended_by: str
    measures: tuple[tuple[str, str], ...]
    """Name and value of each measure."""
    moments: tuple[CallMoment, ...]


@dataclass(frozen=True, slots=True)
class ShownVoicemail:
    """A message in a mailbox."""

    source: str
    seq: int
    mailbox: str
    from_number: str
    at: datetime
    seconds: float
    text: str
    before_beep: str
    """What was said before the beep, and is not in the message."""
    call: str
    """The call in which it was left; empty if there was none."""


def format_seconds(seconds: float) -> str:
    """Return a time in a call as `2:05`."""
    whole = round(seconds)
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


def describe_ending(call: ShownCall) -> str:
    """Return how a call ended, and who ended it."""
    if not call.outcome:
        return "still open"
    outcome = OUTCOME_WORDS.get(call.outcome, call.outcome)
    by = f", ended by the {SPEAKER_NAMES.get(call.ended_by, call.ended_by).lower()}" if call.ended_by else ""
    return f"{outcome}{by}"
