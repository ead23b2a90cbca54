"""The state of an organization's telephone: its calls, the lines that it can call, and what is due in them.

See docs/decisions/0024-phone.md and docs/decisions/0026-phone-events.md.
"""

from typing import Any

from clerkship.formats.phone_tree.nodes import CollectNode
from clerkship.formats.phone_tree.session import (
    Answered,
    CallerSession,
    DigitsPressed,
    IvrSession,
    MailboxSession,
    SpeechEnded,
    SpeechStarted,
    TimerFired,
)
from clerkship.sandbox.agenda import find_first_due
from clerkship.sandbox.request import Refusal
from clerkship.sandbox.state import ActionContext, DueWork
from clerkship.simulators.voice.callers import repeats_opening
from clerkship.simulators.voice.checks import (
    check_connected,
    check_dialled,
    check_open,
    check_own_number,
    clean,
    find_short_service,
)
from clerkship.simulators.voice.conversation import PhoneConversation
from clerkship.simulators.voice.dialling import NOT_IN_SERVICE, is_person_busy, plan_call
from clerkship.simulators.voice.events import (
    CallAnswered,
    CallRefused,
    CallStarted,
    DigitsSent,
    DigitsSpoken,
    HoldEnded,
    HoldStarted,
    PersonResumed,
)
from clerkship.simulators.voice.far_ends import (
    build_recorder,
    choose_far_end,
    connect_far_end,
    cut_agent,
    cut_far_end,
    end_call,
    find_tree,
    hears_speech,
    play_busy_tone,
    speak_agent,
    speak_far_end,
    step_far_end,
)
from clerkship.simulators.voice.records import VOICEMAIL, DueKind, PhoneCall
from clerkship.simulators.voice.spoken_digits import count_digits
from clerkship.simulators.voice.tables import PhoneTables


class VoiceState(PhoneTables):
    """The calls of one organization.

    Methods check what is done and emit events. What the far end of a call does later, `run_due` does in simulated time.
    """

    def conversation(self, channel: str, address: str) -> PhoneConversation:
        """Return the conversation with the simulated person at a number."""
        return PhoneConversation(self, address)

    def dial(self, action: ActionContext, to: str, from_number: str | None = None) -> PhoneCall:
        """Call a number. It rings; whether it is answered shows later."""
        try:
            number, own = check_dialled(to), check_own_number(from_number, self.config)
            self.check_count()
        except Refusal as refusal:
            service = find_short_service(to)
            action.emit(CallRefused(to_number=clean(to), code=refusal.code, reason=refusal.reason, service=service))
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
        answered = action.apply_faults(CallAnswered(call=id, far_end=call.from_number))
        step_far_end(self, action, call, Answered(), event=answered)
        return call

    def reject(self, action: ActionContext, id: str) -> PhoneCall:
        """Reject a call that rings at an own number."""
        call = self._find_ringing(id)
        end_call(self, action, call, "agent", "rejected", "the agent rejected the call")
        return call

    def say(self, action: ActionContext, call: PhoneCall, text: str) -> None:
        """Begin to say something. A far end that listens reacts when it is said."""
        session, utterance = call.find_session(action.now), dict[str, Any]()
        if isinstance(session, CallerSession) and repeats_opening(session, action.now):
            utterance["is_greeting"] = True  # they answer it by saying again why they call
        is_heard = hears_speech(self, call, action.now)
        spoken = speak_agent(self, call, text, is_heard=is_heard, **utterance)
        if is_heard and session is not None:
            step_far_end(self, action, call, SpeechStarted(), event=spoken)
            return
        action.emit(spoken)
        if is_heard:
            cut_far_end(action, call)  # a person stops when they are interrupted

    def press(self, action: ActionContext, call: PhoneCall, digits: str) -> None:
        sent = action.apply_faults(DigitsSent(call=call.id, digits=digits, understood=digits))
        step_far_end(self, action, call, DigitsPressed(sent.understood), event=sent)

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

    def hang_up(self, action: ActionContext, call: PhoneCall) -> None:
        is_waiting = call.status == "ringing" or call.is_held_by_line
        end_call(self, action, call, "agent", "abandoned" if is_waiting else "completed", "the agent hung up")

    def next_due(self) -> DueWork | None:
        """Return the first work that is due in a call, or the first end of a person's pause."""
        return find_first_due(self.calls.agenda, self.people.agenda)

    def run_due(self, action: ActionContext) -> None:
        """Do the work that is due in a call, or end the pause of a person."""
        work, pause = self.calls.agenda.first(), self.people.agenda.first()
        if pause is not None and (work is None or pause[0] < work[0]):
            number, place = pause[1]
            action.emit(PersonResumed(number=number, pause=place))
        elif work is not None:
            id, kind = work[1]
            _run_work(self, action, self.find_call(id), kind)

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
            cut_agent(action, call)  # who speaks for longer than `max_speech` is interrupted
            understood = _understand_speech(state, action, call, call.agent_turn.heard)
            step_far_end(state, action, call, SpeechEnded(understood), done="speech")
        case "hang_up":
            if call.status == "connected":
                end_call(state, action, call, "person", "completed", "the person hung up")
            else:
                end_call(state, action, call, "system", "failed", "the number is not in service")
        case "drop":
            end_call(state, action, call, "system", "dropped", "the connection broke")
        case "limit":
            limit = state.config.max_call_length
            end_call(state, action, call, "system", "dropped", f"a call lasts at most {limit} (max_call_length)")


