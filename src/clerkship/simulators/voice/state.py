"""The state of an organization's telephone: its calls, the lines that it can call, and what is due in them.

See docs/decisions/0024-phone.md.
"""

from collections.abc import Callable, MutableMapping
from functools import partial
from typing import Any, cast

from clerkship.events.event import Event, Payload
from clerkship.formats.fhir.chart import Chart
from clerkship.formats.fhir.chart_cache import load_chart
from clerkship.formats.phone_tree.session import (
    Answered,
    CallerSession,
    DigitsPressed,
    FarEnd,
    SpeechEnded,
    SpeechStarted,
    TimerFired,
)
from clerkship.formats.phone_tree.speech_time import measure_speech
from clerkship.model.frozen import Frozen
from clerkship.sandbox.request import Refusal
from clerkship.sandbox.state import ActionContext, DueWork, State
from clerkship.simulators.voice.callers import repeats_opening
from clerkship.simulators.voice.calls import CallTable
from clerkship.simulators.voice.cases import CaseTable
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
from clerkship.simulators.voice.conversation import PhoneConversation, schedule_hang_up
from clerkship.simulators.voice.dialling import NOT_IN_SERVICE, is_person_busy, plan_call
from clerkship.simulators.voice.dump import dump_calls, dump_people, dump_voicemails
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
    PersonResumed,
    PhoneConversationEnded,
)
from clerkship.simulators.voice.far_ends import (
    build_context,
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
from clerkship.simulators.voice.mailboxes import MESSAGE_LOST, Mailboxes, build_voicemail, collect_recording
from clerkship.simulators.voice.people import PeopleByPhone
from clerkship.simulators.voice.records import VOICEMAIL, CallOutcome, CallParty, DueKind, PhoneCall, Speaker
from clerkship.simulators.voice.spoken_digits import understand_speech
from clerkship.simulators.voice.webhook_record import WebhookRecord


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
        self.people = PeopleByPhone()
        """The simulated people who can be reached at a number."""
        self.mailboxes = Mailboxes(self.settings.mailboxes)
        self.cases = CaseTable()
        self.webhook = WebhookRecord()
        self._appliers = self._index_appliers()

    @property
    def settings(self) -> VoiceConfig:
        """The config."""
        return cast(VoiceConfig, self.config)

    def find_call(self, id: str) -> PhoneCall:
        """Return a call; refused if there is none."""
        return self.calls.find(id)

    def conversation(self, channel: str, address: str) -> PhoneConversation:
        """Return the conversation with the simulated person at a number."""
        return PhoneConversation(self, address)

    # What the agent does.

    def dial(self, action: ActionContext, to: str, from_number: str | None = None) -> PhoneCall:
        """Call a number. It rings; whether it is answered shows later."""
        try:
            number, own = check_number(to), check_own_number(from_number, self.settings)
            self.check_count()
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

    def answer(self, action: ActionContext, id: str) -> PhoneCall:
        """Answer a call that rings at an own number."""
        call = self._find_ringing(id)
        event = action.emit(action.apply_faults(CallAnswered(call=id, far_end=call.from_number)))
        if call.session is not None:
            step_far_end(self, action._replace(now=event.at), call, Answered())
        return call

    def reject(self, action: ActionContext, id: str) -> PhoneCall:
        """Reject a call that rings at an own number."""
        call = self._find_ringing(id)
        self.end_call(action, call, "agent", "rejected", "the agent rejected the call")
        return call

    def say(self, action: ActionContext, id: str, text: str) -> PhoneCall:
        """Begin to say something. A far end that listens reacts when it is said."""
        call = self.find_call(id)
        check_not_held(call)
        check_text(text, self.settings)
        session, utterance = call.session, dict[str, Any]()
        if isinstance(session, CallerSession) and repeats_opening(session, action.now):
            utterance["is_greeting"] = True  # they answer it by saying again why they call
        event = self.speak_agent(action, call, text, **utterance)
        action = action._replace(now=event.at)
        if hears_speech(self, call):
            if call.session is not None:
                step_far_end(self, action, call, SpeechStarted())
            else:
                cut_far_end(action, call)  # a person stops when they are interrupted
        return call

    def speak_agent(self, action: ActionContext, call: PhoneCall, text: str, **utterance: Any) -> Event:
        """Emit what the agent says in a call. `utterance` has further fields of the event."""
        is_greeting = isinstance(call.session, CallerSession) and bool(call.session.lines)
        turn = self.people.current_turn(call.speech_address)
        fields = {"turn": turn, "is_greeting": is_greeting} | utterance
        return action.emit(
            AgentSpoke(
                call=call.id,
                number=len(call.turns) + 1,
                far_end=call.speech_address,
                text=text,
                seconds=measure_speech(text),
                is_heard=hears_speech(self, call),
                **fields,
            )
        )

    def press(self, action: ActionContext, id: str, digits: str) -> PhoneCall:
        """Press keys."""
        call = self.find_call(id)
        check_not_held(call)
        check_digits(digits)
        sent = action.apply_faults(DigitsSent(call=id, digits=digits, understood=digits))
        event = action.emit(sent)
        if call.session is not None:
            step_far_end(self, action._replace(now=event.at), call, DigitsPressed(sent.understood))
        return call

    def hold(self, action: ActionContext, id: str) -> PhoneCall:
        """Put a call on hold: the agent hears nothing of it until it is resumed."""
        call = self.find_call(id)
        check_connected(call)
        if call.is_held_by_agent:
            raise Refusal(409, "on_hold", f"call {id} is on hold already")
        action.emit(HoldStarted(call=id, by="agent"))
        return call

    def resume(self, action: ActionContext, id: str) -> PhoneCall:
        """Take a call off hold that the agent put on hold."""
        call = self.find_call(id)
        check_connected(call)
        if not call.is_held_by_agent:
            raise Refusal(409, "not_on_hold", f"call {id} was not put on hold")
        action.emit(HoldEnded(call=id, by="agent"))
        return call

    def hang_up(self, action: ActionContext, id: str) -> PhoneCall:
        """End a call."""
        call = self.find_call(id)
        check_open(call)
        is_waiting = call.status == "ringing" or call.is_held_by_line
        self.end_call(action, call, "agent", "abandoned" if is_waiting else "completed", "the agent hung up")
        return call

    def hear(self, action: ActionContext, id: str) -> Event:
        """Record that the agent has listened to a call up to now."""
        self.find_call(id)
        return action.emit(CallHeard(call=id))

    # What the far end does.

    def connect_far_end(
        self, action: ActionContext, call: PhoneCall, far_end: FarEnd | None, address: str = ""
    ) -> None:
        """Connect a call to a far end, which answers; None for a simulated person. `address` is its number."""
        address = address or call.far_end or call.number
        if call.status == "ringing" or "ring" in call.due:
            event = action.emit(action.apply_faults(CallAnswered(call=call.id, far_end=address)))
            action = action._replace(now=event.at)
        if far_end is not None:
            result = far_end.start(build_context(self, action))
            carry_out(self, action, call, far_end, result)

    def speak_far_end(
        self, action: ActionContext, call: PhoneCall, text: str, speaker: Speaker, **utterance: Any
    ) -> Event:
        """Let a person or an announcement say something. What a person says is a turn of their conversation."""
        turn = self.people.next_turn(call.speech_address) if speaker == "person" else 0
        return speak(action, call, text, speaker, **{"turn": turn} | utterance)

    def end_call(
        self, action: ActionContext, call: PhoneCall, by: CallParty, outcome: CallOutcome, reason: str = ""
    ) -> None:
        """End a call. What is being said is cut, and what was recorded is left in the mailbox, unless that is full."""
        check_open(call)
        cut_far_end(action, call)
        own = call.agent_turn
        if own is not None and own.end > action.now:
            cut_turn(action, call, own)
        recording = collect_recording(call, action.now)
        if recording is not None and self.mailboxes.is_full:
            reason = f"{reason}; {MESSAGE_LOST}"
        elif recording is not None:
            message = build_voicemail(self.mailboxes.new_id(), call.mailbox, call.from_number, recording, call.id)
            self.mailboxes.leave(action, message)
        action.emit(CallEnded(call=call.id, by=by, outcome=outcome, reason=reason))

    def next_due(self) -> DueWork | None:
        """Return the first work that is due in a call, or the first end of a person's pause."""
        work, pause = self.calls.agenda.first(), self.people.first_pause()
        due = [DueWork(each.at, each.seq) for each in (work, pause) if each is not None]
        return min(due, default=None)

    def run_due(self, action: ActionContext) -> None:
        """Do the work that is due in a call, or end the pause of a person."""
        work, pause = self.calls.agenda.first(), self.people.first_pause()
        if pause is not None and (work is None or pause[:2] < work[:2]):
            action.emit(PersonResumed(number=pause.number, pause=pause.pause))
        elif work is not None:
            _run_work(self, action, work.call, work.kind)

    # Changes.

    def apply(self, event: Event) -> None:
        """Change the state by an event."""
        for apply in self._appliers.get(type(event.payload), ()):
            apply(event)

    def _index_appliers(self) -> dict[type[Payload], list[Callable[[Event], None]]]:
        """Return, for each event, what applies it, in order: a look at all of them would cost more than the change."""
        appliers: dict[type[Payload], list[Callable[[Event], None]]] = {}
        for table in (self.lines, self.calls, self.people, self.mailboxes, self.cases, self.webhook):
            for kind in table.applied_events:
                appliers.setdefault(kind, []).append(table.apply)
        appliers[PhoneConversationEnded].append(partial(schedule_hang_up, self))
        return appliers

    def dump(self) -> Any:
        """Return plain data."""
        return {
            "calls": dump_calls(self.calls.by_id.values()),
            "rung": dict(self.calls.rung),
            "lines": self.lines.dump_changes(),
            "people": dump_people(self.people.by_number.values()),
            "voicemails": dump_voicemails(self.mailboxes.messages.values()),
            "wrong_pins": {name: count for name, count in self.mailboxes.wrong_pins.items() if count},
            "locked_mailboxes": sorted(self.mailboxes.locked),
            "cases": {member: list(numbers) for member, numbers in self.cases.by_member.items()},
            "webhook": {"events": list(self.webhook.events), "told": sorted(map(list, self.webhook.answered))},
        }

    def check_count(self) -> None:
        """Refuse another call if there are too many."""
        settings = self.settings
        if len(self.calls.open_calls) >= settings.max_open_calls:
            limit = settings.max_open_calls
            raise Refusal(429, "too_many_calls", f"{limit:,} calls are open (max_open_calls); hang up one first")
        if len(self.calls.by_id) >= settings.max_calls:
            raise Refusal(429, "too_many_calls", f"the limit of {settings.max_calls:,} calls is reached (max_calls)")

    def _find_ringing(self, id: str) -> PhoneCall:
        call = self.find_call(id)
        check_open(call)
        if call.direction != "inbound":
            raise Refusal(409, "not_incoming", f"call {id} was dialled by the organization; only incoming calls ring")
        if call.status != "ringing":
            raise Refusal(409, "already_answered", f"call {id} is answered already")
        if "ring" not in call.due:
            raise Refusal(409, "not_ringing", f"call {id} does not ring any more: the mailbox has taken it")
        return call


def _run_work(state: VoiceState, action: ActionContext, call: PhoneCall, kind: DueKind) -> None:
    match kind:
        case "ring":
            _finish_ringing(state, action, call)
        case "timer":
            step_far_end(state, action, call, TimerFired(), done="timer")
        case "speech":
            assert call.agent_turn is not None
            understood = understand_speech(state, action, call, call.agent_turn.text)
            step_far_end(state, action, call, SpeechEnded(understood), done="speech")
        case "hang_up":
            if call.status == "connected":
                state.end_call(action, call, "person", "completed", "the person hung up")
            else:
                state.end_call(action, call, "system", "failed", "the number is not in service")
        case "drop":
            state.end_call(action, call, "system", "dropped", "the connection broke")
        case "limit":
            limit = state.settings.max_call_length
            state.end_call(action, call, "system", "dropped", f"a call lasts at most {limit} (max_call_length)")


def _finish_ringing(state: VoiceState, action: ActionContext, call: PhoneCall) -> None:
    """Let the number answer, or end the call, when it has rung."""
    if call.direction == "inbound":
        if call.session is not None:
            step_far_end(state, action, call, TimerFired(), done="ring")
        else:
            state.end_call(action, call, "system", "no_answer", "the agent did not answer")
        return
    number = call.number
    mailbox = state.lines.find_mailbox(number)
    if call.meets == "busy" or (call.meets == "answer" and is_person_busy(state, number)):
        state.end_call(action, call, "system", "busy", "the line is busy")
    elif call.meets == "out_of_service":
        if call.status == "ringing":
            state.speak_far_end(action, call, NOT_IN_SERVICE, "line")
        else:
            state.end_call(action, call, "system", "failed", "the call was transferred to a number not in service")
    elif call.meets == "answer" and number in state.people:
        state.connect_far_end(action, call, None)
        state.speak_far_end(action, call, state.people.choose_greeting(number), "person")
    elif call.meets == "answer" and (far_end := choose_far_end(state, call)) is not None:
        state.connect_far_end(action, call, far_end)
    elif mailbox is not None:
        # What is said to the mailbox of a person is not said to the person.
        address = number if state.people.find(number) is None else f"{number}/{VOICEMAIL}"
        state.connect_far_end(action, call, build_recorder(mailbox), address)
    else:
        state.end_call(action, call, "system", "no_answer", "there was no answer")
