"""A log of calls, built by hand."""

from typing import Any

from clerkship.events.event import Event, Payload
from clerkship.formats.phone_tree.prompts import measure_speech
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
from clerkship.simulators.voice.records import CallOutcome, CallParty, Direction, Speaker
from tests.assertions.log_builder import LogBuilder

OWN = "+15550100100"
PAYER = "+15550100300"
PHARMACY = "+15550100400"
PATIENT = "+15550100500"


class CallLogBuilder(LogBuilder):
    """A log to which calls are added. Each event happens at `now`, which moves on with what is said."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self._turns: dict[str, int] = {}
        self._far_ends: dict[str, str] = {}
        self._count = 0

    def _emit(self, payload: Payload, actor: str = "system") -> Event:
        return self.add_event(payload, source="phone", actor=actor, at=self.now)

    def ring(self, number: str = PAYER, *, direction: Direction = "outbound") -> str:
        """Add a call that rings; return its id."""
        self._count += 1
        call = f"call-{self._count}"
        sender, recipient = (OWN, number) if direction == "outbound" else (number, OWN)
        actor = "agent" if direction == "outbound" else "person"
        self._emit(CallStarted(call=call, direction=direction, from_number=sender, to_number=recipient), actor)
        self._turns[call], self._far_ends[call] = 0, number
        return call

    def start(self, number: str = PAYER, *, direction: Direction = "outbound") -> str:
        """Add a call that is answered; return its id."""
        call = self.ring(number, direction=direction)
        self.now += 4
        self._emit(CallAnswered(call=call, far_end=number))
        return call

    def hear(self, call: str, text: str, speaker: Speaker = "line", node: str = "") -> Event:
        """Let the far end say something, to its end."""
        return self._speak(call, text, speaker, node)

    def say(self, call: str, text: str, *, is_heard: bool = True) -> Event:
        """Let the agent say something, to its end."""
        self._turns[call] += 1
        seconds = measure_speech(text)
        spoke = AgentSpoke(
            text=text,
            turn=1,
            call=call,
            number=self._turns[call],
            far_end=self._far_ends[call],
            seconds=seconds,
            is_heard=is_heard,
        )
        event = self._emit(spoke, "agent")
        self.now += seconds
        return event

    def _speak(self, call: str, text: str, speaker: Speaker, node: str) -> Event:
        self._turns[call] += 1
        seconds = measure_speech(text)
        spoke = FarEndSpoke(
            text=text,
            turn=1,
            call=call,
            number=self._turns[call],
            far_end=self._far_ends[call],
            speaker=speaker,
            seconds=seconds,
            node=node,
        )
        event = self._emit(spoke, "person" if speaker == "person" else "system")
        self.now += seconds
        return event

    def cut(self, call: str, heard: str, after_seconds: float) -> None:
        """Cut the last turn; the time goes back to the cut."""
        turn = next(
            event
            for event in reversed(self.log.events)
            if isinstance(event.payload, AgentSpoke | FarEndSpoke) and event.payload.call == call
        )
        assert isinstance(turn.payload, AgentSpoke | FarEndSpoke)
        self.now += after_seconds - turn.payload.seconds
        self._emit(SpeechCut(call=call, number=turn.payload.number, after_seconds=after_seconds, heard=heard))

    def press(self, call: str, digits: str) -> None:
        """Let the agent press keys."""
        self._emit(DigitsSent(call=call, digits=digits, understood=digits), "agent")

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds

    def visit(self, call: str, *nodes: str, tree: str = "provider_line") -> None:
        """Let a call come to nodes."""
        for node in nodes:
            self._emit(NodeEntered(call=call, tree=tree, node=node))

    def reject(self, call: str, node: str = "member") -> None:
        """Let the line reject an entry."""
        self._emit(InputRejected(call=call, node=node, reason="invalid", attempt=1))

    def verify(self, call: str, member_id: str) -> None:
        """Let the far end accept an identity."""
        self._emit(IdentityVerified(call=call, member_id=member_id))

    def hold(self, call: str, seconds: float, by: CallParty = "line") -> None:
        """Put a call on hold for a time."""
        self._emit(HoldStarted(call=call, by=by))
        self.now += seconds
        self._emit(HoldEnded(call=call, by=by))

    def transfer(self, call: str, far_end: str) -> None:
        """Transfer a call."""
        self._far_ends[call] = far_end.partition("/")[0]
        self._emit(CallTransferred(call=call, far_end=far_end))

    def beep(self, call: str, mailbox: str = "patient") -> None:
        """Let a recorder beep."""
        self._emit(BeepPlayed(call=call, mailbox=mailbox))

    def leave(self, call: str | None, text: str, **fields: Any) -> Event:
        """Add a voicemail."""
        defaults = {"id": "vm-1", "mailbox": "patient", "from_number": OWN, "seconds": measure_speech(text)}
        left = VoicemailLeft.model_validate({**defaults, "text": text, "call": call, **fields})
        return self._emit(left)

    def end(self, call: str, by: CallParty = "agent", outcome: CallOutcome = "completed") -> None:
        """End a call."""
        self._emit(CallEnded(call=call, by=by, outcome=outcome))
