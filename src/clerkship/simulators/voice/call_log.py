"""The calls and voicemails of a run, read from its events."""

from bisect import bisect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from clerkship.events.event import Event
from clerkship.events.evidence import Evidence
from clerkship.simulators.voice.events import (
    AgentSpoke,
    BeepPlayed,
    CallAnswered,
    CallEnded,
    CallStarted,
    CallTransferred,
    DigitsSent,
    FarEndSpoke,
    HoldEnded,
    HoldStarted,
    IdentityVerified,
    InputRejected,
    NodeEntered,
    SpeechCut,
    VoicemailLeft,
)
from clerkship.simulators.voice.records import CallTurn, PhoneCall, Speaker

Listener = Literal["line", "representative", "person", "mailbox"]
"""What the agent speaks to."""
CALL_EVENTS = (
    CallAnswered,
    CallEnded,
    CallTransferred,
    FarEndSpoke,
    AgentSpoke,
    SpeechCut,
    DigitsSent,
    NodeEntered,
    InputRejected,
    IdentityVerified,
    HoldStarted,
    HoldEnded,
    BeepPlayed,
)
CallPayload = (
    CallAnswered
    | CallEnded
    | CallTransferred
    | FarEndSpoke
    | AgentSpoke
    | SpeechCut
    | DigitsSent
    | NodeEntered
    | InputRejected
    | IdentityVerified
    | HoldStarted
    | HoldEnded
    | BeepPlayed
)


class LoggedTurn(NamedTuple):
    """Something that was said, and to whom."""

    turn: CallTurn
    number: str
    """The phone at the far end, which differs from the number that was called after a transfer."""
    far_end: str
    """Who was connected: a number, or `number/representative`."""
    listener: Listener
    """What the agent was connected to."""
    mailbox: str = ""
    """The mailbox that records it; empty before the beep."""
    is_heard: bool = True
    """Whether the other side could hear it."""

    @property
    def speaker(self) -> Speaker:
        """Who said it."""
        return self.turn.speaker

    @property
    def seq(self) -> int:
        """The event that began it."""
        return self.turn.seq

    @property
    def spoken(self) -> str:
        """What was said of it before it was cut."""
        return self.turn.heard if self.turn.is_cut else self.turn.text


class KeyPress(NamedTuple):
    """Keys that the agent pressed."""

    seq: int
    at: datetime
    digits: str
    number: str
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
class LoggedPhoneCall:
    """A call of the agent, with where in the log each part is."""

    source: str
    """The sandbox."""
    seq: int
    """The event that began it."""
    record: PhoneCall
    turns: list[LoggedTurn] = field(default_factory=list)
    keys: list[KeyPress] = field(default_factory=list)
    path: list[VisitedNode] = field(default_factory=list)
    verifications: list[Verification] = field(default_factory=list)
    far_end_turn: LoggedTurn | None = None
    """What the far end said last."""
    mailbox: str = ""
    """The mailbox that is recording."""
    last_at: datetime | None = None
    """When the last event of the call happened."""

    @property
    def number(self) -> str:
        """The number of the other side: the one that was called, or the one that called."""
        return self.record.to_number if self.record.direction == "outbound" else self.record.from_number

    def describe(self) -> str:
        """Return the direction, the number, the outcome and the event."""
        side = "to" if self.record.direction == "outbound" else "from"
        outcome = (self.record.outcome or self.record.status).replace("_", " ")
        return f"call {side} {self.number}, {outcome} (#{self.seq})"

    def find_listener(self) -> Listener:
        """Return what the agent is connected to now."""
        if self.mailbox:
            return "mailbox"
        if "/" in self.record.far_end:
            return "representative"
        last = next((each.speaker for each in reversed(self.turns) if each.far_end == self.record.far_end), None)
        spoken = self.far_end_turn
        if spoken is not None and spoken.far_end == self.record.far_end and spoken.speaker != "agent":
            return spoken.speaker
        return "person" if last is None and self.record.direction == "inbound" else "line"


class LoggedVoicemail(NamedTuple):
    """A message in a mailbox that the agent left."""

    source: str
    seq: int
    left: VoicemailLeft
    to_number: str
    """The number that was called; empty if it was left without a call."""

    def describe(self) -> str:
        """Return the mailbox and the beginning of the text."""
        text = " ".join(self.left.text.split())
        return f"voicemail in {self.left.mailbox} (#{self.seq}): {text[:60]}{'…' if len(text) > 60 else ''}"


def list_calls(evidence: Evidence, sandbox: str | None = None) -> list[LoggedPhoneCall]:
    """Return the calls of the agent in either direction, in order."""
    return [call for call in evidence.cached(_read_calls).values() if sandbox in (None, call.source)]


def list_voicemails(evidence: Evidence, sandbox: str | None = None) -> list[LoggedVoicemail]:
    """Return the voicemails that the agent left, in order. Those of a step or of a simulated person are left out."""
    return [each for each in evidence.cached(_read_voicemails) if sandbox in (None, each.source)]


def read_calls(events: Iterable[Event]) -> list[LoggedPhoneCall]:
    """Return the calls in a log, in order. Events of other kinds are left out."""
    return list(_read_events(events).values())


def _read_calls(evidence: Evidence) -> dict[tuple[str, str], LoggedPhoneCall]:
    kinds = (CallStarted.kind, *(each.kind for each in CALL_EVENTS))
    return _read_events(evidence.of_kind(*kinds))


