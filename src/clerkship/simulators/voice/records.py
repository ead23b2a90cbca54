"""Calls and voicemails as the state of a `voice` sandbox keeps them."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NamedTuple

from clerkship.formats.phone_tree.session import FarEndSession, Phase
from clerkship.model.frozen import copy_unchecked
from clerkship.sandbox.state import DueWork

Direction = Literal["inbound", "outbound"]
CallStatus = Literal["ringing", "connected", "ended"]
CallOutcome = Literal["completed", "busy", "no_answer", "rejected", "failed", "dropped", "abandoned"]
"""How a call ended. `abandoned`: the agent hung up before it was connected, or while it was on hold. `dropped`: the
connection broke. `failed`: the number is not in service."""
CallParty = Literal["agent", "line", "representative", "person", "system"]
Speaker = Literal["agent", "line", "representative", "person"]
Listener = Literal["line", "representative", "person", "mailbox"]
"""What the agent speaks to."""
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
    heard: str
    """What was said of it before it was cut; the whole text if it was not."""
    phone: str
    """The number of the phone at the far end, which differs from the number that was called after a transfer."""
    far_end: str
    """Who was connected: a number, or `number/representative`."""
    is_cut: bool = False
    node: str = ""
    listener: Listener | None = None
    """What the agent was connected to when it spoke; None for what the far end said."""
    mailbox: str = ""
    """The mailbox that records it; empty before the beep."""
    is_heard: bool = True
    """Whether the other side could hear it."""


class KeyPress(NamedTuple):
    """Keys that the agent pressed."""

    seq: int
    at: datetime
    digits: str
    number: str
    """The number of the phone at the far end."""
    listener: Listener


class VisitedNode(NamedTuple):
    """A node of a phone tree that a call came to."""

    seq: int
    tree: str
    node: str

    @property
    def name(self) -> str:
        """The node as it is written in a criterion: `tree/node`."""
        return f"{self.tree}/{self.node}"


class Verification(NamedTuple):
    """The moment at which an identity was verified in a call."""

    seq: int
    member_id: str


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
    last_at: datetime
    """When the last event of `calls.CALL_EVENTS` happened in it."""
    source: str
    """The sandbox."""
    seq: int
    """The event that began it."""
    status: CallStatus = "ringing"
    answered_at: datetime | None = None
    ended_at: datetime | None = None
    ended_by: CallParty | None = None
    outcome: CallOutcome | None = None
    turns: list[CallTurn] = field(default_factory=list)
    """All turns in order; `add_turn` appends one."""
    far_end_turns: list[CallTurn] = field(default_factory=list)
    """Those of the far end, so that the last ones are found without a look at all turns."""
    agent_turn: CallTurn | None = None
    """What the agent said last."""
    keys: list[KeyPress] = field(default_factory=list)
    path: list[VisitedNode] = field(default_factory=list)
    holds: list[CallHold] = field(default_factory=list)
    """All times on hold; `start_hold` appends one."""
    open_holds: dict[CallParty, CallHold] = field(default_factory=dict)
    """Those that have not ended, by who began them."""
    sounds: list[CallSound] = field(default_factory=list)
    transfers: list[str] = field(default_factory=list)
    """To whom the call was transferred, in order."""
    reprompts: int = 0
    """How often the line rejected an entry, or heard none."""
    verifications: list[Verification] = field(default_factory=list)
    """The people about whom the far end accepted to speak."""
    beep_at: datetime | None = None
    """When a recording began; what is said earlier is not in the voicemail."""
    far_end: str = ""
    """Who the agent is connected to: the number of a line or person, or `number/representative`."""
    session: FarEndSession | None = None
    """What the far end remembers; None if it is a simulated person."""
    listens_from: datetime | None = None
    """When the far end, which speaks, begins to listen; None if it is called first."""
    meets: DialOutcome = "answer"
    """What happens when it has rung."""
    tree_version: str = ""
    """The version of the line's phone tree when the call came to it; a later one does not change the call."""
    mailbox: str = ""
    """The mailbox that records the call; empty before the beep."""
    due: dict[DueKind, DueWork] = field(default_factory=dict)
    """When work for later is due, and the event that led to it."""
    heard_until: datetime | None = None
    """Up to when the agent has listened."""
    heard_sounds: int = 0
    """How many sounds there were up to then."""

    @property
    def is_held_by_agent(self) -> bool:
        """Whether the agent has put the call on hold."""
        return "agent" in self.open_holds

    @property
    def is_held_by_line(self) -> bool:
        """Whether the far end has put the call on hold."""
        return "line" in self.open_holds

    @property
    def speech_end(self) -> datetime | None:
        """When the far end stops speaking, or did; None if it has not spoken."""
        return self.far_end_turns[-1].end if self.far_end_turns else None

    @property
    def agent_speech_end(self) -> datetime | None:
        """When the agent stops speaking, or did; None if it has not spoken."""
        return None if self.agent_turn is None else self.agent_turn.end

    def add_turn(self, turn: CallTurn) -> None:
        self.turns.append(turn)
        if turn.speaker == "agent":
            self.agent_turn = turn
        else:
            self.far_end_turns.append(turn)

    def start_hold(self, by: CallParty, at: datetime) -> None:
        """Put the call on hold; a hold that goes on already stays."""
        if by not in self.open_holds:
            hold = self.open_holds[by] = CallHold(by, at)
            self.holds.append(hold)

    def end_hold(self, by: CallParty, at: datetime) -> None:
        """Take the call off a hold, if it is on one."""
        hold = self.open_holds.pop(by, None)
        if hold is not None:
            hold.end = at

    def end(self, by: CallParty, outcome: CallOutcome, at: datetime) -> None:
        """End the call, and what goes on in it."""
        self.status, self.ended_at, self.ended_by, self.outcome = "ended", at, by, outcome
        self.session = self.listens_from = None
        self.due.clear()
        for party in tuple(self.open_holds):
            self.end_hold(party, at)

    def find_phase(self, now: datetime) -> Phase | None:
        """Return the phase of the far end; None if it is a simulated person."""
        if self.session is None or self.listens_from is None or now < self.listens_from:
            return None if self.session is None else self.session.phase
        return "listening"

    def find_session(self, now: datetime) -> FarEndSession | None:
        """Return what the far end remembers; None if it is a simulated person."""
        if self.session is None or self.listens_from is None or now < self.listens_from:
            return self.session
        return copy_unchecked(self.session, {"phase": "listening", "due": self.due["timer"].at})

    def find_timers(self, now: datetime) -> tuple[float | None, float | None]:
        """Return after how many seconds the far end is called again or, if it speaks, listens, and for how long."""
        timer = self.due.get("timer")
        if timer is None:
            return None, None
        if self.listens_from is None or self.listens_from <= now:
            return max((timer.at - now).total_seconds(), 0.0), None
        return (self.listens_from - now).total_seconds(), (timer.at - self.listens_from).total_seconds()

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
        return self.far_end.partition("/")[0] or self.first_number

    @property
    def first_number(self) -> str:
        """The number of the other side before any transfer: the one that was called, or the one that called."""
        return self.to_number if self.direction == "outbound" else self.from_number

    def find_listener(self) -> Listener:
        """Return what the agent is connected to now."""
        if self.mailbox:
            return "mailbox"
        if "/" in self.far_end:
            return "representative"
        last = self.far_end_turns[-1] if self.far_end_turns else None
        if last is not None and last.far_end == self.far_end and last.speaker != "agent":
            return last.speaker
        return "person" if self.direction == "inbound" and not self.transfers else "line"

    def describe(self) -> str:
        """Return the direction, the number, the outcome and the event."""
        side = "to" if self.direction == "outbound" else "from"
        outcome = (self.outcome or self.status).replace("_", " ")
        return f"call {side} {self.first_number}, {outcome} (#{self.seq})"


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
