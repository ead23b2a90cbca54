"""Calls and voicemails as the state of a `voice` sandbox keeps them."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from clerkship.ivr.session import FarEndSession

Direction = Literal["inbound", "outbound"]
CallStatus = Literal["ringing", "connected", "ended"]
CallOutcome = Literal["completed", "busy", "no_answer", "rejected", "failed", "dropped", "abandoned"]
"""How a call ended. `abandoned`: the agent hung up before it was connected, or while it was on hold. `dropped`: the
connection broke. `failed`: the number is not in service."""
CallParty = Literal["agent", "line", "representative", "person", "system"]
Speaker = Literal["agent", "line", "representative", "person"]
DialOutcome = Literal["answer", "busy", "no_answer", "out_of_service"]
VOICEMAIL = "voicemail"
"""The name after the number of a person, if a mailbox answers for them: `+15550100123/voicemail`."""
DueKind = Literal["ring", "timer", "speech", "hang_up", "drop", "limit"]
"""Work of a call for later. `ring`: the ringing ends. `timer`: the far end is called again. `speech`: the agent has
said something. `hang_up`: an announcement is over. `drop`: a fault breaks the connection. `limit`: the call is too
long."""


@dataclass(slots=True)
class CallTurn:
    """Something that was said in a call."""

    number: int
    speaker: Speaker
    text: str
    start: datetime
    end: datetime
    """When it ends, or was cut."""
    seq: int
    """The event that began it."""
    heard: str = ""
    """What was said of it before it was cut; the whole text if it was not."""
    is_cut: bool = False
    node: str = ""


@dataclass(slots=True)
class CallHold:
    """A time on hold."""

    by: CallParty
    start: datetime
    end: datetime | None = None


@dataclass(slots=True)
class CallSound:
    """Something without words that was heard: music, a tone or a beep."""

    sound: str
    start: datetime


@dataclass(slots=True)
class PhoneCall:
    """One call of the agent, in either direction."""

    id: str
    direction: Direction
    from_number: str
    to_number: str
    started_at: datetime
    status: CallStatus = "ringing"
    answered_at: datetime | None = None
    ended_at: datetime | None = None
    ended_by: CallParty | None = None
    outcome: CallOutcome | None = None
    turns: list[CallTurn] = field(default_factory=list)
    digits: list[tuple[datetime, str]] = field(default_factory=list)
    path: list[str] = field(default_factory=list)
    """The nodes that were entered, as `tree/node`, in order."""
    holds: list[CallHold] = field(default_factory=list)
    sounds: list[CallSound] = field(default_factory=list)
    transfers: list[str] = field(default_factory=list)
    """To whom the call was transferred, in order."""
    reprompts: int = 0
    """How often the line rejected an entry, or heard none."""
    verified: list[str] = field(default_factory=list)
    """Member ids of the people about whom the far end accepted to speak."""
    beep_at: datetime | None = None
    """When a recording began; what is said earlier is not in the voicemail."""
    far_end: str = ""
    """Who the agent is connected to: the number of a line or person, or `number/representative`."""
    session: FarEndSession | None = None
    """What the far end remembers; None if it is a simulated person."""
    meets: DialOutcome = "answer"
    """What happens when it has rung."""
    tree_version: str = ""
    """The version of the line's phone tree when the call came to it; a later one does not change the call."""
    mailbox: str = ""
    """The mailbox that records the call."""
    due: dict[DueKind, tuple[datetime, int]] = field(default_factory=dict)
    """When work for later is due, and the event that led to it."""
    heard_until: datetime | None = None
    """Up to when the agent has listened."""
    heard_sounds: int = 0
    """How many sounds there were up to then."""

    @property
    def is_on_hold(self) -> bool:
        """Whether either side has put the call on hold."""
        return any(hold.end is None for hold in self.holds)

    @property
    def is_held_by_agent(self) -> bool:
        """Whether the agent has put the call on hold."""
        return any(hold.end is None and hold.by == "agent" for hold in self.holds)

    @property
    def timer(self) -> tuple[datetime, int] | None:
        """When the far end is to be called again, and the event that led to it."""
        return self.due.get("timer")

    @property
    def can_be_answered(self) -> bool:
        """Whether it rings at an own number, and no mailbox has taken it."""
        return self.direction == "inbound" and "ring" in self.due

    @property
    def speech_address(self) -> str:
        """The address of the conversation in which things are said: the number, or the voicemail of a person there."""
        return self.far_end if self.far_end.endswith(f"/{VOICEMAIL}") else self.number

    @property
    def number(self) -> str:
        """The number of the phone at the far end."""
        if self.far_end:
            return self.far_end.partition("/")[0]
        return self.to_number if self.direction == "outbound" else self.from_number


@dataclass(slots=True)
class Voicemail:
    """A message in a mailbox."""

    id: str
    mailbox: str
    from_number: str
    text: str
    """What was said after the beep."""
    received_at: datetime
    seconds: float
    before_beep: str = ""
    """What was said before the beep, which is lost."""
    call: str | None = None
    is_read: bool = False
    is_deleted: bool = False
