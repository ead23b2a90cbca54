"""The state of an organization's telephone: its calls, the lines that it can call, and what is due in them.

See docs/decisions/0024-phone.md.
"""

from collections.abc import MutableMapping
from typing import Any, cast

from clerkship.events.event import Event
from clerkship.fhir.chart import Chart
from clerkship.fhir.chart_cache import load_chart
from clerkship.ivr.session import DigitsPressed, FarEnd, SpeechEnded, SpeechStarted, StepContext, TimerFired
from clerkship.ivr.speech_time import measure_speech
from clerkship.ivr.tree import IvrTree
from clerkship.model.frozen import Frozen
from clerkship.sandbox.request import Refusal
from clerkship.sandbox.state import ActionContext, DueWork, State
from clerkship.simulators.voice.calls import CallTable
from clerkship.simulators.voice.checks import (
    check_connected,
    check_digits,
    check_not_held,
    check_number,
    check_open,
    check_own_number,
    check_text,
    clean,
)
from clerkship.simulators.voice.config import VoiceConfig
from clerkship.simulators.voice.dialling import NOT_IN_SERVICE, plan_call
from clerkship.simulators.voice.dump import dump_calls
from clerkship.simulators.voice.events import (
    AgentSpoke,
    CallAnswered,
    CallEnded,
    CallHeard,
    CallRefused,
    CallStarted,
    DigitsSent,
    HoldEnded,
    HoldStarted,
    VoicemailLeft,
)
from clerkship.simulators.voice.far_ends import (
    build_recorder,
    carry_out,
    choose_far_end,
    cut_far_end,
    cut_turn,
    hears_speech,
    play_busy_tone,
    speak,
    step_far_end,
)
from clerkship.simulators.voice.lines import LineTable
from clerkship.simulators.voice.records import CallOutcome, CallParty, CallRecord, DueKind, Speaker