def _read_events(events: Iterable[Event]) -> dict[tuple[str, str], LoggedPhoneCall]:
    calls: dict[tuple[str, str], LoggedPhoneCall] = {}
    # In the order in which they were appended: the state applied them in this order.
    for event in sorted(events, key=lambda event: event.seq):
        payload = event.payload
        if isinstance(payload, CallStarted):
            record = PhoneCall(payload.call, payload.direction, payload.from_number, payload.to_number, event.at)
            calls[event.source, payload.call] = LoggedPhoneCall(event.source, event.seq, record)
        elif isinstance(payload, CALL_EVENTS):
            call = calls.get((event.source, payload.call))
            if call is not None:
                call.last_at = event.at
                _apply(call, event, payload)
    return calls


def _read_voicemails(evidence: Evidence) -> list[LoggedVoicemail]:
    calls = evidence.cached(_read_calls)
    voicemails = []
    for event in evidence.of_kind(VoicemailLeft.kind):
        left = event.payload
        if not isinstance(left, VoicemailLeft):
            continue
        call = calls.get((event.source, left.call or ""))
        is_by_agent = call.record.direction == "outbound" if call is not None else _is_agent(evidence, event)
        if is_by_agent:
            number = call.number if call is not None else ""
            voicemails.append(LoggedVoicemail(event.source, event.seq, left, number))
    return voicemails


def _is_agent(evidence: Evidence, event: Event) -> bool:
    return evidence.find_originator(event) == "agent"


def _apply(call: LoggedPhoneCall, event: Event, payload: CallPayload) -> None:
    record = call.record
    match payload:
        case CallAnswered() | CallTransferred() | CallEnded():
            _change_connection(call, event, payload)
        case FarEndSpoke() | AgentSpoke() | SpeechCut():
            _change_speech(call, event, payload)
        case HoldStarted(by=party):
            record.start_hold(party, event.at)
        case HoldEnded(by=party):
            record.end_hold(party, event.at)
        case DigitsSent(digits=digits):
            record.digits.append((event.at, digits))
            number = record.far_end.partition("/")[0] or call.number
            call.keys.append(KeyPress(event.seq, event.at, digits, number, call.find_listener()))
        case NodeEntered(tree=tree, node=node):
            record.path.append(f"{tree}/{node}")
            call.path.append(VisitedNode(event.seq, tree, node))
        case InputRejected():
            record.reprompts += 1
        case IdentityVerified(member_id=member_id):
            record.verified.append(member_id)
            call.verifications.append(Verification(event.seq, member_id))
        case BeepPlayed(mailbox=mailbox):
            record.beep_at, call.mailbox = event.at, mailbox


def _change_connection(
    call: LoggedPhoneCall, event: Event, payload: CallAnswered | CallTransferred | CallEnded
) -> None:
    record = call.record
    call.mailbox = ""
    if isinstance(payload, CallEnded):
        record.end(payload.by, payload.outcome, event.at)
        return
    record.far_end = payload.far_end
    if isinstance(payload, CallTransferred):
        record.transfers.append(payload.far_end)
    elif record.status == "ringing":
        record.status, record.answered_at = "connected", event.at


def _change_speech(call: LoggedPhoneCall, event: Event, payload: FarEndSpoke | AgentSpoke | SpeechCut) -> None:
    record = call.record
    if isinstance(payload, SpeechCut):
        if 0 < payload.number <= len(record.turns):
            turn = record.turns[payload.number - 1]
            turn.end = turn.start + timedelta(seconds=payload.after_seconds)
            turn.heard, turn.is_cut = payload.heard, True
        return
    is_agent = isinstance(payload, AgentSpoke)
    start = event.at if is_agent else max(event.at, record.speech_end or event.at)
    turn = CallTurn(
        number=payload.number,
        speaker="agent" if isinstance(payload, AgentSpoke) else payload.speaker,
        text=payload.text,
        start=start,
        end=start + timedelta(seconds=payload.seconds),
        seq=event.seq,
        heard=payload.text,
        node="" if isinstance(payload, AgentSpoke) else payload.node,
    )
    record.add_turn(turn)
    is_heard = payload.is_heard if isinstance(payload, AgentSpoke) else True
    far_end = record.far_end or payload.far_end
    listener = call.find_listener() if is_agent else _to_listener(turn.speaker)
    logged = LoggedTurn(turn, payload.far_end, far_end, listener, call.mailbox, is_heard)
    call.turns.append(logged)
    if not is_agent:
        call.far_end_turn = logged


def _to_listener(speaker: Speaker) -> Listener:
    return "line" if speaker == "agent" else speaker


def group_passages(
    turns: list[LoggedTurn], is_selected: Callable[[LoggedTurn], bool]
) -> Iterator[tuple[LoggedTurn, ...]]:
    """Yield what one speaker said without the other side between: a number may be said in several turns."""
    passage: list[LoggedTurn] = []
    for turn in turns:
        if passage and (turn.speaker != passage[-1].speaker or turn.far_end != passage[-1].far_end):
            yield tuple(passage)
            passage = []
        if is_selected(turn):
            passage.append(turn)
    if passage:
        yield tuple(passage)


def group_keys(call: LoggedPhoneCall) -> Iterator[KeyPress]:
    """Yield the keys that were pressed without words between as one: a number may be pressed in parts."""
    spoken = [turn.seq for turn in call.turns]
    last: KeyPress | None = None
    for keys in call.keys:
        if last is not None and bisect(spoken, last.seq) == bisect(spoken, keys.seq):
            last = last._replace(digits=last.digits + keys.digits)
            continue
        if last is not None:
            yield last
        last = keys
    if last is not None:
        yield last
