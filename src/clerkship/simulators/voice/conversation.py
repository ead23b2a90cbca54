"""The conversation with a simulated person by phone."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from clerkship.events.event import Event
from clerkship.formats.phone_tree.session import CallerSession
from clerkship.model.conversation_key import normalize_address
from clerkship.sandbox.request import Refusal
from clerkship.sandbox.state import ActionContext, CallConversation, RecordedConversation
from clerkship.simulators.voice.checks import check_not_held, check_text, clean
from clerkship.simulators.voice.dialling import Caller, find_ringing_call, ring_agent, start_call
from clerkship.simulators.voice.events import (
    CHANNEL,
    AgentSpoke,
    CallAnswered,
    FarEndChange,
    PersonPaused,
    PhoneConversationEnded,
    PhoneConversationStarted,
    SessionChanged,
    SpeechRefused,
)
from clerkship.simulators.voice.far_ends import end_call, hears_speech, speak_agent, speak_far_end
from clerkship.simulators.voice.records import PhoneCall
from clerkship.simulators.voice.tables import PersonByPhone, PhoneTables


class PhoneConversation(RecordedConversation, CallConversation):
    """The calls with the person at one number."""

    def __init__(self, state: PhoneTables, number: str) -> None:
        self._state, self._number = state, normalize_address(CHANNEL, number)

    @property
    def _record(self) -> PersonByPhone | None:
        return self._state.people.find(self._number)

    @property
    def pauses(self) -> Sequence[Event]:
        """The pauses of the person so far."""
        return self._record.pauses if self._record is not None else ()

    @property
    def hangs_up_at(self) -> datetime | None:
        """When the person, who has said goodbye, hangs up."""
        call = self._state.find_call_of(self._number)
        due = None if call is None else call.due.get("hang_up")
        return None if due is None else due[0]

    def start(self, action: ActionContext, person: str, greeting: str | None = None) -> Event:
        """Let a person answer at the number; refused if one does already."""
        if self.open:
            raise Refusal(409, "already_open", f"a person can be reached at {self._number} already")
        return action.emit(PhoneConversationStarted(person=person, number=self._number, greeting=greeting or ""))

    def connect(self, action: ActionContext) -> None:
        """Have the person call the first own number, and answer for the agent; nothing if they are in a call."""
        if self._state.find_call_of(self._number) is not None:
            return
        call = find_ringing_call(self._state, self._number)
        if call is None:
            start_call(self._state, action, self._number, self._state.config.numbers[0])
            call = find_ringing_call(self._state, self._number)
            assert call is not None
        action.emit(CallAnswered(call=call.id, far_end=self._number))

    def can_answer(self, message: Event) -> bool:
        """Return whether the call in which the agent said something still goes on with this person."""
        call = self._state.find_call_of(self._number)
        return call is not None and isinstance(message.payload, AgentSpoke) and message.payload.call == call.id

    def say(self, action: ActionContext, text: str, **extra: Any) -> Event:
        """Say something in the call. A person who is in none calls the agent, and says it when that answers.

        Refused for an agent that is in no call with the person.
        """
        if not self.open:
            raise Refusal(409, "not_open", f"there is no person at {self._number}")
        extra.pop("subject", None)
        if action.actor == "agent":
            return self._say_as_agent(action, text, extra)
        call = self._state.find_call_of(self._number) or find_ringing_call(self._state, self._number)
        if call is None:
            caller = Caller(lines=(text,), voicemail=text, is_person=True)
            return ring_agent(self._state, action, self._number, self._state.config.numbers[0], caller)
        session = call.find_session(action.now)
        if isinstance(session, CallerSession) and session.phase != "speaking":
            return action.emit(_add_line(call, session, text, action.now))
        return action.emit(speak_far_end(self._state, action, call, text, "person", **extra))

    def _say_as_agent(self, action: ActionContext, text: str, extra: dict[str, Any]) -> Event:
        """Say something for an agent that takes turns: it begins when both sides are silent.

        Emits SpeechRefused and raises Refusal if it cannot be said.
        """
        try:
            call = self._check_speech(text)
        except Refusal as refusal:
            action.emit(SpeechRefused(far_end=self._number, code=refusal.code, reason=refusal.reason, text=clean(text)))
            raise
        ends = [end for end in (call.speech_end, call.agent_speech_end) if end is not None]
        starts_in = max((end - action.now).total_seconds() for end in ends) if ends else 0.0
        extra |= {"is_heard": hears_speech(self._state, call, action.now), "starts_in": max(starts_in, 0.0)}
        return action.emit(speak_agent(self._state, call, text, **extra))

    def _check_speech(self, text: str) -> PhoneCall:
        """Return the call in which the agent can say a text to the person; refused if it cannot."""
        call = self._state.find_call_of(self._number)
        if call is None:
            raise Refusal(409, "not_connected", f"there is no call with {self._number}")
        check_not_held(call)
        check_text(text, self._state.config)
        return call

    def pause(self, action: ActionContext, length: timedelta) -> int:
        """Let the person be silent for a while; return the number of the pause. Refused if they have left."""
        if not self.open:
            raise Refusal(409, "not_open", f"there is no person at {self._number}")
        number = len(self.pauses) + 1
        action.emit(PersonPaused(number=self._number, pause=number, seconds=length.total_seconds()))
        return number

    def end(self, action: ActionContext, reason: str, **extra: Any) -> Event:
        """Let the person leave: they hang up when they have finished speaking. Refused if they left already."""
        if not self.open:
            raise Refusal(409, "not_open", f"there is no person at {self._number}")
        call = self._state.find_call_of(self._number)
        event = action.emit(PhoneConversationEnded(number=self._number, reason=reason, **extra))
        begun = call or find_ringing_call(self._state, self._number)
        session = None if begun is None else begun.find_session(action.now)
        if begun is not None and isinstance(session, CallerSession) and session.lines:
            # They still say what they called for, and hang up after the answer.
            alone = session.model_copy(update={"is_person": False})
            action.emit(_change_session(begun, alone, action.now))
        elif call is not None and "hang_up" not in call.due:
            end_call(self._state, action, call, "person", "completed", reason)
        return event


def _add_line(call: PhoneCall, session: CallerSession, text: str, now: datetime) -> SessionChanged:
    """Return the event after which a caller who has not spoken yet says something more."""
    message = f"{session.voicemail} {text}".strip()
    changed = session.model_copy(update={"lines": (*session.lines, text), "voicemail": message})
    return _change_session(call, changed, now)


def _change_session(call: PhoneCall, session: CallerSession, now: datetime) -> SessionChanged:
    """Return the event that changes what a caller will say, and not when."""
    timer, listening = call.find_timers(now)
    change = FarEndChange(session=session, timer_seconds=timer, listen_seconds=listening)
    return SessionChanged(call=call.id, change=change)