def _finish_ringing(state: VoiceState, action: ActionContext, call: PhoneCall) -> None:
    """Let the number answer, or end the call, when it has rung."""
    if call.direction == "inbound":
        if call.session is not None:
            step_far_end(state, action, call, TimerFired(), done="ring")
        else:
            end_call(state, action, call, "system", "no_answer", "the agent did not answer")
        return
    number = call.number
    mailbox = state.lines.find_mailbox(number)
    if call.meets == "busy" or (call.meets == "answer" and is_person_busy(state, number)):
        end_call(state, action, call, "system", "busy", "the line is busy")
    elif call.meets == "out_of_service":
        if call.status == "ringing":
            action.emit(speak_far_end(state, action, call, NOT_IN_SERVICE, "line"))
        else:
            end_call(state, action, call, "system", "failed", "the call was transferred to a number not in service")
    elif call.meets == "answer" and number in state.people:
        connect_far_end(state, action, call, None)
        action.emit(speak_far_end(state, action, call, state.people.choose_greeting(number), "person"))
    elif call.meets == "answer" and (far_end := choose_far_end(state, call)) is not None:
        connect_far_end(state, action, call, far_end)
    elif mailbox is not None:
        # What is said to the mailbox of a person is not said to the person.
        address = number if state.people.find(number) is None else f"{number}/{VOICEMAIL}"
        connect_far_end(state, action, call, build_recorder(mailbox), address)
    else:
        end_call(state, action, call, "system", "no_answer", "there was no answer")


def _understand_speech(state: PhoneTables, action: ActionContext, call: PhoneCall, text: str) -> str:
    """Return what the far end understands of what the agent has said; a fault may change a digit of an entry."""
    if not _awaits_entry(state, call) or not count_digits(text):
        return text
    spoken = action.apply_faults(DigitsSpoken(call=call.id, text=text, understood=text))
    action.emit(spoken)
    return spoken.understood


def _awaits_entry(state: PhoneTables, call: PhoneCall) -> bool:
    """Return whether the far end is a phone tree that collects a value, or a mailbox that asks for its PIN."""
    session = call.session
    if isinstance(session, MailboxSession):
        return session.step == "pin"
    tree = find_tree(state, call) if isinstance(session, IvrSession) else None
    return tree is not None and isinstance(tree.nodes.get(getattr(session, "node", "")), CollectNode)