class VoiceState(State):
    """The calls of one organization.

    Methods check what is done and emit events. What the far end of a call does later, `run_due` does in simulated time.
    """

    def __init__(self, config: Frozen, records: MutableMapping[str, Any]) -> None:
        super().__init__(config, records)
        base = getattr(records, "base", None)
        self.chart = base if isinstance(base, Chart) else load_chart(())
        """The resources of the FHIR datasets."""
        self.lines = LineTable(self.settings)
        self.calls = CallTable(self.settings, self.lines)
        self.people: dict[str, str] = {}
        """Number -> name of the simulated person who answers there."""

    @property
    def settings(self) -> VoiceConfig:
        """The config."""
        return cast(VoiceConfig, self.config)

    def find_call(self, id: str) -> CallRecord:
        """Return a call; refused if there is none."""
        return self.calls.find(id)

    def is_access_number(self, number: str) -> bool:
        """Return whether a number is dialled to listen to a mailbox."""
        return any(mailbox.access_number == number for mailbox in self.settings.mailboxes)

    def find_access_tree(self, call: CallRecord) -> IvrTree | None:
        """Return the phone tree of a mailbox, if the call is to the number at which it is listened to."""
        return None

    # What the agent does.

    def dial(self, action: ActionContext, to: str, from_number: str | None = None) -> CallRecord:
        """Call a number. It rings; whether it is answered shows later."""
        try:
            number, own = check_number(to), check_own_number(from_number, self.settings)
            self._check_count()
        except Refusal as refusal:
            action.emit(CallRefused(to_number=clean(to), code=refusal.code, reason=refusal.reason))
            raise
        plan = plan_call(self, number)
        started = action.apply_faults(
            CallStarted(
                call=self.calls.new_id(),
                direction="outbound",
                from_number=own,
                to_number=number,
                meets=plan.meets,
                ring_seconds=plan.ring_seconds,
            )
        )
        action.emit(started)
        call = self.find_call(started.call)
        play_busy_tone(action, call)
        return call

    def answer(self, action: ActionContext, id: str) -> CallRecord:
        """Answer a call that rings at an own number."""
        call = self._find_ringing(id)
        action.emit(action.apply_faults(CallAnswered(call=id, far_end=call.from_number)))
        return call

    def reject(self, action: ActionContext, id: str) -> CallRecord:
        """Reject a call that rings at an own number."""
        call = self._find_ringing(id)
        self.end_call(action, call, "agent", "rejected", "the agent rejected the call")
        return call

    def say(self, action: ActionContext, id: str, text: str) -> CallRecord:
        """Begin to say something. A far end that listens reacts when it is said."""
        call = self.find_call(id)
        check_not_held(call)
        check_text(text, self.settings)
        is_heard = hears_speech(self, call)
        event = action.emit(
            AgentSpoke(
                call=id,
                number=len(call.turns) + 1,
                far_end=call.number,
                text=text,
                turn=0,
                seconds=measure_speech(text),
                is_heard=is_heard,
            )
        )
        if is_heard and call.session is not None:
            step_far_end(self, action._replace(now=event.at), call, SpeechStarted())
        return call

    def press(self, action: ActionContext, id: str, digits: str) -> CallRecord:
        """Press keys."""
        call = self.find_call(id)
        check_not_held(call)
        check_digits(digits)
        sent = action.apply_faults(DigitsSent(call=id, digits=digits, understood=digits))
        event = action.emit(sent)
        if call.session is not None:
            step_far_end(self, action._replace(now=event.at), call, DigitsPressed(sent.understood))
        return call

    def hold(self, action: ActionContext, id: str) -> CallRecord:
        """Put a call on hold: the agent hears nothing of it until it is resumed."""
        call = self.find_call(id)
        check_connected(call)
        if call.is_held_by_agent:
            raise Refusal(409, "on_hold", f"call {id} is on hold already")
        action.emit(HoldStarted(call=id, by="agent"))
        return call

    def resume(self, action: ActionContext, id: str) -> CallRecord:
        """Take a call off hold that the agent put on hold."""
        call = self.find_call(id)
        check_connected(call)
        if not call.is_held_by_agent:
            raise Refusal(409, "not_on_hold", f"call {id} was not put on hold")
        action.emit(HoldEnded(call=id, by="agent"))
        return call

    def hang_up(self, action: ActionContext, id: str) -> CallRecord:
        """End a call."""
        call = self.find_call(id)
        check_open(call)
        is_waiting = call.status == "ringing" or any(hold.by == "line" and hold.end is None for hold in call.holds)
        self.end_call(action, call, "agent", "abandoned" if is_waiting else "completed", "the agent hung up")
        return call

    def hear(self, action: ActionContext, id: str) -> Event:
        """Record that the agent has listened to a call up to now."""
        self.find_call(id)
        return action.emit(CallHeard(call=id))

    # What the far end does.

    def connect_far_end(self, action: ActionContext, call: CallRecord, far_end: FarEnd | None) -> None:
        """Connect a call to a far end, which answers; None for a simulated person."""
        if call.status == "ringing":
            number = call.to_number if call.direction == "outbound" else call.from_number
            answered = CallAnswered(call=call.id, far_end=call.far_end or number)
            event = action.emit(action.apply_faults(answered))
            action = action._replace(now=event.at)
        elif "ring" in call.due:
            action.emit(action.apply_faults(CallAnswered(call=call.id, far_end=call.far_end)))
        if far_end is not None:
            result = far_end.start(StepContext(action.now, action.rng))
            carry_out(self, action, call, far_end, result)

    def speak_far_end(
        self, action: ActionContext, call: CallRecord, text: str, speaker: Speaker, **utterance: Any
    ) -> None:
        """Let a person or an announcement say something."""
        speak(action, call, text, speaker, **utterance)

    def end_call(
        self, action: ActionContext, call: CallRecord, by: CallParty, outcome: CallOutcome, reason: str = ""
    ) -> None:
        """End a call. What is being said is cut, and what was recorded is left in the mailbox."""
        check_open(call)
        cut_far_end(action, call)
        own = next((turn for turn in reversed(call.turns) if turn.speaker == "agent"), None)
        if own is not None and own.end > action.now:
            cut_turn(action, call, own)
        if call.beep_at is not None:
            self._leave_voicemail(action, call)
        action.emit(CallEnded(call=call.id, by=by, outcome=outcome, reason=reason))

    def next_due(self) -> DueWork | None:
        """Return the first work that is due in a call."""
        work = self.calls.agenda.first()
        return None if work is None else DueWork(work.at, work.seq)

    def run_due(self, action: ActionContext) -> None:
        """Do the work that is due in a call."""
        work = self.calls.agenda.first()
        if work is not None:
            _run_work(self, action, work.call, work.kind)

    def end_unanswered(self, action: ActionContext, call: CallRecord) -> None:
        """End a call to an own number that the agent did not answer."""
        self.end_call(action, call, "system", "no_answer", "the agent did not answer")

    # Changes.

    def apply(self, event: Event) -> None:
        """Change the state by an event."""
        self.lines.apply(event)
        self.calls.apply(event)

    def dump(self) -> Any:
        """Return plain data."""
        return {
            "calls": dump_calls(self.calls.by_id.values()),
            "rung": dict(self.calls.rung),
            "lines": self.lines.dump_changes(),
        }

    def _check_count(self) -> None:
        settings = self.settings
        if len(self.calls.open_calls) >= settings.max_open_calls:
            limit = settings.max_open_calls
            raise Refusal(429, "too_many_calls", f"{limit:,} calls are open (max_open_calls); hang up one first")
        if len(self.calls.by_id) >= settings.max_calls:
            raise Refusal(429, "too_many_calls", f"the limit of {settings.max_calls:,} calls is reached (max_calls)")

    def _find_ringing(self, id: str) -> CallRecord:
        call = self.find_call(id)
        check_open(call)
        if call.direction != "inbound":
            raise Refusal(409, "not_incoming", f"call {id} was dialled by the organization; only incoming calls ring")
        if call.status != "ringing":
            raise Refusal(409, "already_answered", f"call {id} is answered already")
        return call

    def _leave_voicemail(self, action: ActionContext, call: CallRecord) -> None:
        beep = call.beep_at
        assert beep is not None
        own = [turn for turn in call.turns if turn.speaker == "agent"]
        recorded = [turn for turn in own if turn.start >= beep]
        seconds = sum((turn.end - turn.start).total_seconds() for turn in recorded)
        action.emit(
            VoicemailLeft(
                id=action.ids.new("voicemail"),
                mailbox=call.mailbox,
                from_number=call.from_number,
                text=" ".join(turn.heard for turn in recorded),
                seconds=round(seconds, 2),
                before_beep=" ".join(turn.heard for turn in own if turn.start < beep),
                call=call.id,
            )
        )


