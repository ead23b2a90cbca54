"""All calls of a sandbox, and how each event changes them."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, ClassVar

from clerkship.events.event import Event, Payload
from clerkship.sandbox.agenda import Agenda
from clerkship.sandbox.request import Refusal
from clerkship.simulators.voice.config import VoiceConfig
from clerkship.simulators.voice.events import (
    AgentSpoke,
    BeepPlayed,
    CallAnswered,
    CallEnded,
    CallHeard,
    CallStarted,
    CallTransferred,
    DigitsSent,
    FarEndChange,
    FarEndSpoke,
    HoldEnded,
    HoldStarted,
    IdentityVerified,
    InputRejected,
    MailboxPinEntered,
    MusicStarted,
    NodeEntered,
    SessionChanged,
    SpeechCut,
    ValueCollected,
)
from clerkship.simulators.voice.lines import LineTable
from clerkship.simulators.voice.records import (
    CallSound,
    CallTurn,
    DueKind,
    KeyPress,
    PhoneCall,
    Verification,
    VisitedNode,
)

BEEP = "beep"
WATCHED_EVENTS = (FarEndSpoke, MusicStarted, BeepPlayed, CallStarted, CallAnswered, CallEnded)
"""Events after which there is something new to hear in a call, or its status has changed."""


CALL_EVENTS: tuple[type[Payload], ...] = (
    CallStarted,
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
"""Events that tell what happened in a call: criteria and reports read these. The others that change a call are about
what the far end remembers and what the agent has listened to."""
_TELLING, _WATCHED = frozenset(CALL_EVENTS), frozenset(WATCHED_EVENTS)


def _add_music(call: PhoneCall, event: Event, payload: MusicStarted) -> None:
    call.sounds.append(CallSound(payload.music, event.at))


def _add_beep(call: PhoneCall, event: Event, payload: BeepPlayed) -> None:
    call.sounds.append(CallSound(BEEP, event.at))
    call.beep_at, call.mailbox = event.at, payload.mailbox


def _add_keys(call: PhoneCall, event: Event, payload: DigitsSent) -> None:
    call.keys.append(KeyPress(event.seq, event.at, payload.digits, call.number, call.find_listener()))


def _add_node(call: PhoneCall, event: Event, payload: NodeEntered) -> None:
    call.path.append(VisitedNode(event.seq, payload.tree, payload.node))


def _add_verification(call: PhoneCall, event: Event, payload: IdentityVerified) -> None:
    call.verifications.append(Verification(event.seq, payload.member_id))


def _add_rejection(call: PhoneCall, event: Event, payload: InputRejected) -> None:
    call.reprompts += 1


def _mark_heard(call: PhoneCall, event: Event, payload: CallHeard) -> None:
    call.heard_until, call.heard_sounds = event.at, len(call.sounds)


_DETAILS: Mapping[type[Payload], Callable[[PhoneCall, Event, Any], None]] = {
    HoldStarted: lambda call, event, payload: call.start_hold(payload.by, event.at),
    HoldEnded: lambda call, event, payload: call.end_hold(payload.by, event.at),
    MusicStarted: _add_music,
    BeepPlayed: _add_beep,
    DigitsSent: _add_keys,
    NodeEntered: _add_node,
    InputRejected: _add_rejection,
    IdentityVerified: _add_verification,
    CallHeard: _mark_heard,
}
"""What each event that concerns one call alone changes about it."""


def _get_place(id: str) -> int:
    """Return the place of a call among all calls, from 1, which `new_id` puts into its id."""
    return int(id.rpartition("-")[2])


class CallTable:
    """The calls by id, in order, and their work for later."""

    applied_events: ClassVar[tuple[type[Payload], ...]] = (
        *CALL_EVENTS,
        SessionChanged,
        MusicStarted,
        CallHeard,
        ValueCollected,
        MailboxPinEntered,
    )

    def __init__(self, settings: VoiceConfig, lines: LineTable) -> None:
        self._settings, self._lines = settings, lines
        self.by_id: dict[str, PhoneCall] = {}
        self.open_calls: dict[str, PhoneCall] = {}
        self.rung: dict[str, int] = {}
        """Number -> how often it was called or a call was transferred to it."""
        self.changed: list[str] = []
        """For each event of WATCHED_EVENTS, in order, the id of its call."""
        self.agenda = Agenda[tuple[str, DueKind]](lambda key: self.by_id[key[0]].due.get(key[1]))
        self._changes: dict[type[Payload], Callable[[PhoneCall, Event, Any], None]] = {
            **dict.fromkeys((CallAnswered, CallTransferred, CallEnded), self._change_connection),
            **dict.fromkeys((FarEndSpoke, AgentSpoke, SpeechCut), self._change_speech),
            SessionChanged: self._use_session,
            **_DETAILS,
        }

    def new_id(self) -> str:
        """Return the id of the next call: `call-1`, `call-2` and so on."""
        return f"call-{len(self.by_id) + 1}"

    def find(self, id: str) -> PhoneCall:
        """Return a call; refused if there is none."""
        call = self.by_id.get(id)
        if call is None:
            raise Refusal(404, "no_such_call", f"there is no call {id[:60]!r}; list_calls lists the calls")
        return call

    def list_after(self, id: str, *, is_open: bool) -> Iterator[PhoneCall]:
        """Return the calls that began after one, or only those that are open; all if `id` is empty. In order.

        Refused if there is no such call.
        """
        place = _get_place(self.find(id).id) if id else 0
        if is_open:
            return (call for call in self.open_calls.values() if _get_place(call.id) > place)
        return islice(self.by_id.values(), place, None)

    def apply(self, event: Event) -> None:
        """Change a call by one of `applied_events`."""
        payload: Any = event.payload
        kind = type(payload)
        if kind is CallStarted:
            self._start(event, payload)
        call = self.by_id.get(payload.call)
        if call is None:
            return
        if kind in _TELLING:
            call.last_at = event.at
        if kind in _WATCHED:
            self.changed.append(call.id)
        if kind in self._changes:
            self._changes[kind](call, event, payload)
        change = getattr(payload, "change", None)
        if type(change) is FarEndChange:
            self._change_session(call, event, change)

    def _start(self, event: Event, started: CallStarted) -> None:
        call = PhoneCall(
            id=started.call,
            direction=started.direction,
            from_number=started.from_number,
            to_number=started.to_number,
            started_at=event.at,
            last_at=event.at,
            source=event.source,
            seq=event.seq,
            meets=started.meets,
        )
        self.by_id[call.id] = self.open_calls[call.id] = call
        number = call.to_number
        self.rung[number] = self.rung.get(number, 0) + 1
        ring = self._settings.ring_timeout
        if started.ring_seconds is not None:
            ring = timedelta(seconds=started.ring_seconds)
        self.schedule(call, "ring", event.at + ring, event.seq)

    def schedule(self, call: PhoneCall, kind: DueKind, at: datetime, seq: int) -> None:
        """Schedule work of a call; `seq` is that of the event that leads to it."""
        call.due[kind] = self.agenda.schedule((call.id, kind), at, seq)

    def _change_connection(
        self, call: PhoneCall, event: Event, payload: CallAnswered | CallTransferred | CallEnded
    ) -> None:
        if isinstance(payload, CallEnded):
            call.end(payload.by, payload.outcome, event.at)
            self.open_calls.pop(call.id, None)
            return
        call.far_end = payload.far_end
        call.mailbox = ""
        call.due.pop("ring", None)
        if call.direction == "outbound":
            call.tree_version = self._lines.find_version(call.number)
        if isinstance(payload, CallTransferred):
            call.transfers.append(payload.far_end)
            call.session, call.listens_from, call.meets = None, None, payload.meets
            call.due.pop("timer", None)
            call.due.pop("speech", None)  # the new far end has not heard its beginning
            if payload.ring_seconds is not None:
                self.rung[call.number] = self.rung.get(call.number, 0) + 1
                ring = timedelta(seconds=payload.ring_seconds)
                self.schedule(call, "ring", event.at + ring, event.seq)
            return
        if call.status == "ringing":
            call.status, call.answered_at = "connected", event.at
            self.schedule(call, "limit", event.at + self._settings.max_call_length, event.seq)
        if payload.drops_after is not None:
            self.schedule(call, "drop", event.at + timedelta(seconds=payload.drops_after), event.seq)

    def _change_speech(self, call: PhoneCall, event: Event, payload: FarEndSpoke | AgentSpoke | SpeechCut) -> None:
        if isinstance(payload, SpeechCut):
            self._cut_speech(call, payload)
            return
        start = event.at + timedelta(seconds=payload.starts_in)
        turn = CallTurn(
            number=payload.number,
            speaker="agent" if isinstance(payload, AgentSpoke) else payload.speaker,
            text=payload.text,
            start=start,
            end=start + timedelta(seconds=payload.seconds),
            seq=event.seq,
            heard=payload.text,
            phone=payload.far_end,
            far_end=call.far_end or payload.far_end,
            mailbox=call.mailbox,
        )
        if isinstance(payload, AgentSpoke):
            turn.is_heard, turn.listener = payload.is_heard, call.find_listener()
            if payload.is_heard and call.session is not None:
                is_limited = call.session.type in ("ivr", "representative") and not call.mailbox
                limit = start + self._settings.max_speech
                self.schedule(call, "speech", min(turn.end, limit) if is_limited else turn.end, event.seq)
        else:
            turn.node = payload.node
            if call.status == "ringing":
                call.due.pop("ring", None)
                self.schedule(call, "hang_up", turn.end, event.seq)
        call.add_turn(turn)

    def _cut_speech(self, call: PhoneCall, cut: SpeechCut) -> None:
        if not 0 < cut.number <= len(call.turns):  # the turn is in an event of a stored log that cannot be read
            return
        turn = call.turns[cut.number - 1]
        turn.end = turn.start + timedelta(seconds=cut.after_seconds)
        turn.heard, turn.is_cut = cut.heard, True
        if turn.speaker == "agent":
            call.due.pop("speech", None)

    def _use_session(self, call: PhoneCall, event: Event, payload: SessionChanged) -> None:
        if payload.change is None:  # in the log of an earlier version
            session, timer, done = payload.session, payload.timer_seconds, payload.done
            self._change_session(call, event, FarEndChange(session=session, timer_seconds=timer, done=done))

    def _change_session(self, call: PhoneCall, event: Event, change: FarEndChange) -> None:
        call.session, call.listens_from = change.session, None
        call.due.pop("timer", None)
        if change.done is not None:
            call.due.pop(change.done, None)
        if change.session is None:
            call.due.pop("speech", None)
        if change.timer_seconds is None:
            return
        at = event.at + timedelta(seconds=change.timer_seconds)
        if change.listen_seconds is not None:
            call.listens_from = at
            at += timedelta(seconds=change.listen_seconds)
        self.schedule(call, "timer", at, event.seq)