def _run_work(state: VoiceState, action: ActionContext, call: CallRecord, kind: DueKind) -> None:
    match kind:
        case "ring":
            _finish_ringing(state, action, call)
        case "timer":
            step_far_end(state, action, call, TimerFired(), done="timer")
        case "speech":
            own = next(turn for turn in reversed(call.turns) if turn.speaker == "agent")
            step_far_end(state, action, call, SpeechEnded(own.text), done="speech")
        case "hang_up":
            state.end_call(action, call, "system", "failed", "the number is not in service")
        case "drop":
            state.end_call(action, call, "system", "dropped", "the connection broke")
        case "limit":
            limit = state.settings.max_call_length
            state.end_call(action, call, "system", "dropped", f"a call lasts at most {limit} (max_call_length)")


def _finish_ringing(state: VoiceState, action: ActionContext, call: CallRecord) -> None:
    """Let the number answer, or end the call, when it has rung."""
    if call.direction == "inbound":
        state.end_unanswered(action, call)
        return
    number = call.number
    mailbox = state.lines.find_mailbox(number)
    if call.meets == "busy":
        state.end_call(action, call, "system", "busy", "the line is busy")
    elif call.meets == "out_of_service":
        if call.status == "ringing":
            state.speak_far_end(action, call, NOT_IN_SERVICE, "line")
        else:
            state.end_call(action, call, "system", "failed", "the call was transferred to a number not in service")
    elif call.meets == "no_answer" and mailbox is None:
        state.end_call(action, call, "system", "no_answer", "there was no answer")
    elif call.meets == "no_answer" and mailbox is not None:
        state.connect_far_end(action, call, build_recorder(mailbox))
    elif number in state.people:
        state.connect_far_end(action, call, None)
    else:
        far_end = choose_far_end(state, call)
        state.connect_far_end(action, call, far_end)
