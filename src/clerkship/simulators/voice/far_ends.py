"""The far ends of calls: which one a call is connected to, and how its actions become events."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import takewhile
from typing import Any, NamedTuple

from clerkship.events.event import Payload
from clerkship.formats.phone_tree.machine import IvrMachine
from clerkship.formats.phone_tree.nodes import QueueNode
from clerkship.formats.phone_tree.prompts import measure_speech, split_heard
from clerkship.formats.phone_tree.recorder import RecorderMachine
from clerkship.formats.phone_tree.representative import RepresentativeMachine
from clerkship.formats.phone_tree.session import (
    Action,
    Beep,
    CallerSession,
    ChangeVoicemail,
    CheckPin,
    CollectValue,
    EndHold,
    EnterNode,
    FarEnd,
    FarEndSession,
    HangUp,
    HookReturned,
    IvrSession,
    LeaveVoicemail,
    MailboxSession,
    RecorderSession,
    RejectInput,
    RepresentativeSession,
    RunHook,
    Speak,
    StartHold,
    StepContext,
    StepResult,
    Stimulus,
    StopSpeaking,
    TransferCall,
    VerifyIdentity,
)
from clerkship.formats.phone_tree.tree import IvrTree
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.voice.callers import CallerMachine
from clerkship.simulators.voice.checks import check_open
from clerkship.simulators.voice.config import MailboxConfig, VoiceLine
from clerkship.simulators.voice.dialling import BUSY_TONE, plan_call
from clerkship.simulators.voice.events import (
    AgentSpoke,
    BeepPlayed,
    CallAnswered,
    CallEnded,
    CallTransferred,
    FarEndChange,
    FarEndSpoke,
    HoldEnded,
    HoldStarted,
    HookRun,
    IdentityVerified,
    InputRejected,
    MailboxPinEntered,
    MusicStarted,
    NodeEntered,
    SessionChanged,
    SpeechCut,
    ValueCollected,
)
from clerkship.simulators.voice.hooks.contract import HookContext, HookResult
from clerkship.simulators.voice.hooks.registry import HOOKS
from clerkship.simulators.voice.mailbox_tree import MAX_WRONG_PINS, MailboxMachine
from clerkship.simulators.voice.mailboxes import (
    MESSAGE_LOST,
    VoicemailRecording,
    build_voicemail,
    collect_recording,
)
from clerkship.simulators.voice.records import CallOutcome, CallParty, CallTurn, DueKind, PhoneCall, Speaker
from clerkship.simulators.voice.tables import PhoneTables

MAX_TRANSFERS = 10
"""How often one call is transferred. After that it is dropped, so that lines cannot pass it on for ever."""
MAX_HOOKS_AT_ONCE = 50
"""How many hooks run one after another before the far end speaks or waits."""
MAX_RECORDING_SECONDS = 180.0
NO_HOOK = HookResult("failed")


def build_context(state: PhoneTables, action: ActionContext) -> StepContext:
    """Return what a step may depend on: the local time, which opening hours need, and random numbers."""
    return StepContext(action.now.astimezone(state.zone), action.rng)


def build_recorder(mailbox: MailboxConfig) -> FarEnd:
    """Return the far end that takes messages for a mailbox."""
    return RecorderMachine(mailbox.name, mailbox.greeting, MAX_RECORDING_SECONDS)


def choose_far_end(state: PhoneTables, call: PhoneCall, collected: Mapping[str, str] | None = None) -> FarEnd | None:
    """Return what answers the call at its number, or the representative that it was transferred to; None if nothing.

    `collected` are the values that the phone tree of the same line passes on to a representative.
    """
    number, _, representative = (call.far_end or call.to_number).partition("/")
    line = state.lines.find(number)
    if line is None:
        mailbox = state.mailboxes.find_by_access_number(number)
        return None if mailbox is None else _open_mailbox(state, call, mailbox)
    key = (number, call.tree_version or state.lines.find_version(number), representative)
    if collected is not None:
        return _build_far_end(state, call, line, representative, collected)
    if key not in state.far_ends:
        state.far_ends[key] = _build_far_end(state, call, line, representative)
    return state.far_ends[key]


def _build_far_end(
    state: PhoneTables,
    call: PhoneCall,
    line: VoiceLine,
    representative: str,
    collected: Mapping[str, str] | None = None,
) -> FarEnd | None:
    tree = find_tree(state, call)
    if tree is not None and not representative:
        return IvrMachine(tree, line.values)
    script = line.representatives.get(representative or next(iter(line.representatives), ""))
    values = {**(tree.values if tree is not None else {}), **line.values}
    return None if script is None else RepresentativeMachine(script, values, collected)


def _open_mailbox(state: PhoneTables, call: PhoneCall, mailbox: MailboxConfig) -> FarEnd:
    """Return the far end at the access number of a mailbox."""
    boxes, session = state.mailboxes, call.session
    wrong_pins = boxes.wrong_pins[mailbox.name]
    if mailbox.name in boxes.locked:
        wrong_pins = MAX_WRONG_PINS
    elif isinstance(session, MailboxSession):
        wrong_pins = max(wrong_pins - session.wrong_pins, 0)
    return MailboxMachine(mailbox, boxes.list_messages(mailbox.name), wrong_pins)


def find_tree(state: PhoneTables, call: PhoneCall) -> IvrTree | None:
    """Return the phone tree that answers at the number of a call."""
    number = call.number
    version = call.tree_version or state.lines.find_version(number)
    return state.lines.find_tree(number, version) if version else None


def _find_far_end(state: PhoneTables, call: PhoneCall) -> FarEnd:
    """Return the far end that a call is connected to, by what it remembers."""
    session = call.session
    if isinstance(session, RecorderSession):
        return RecorderMachine(session.mailbox, session.greeting, session.max_seconds)
    if isinstance(session, CallerSession):
        return CallerMachine()
    far_end = choose_far_end(state, call)
    assert far_end is not None
    return far_end


def hears_speech(state: PhoneTables, call: PhoneCall, now: datetime) -> bool:
    """Return whether the far end hears what the agent says now."""
    session, phase = call.session, call.find_phase(now)
    if session is None:
        return call.status == "connected" and "ring" not in call.due
    if isinstance(session, RepresentativeSession | MailboxSession | CallerSession):
        return phase != "on_hold"
    if isinstance(session, IvrSession):
        if phase == "speaking":
            far_end = _find_far_end(state, call)
            assert isinstance(far_end, IvrMachine)
            return far_end.is_interruptible(session)
        if phase == "on_hold":
            tree = find_tree(state, call)
            node = None if tree is None else tree.nodes.get(session.node)
            return isinstance(node, QueueNode) and any(choice.speech for choice in node.choices)
    return phase in ("listening", "recording")


class StepOrigin(NamedTuple):
    """What leads to a step of a far end."""

    event: Payload | None = None
    """The event that is emitted first."""
    done: DueKind | None = None
    """The work that was due."""


NO_ORIGIN = StepOrigin()


def step_far_end(
    state: PhoneTables,
    action: ActionContext,
    call: PhoneCall,
    stimulus: Stimulus,
    *,
    event: Payload | None = None,
    done: DueKind | None = None,
) -> None:
    """Let the far end of a call react, unless it is a simulated person.

    `event` is what leads to it, and is emitted first; `done` is the work that was due and led to it.
    """
    session = call.find_session(action.now)
    if session is None:
        if event is not None:
            action.emit(event)
        return
    far_end = _find_far_end(state, call)
    result = far_end.step(session, stimulus, build_context(state, action))
    if result.actions or result.timer_seconds is not None or done == "timer" or result.session != session:
        _carry_out(state, action, call, far_end, result, StepOrigin(event, done))
    elif event is not None:
        action.emit(event)
    elif done is not None:
        timer, listening = call.find_timers(action.now)
        change = FarEndChange(session=session, timer_seconds=timer, listen_seconds=listening, done=done)
        action.emit(SessionChanged(call=call.id, change=change))


def _carry_out(
    state: PhoneTables,
    action: ActionContext,
    call: PhoneCall,
    far_end: FarEnd,
    result: StepResult,
    origin: StepOrigin = NO_ORIGIN,
) -> None:
    """Turn the actions of a far end into events, and run its hooks. The last event has what it remembers."""
    event, done = origin
    for _ in range(MAX_HOOKS_AT_ONCE):
        returned: HookReturned | None = None
        for each in result.actions:
            if event is not None:
                action.emit(event)
                event = None
            if isinstance(each, RunHook):
                returned = _run_hook(state, action, call, each)
            elif isinstance(each, TransferCall):
                _transfer(state, action, call, each, result.session)
                return
            elif isinstance(each, StartHold):
                result = _start_hold(action, call, each, result)
            elif isinstance(each, HangUp):
                _hang_up(state, action, call, each.reason)
                return
            else:
                event = _perform(state, action, call, far_end, each)
        if returned is None:
            change = _build_change(action, call, far_end, result, event, done)
            event = SessionChanged(call=call.id) if event is None else event
            event.__dict__["change"] = change  # nothing else has the event yet, so it need not be copied
            action.emit(event)
            return
        result = far_end.step(result.session, returned, build_context(state, action))
    end_call(state, action, call, "system", "dropped", f"more than {MAX_HOOKS_AT_ONCE} hooks ran without a word")


def _start_hold(action: ActionContext, call: PhoneCall, start: StartHold, result: StepResult) -> StepResult:
    """Put the caller on hold. If a fault changes how long the wait lasts, the phone tree waits as long."""
    session = result.session
    seconds = session.wait_seconds if isinstance(session, IvrSession) else None
    node = call.path[-1].name if call.path and isinstance(session, IvrSession) else ""
    hold = action.apply_faults(
        HoldStarted(call=call.id, by="line", position=start.position, seconds=seconds, number=call.number, node=node)
    )
    action.emit(hold)
    if not isinstance(session, IvrSession) or hold.seconds is None or hold.seconds == seconds:
        return result
    left = max(session.hold_seconds + hold.seconds - session.wait_seconds, 0.0)
    return result._replace(
        session=session.model_copy(update={"wait_seconds": hold.seconds, "hold_seconds": round(left, 6)})
    )


def _build_change(
    action: ActionContext,
    call: PhoneCall,
    far_end: FarEnd,
    result: StepResult,
    event: Payload | None,
    done: DueKind | None,
) -> FarEndChange:
    """Return what the far end remembers. It is not called when it has only spoken and then listens."""
    session, timer, listening = result.session, result.timer_seconds, None
    if timer is not None and session is not None and session.phase == "speaking":
        if isinstance(event, FarEndSpoke):
            timer = max(timer, event.starts_in + event.seconds)
        elif call.speech_end is not None:
            timer = max(timer, (call.speech_end - action.now).total_seconds())
        listening = far_end.get_listen_seconds(session)
    return FarEndChange(session=session, timer_seconds=timer, listen_seconds=listening, done=done)


def _perform(
    state: PhoneTables, action: ActionContext, call: PhoneCall, far_end: FarEnd, each: Action
) -> Payload | None:
    """Return the event of an action that does not end the step, which is still to be emitted; None if there is none."""
    match each:
        case EnterNode(node):
            tree = find_tree(state, call)
            assert tree is not None
            return NodeEntered(call=call.id, tree=tree.name, node=node, version=tree.version)
        case Speak(text, True):
            return MusicStarted(call=call.id, music=text)
        case Speak(text):
            node = call.path[-1].name if isinstance(far_end, IvrMachine) and call.path else ""
            return speak_far_end(state, action, call, text, _get_speaker(far_end), node=node) if text.strip() else None
        case StopSpeaking():
            return _emit_all_but_last(action, _list_cuts(action, call))
        case Beep(mailbox):
            return BeepPlayed(call=call.id, mailbox=mailbox)
        case RejectInput(node, reason, attempt, text):
            return InputRejected(call=call.id, node=node, reason=reason, attempt=attempt, text=text)
        case CollectValue(node, name, value):
            return ValueCollected(call=call.id, node=node, name=name, value=value)
        case EndHold():
            return HoldEnded(call=call.id, by="line")
        case VerifyIdentity(member_id):
            return IdentityVerified(call=call.id, member_id=member_id)
        case CheckPin(mailbox, is_right, is_locked):
            return MailboxPinEntered(call=call.id, mailbox=mailbox, is_right=is_right, is_locked=is_locked)
        case ChangeVoicemail() | LeaveVoicemail():
            _change_mailbox(state, action, call, each)
    return None


def _emit_all_but_last(action: ActionContext, events: Sequence[Payload]) -> Payload | None:
    """Emit events except the last one, and return that; None if there is none."""
    for event in events[:-1]:
        action.emit(event)
    return events[-1] if events else None


def _change_mailbox(
    state: PhoneTables, action: ActionContext, call: PhoneCall, change: ChangeVoicemail | LeaveVoicemail
) -> None:
    boxes = state.mailboxes
    if isinstance(change, ChangeVoicemail):
        boxes.change(action, boxes.messages[change.id], change.change, call.id)
        return
    if boxes.is_full:
        return
    message = VoicemailRecording(change.text, "")
    boxes.leave(action, build_voicemail(boxes.new_id(), change.mailbox, call.from_number, message, call.id))


def _get_speaker(far_end: FarEnd) -> Speaker:
    if isinstance(far_end, CallerMachine):
        return "person"
    return "representative" if isinstance(far_end, RepresentativeMachine) else "line"


def _hang_up(state: PhoneTables, action: ActionContext, call: PhoneCall, reason: str) -> None:
    """End a call because the far end hangs up."""
    by: CallParty = "representative" if "/" in call.far_end else "line"
    if call.direction == "inbound" and not call.transfers:
        by = "person"
    end_call(state, action, call, by, "completed" if call.status == "connected" else "no_answer", reason)


def connect_far_end(
    state: PhoneTables, action: ActionContext, call: PhoneCall, far_end: FarEnd | None, address: str = ""
) -> None:
    """Connect a call to a far end, which answers; None for a simulated person. `address` is its number."""
    address = address or call.far_end or call.number
    if call.status == "ringing" or "ring" in call.due:
        event = action.emit(action.apply_faults(CallAnswered(call=call.id, far_end=address)))
        action = action._replace(now=event.at)
    if far_end is not None:
        _carry_out(state, action, call, far_end, far_end.start(build_context(state, action)))


def speak_agent(state: PhoneTables, call: PhoneCall, text: str, **utterance: Any) -> AgentSpoke:
    """Return the event of what the agent says in a call. `utterance` has further fields of it."""
    is_greeting = isinstance(call.session, CallerSession) and bool(call.session.lines)
    turn = state.people.current_turn(call.speech_address)
    return AgentSpoke(
        call=call.id,
        number=len(call.turns) + 1,
        far_end=call.speech_address,
        text=text,
        seconds=measure_speech(text),
        **{"turn": turn, "is_greeting": is_greeting, **utterance},
    )


def speak_far_end(
    state: PhoneTables, action: ActionContext, call: PhoneCall, text: str, speaker: Speaker, **utterance: Any
) -> FarEndSpoke:
    """Return the event of what the far end says. It begins when what it said before is over; a person also lets the
    agent finish.

    What a person says is a turn of their conversation. `utterance` has further fields of the event.
    """
    is_person = speaker == "person"
    end, own_end = call.speech_end, call.agent_speech_end if is_person else None
    if end is None or (own_end is not None and own_end > end):
        end = own_end
    turn = state.people.next_turn(call.speech_address) if is_person else 0
    return FarEndSpoke(
        call=call.id,
        number=len(call.turns) + 1,
        far_end=call.speech_address,
        starts_in=(end - action.now).total_seconds() if end is not None and end > action.now else 0.0,
        speaker=speaker,
        text=text,
        seconds=measure_speech(text),
        **{"turn": turn, **utterance},
    )


def end_call(
    state: PhoneTables, action: ActionContext, call: PhoneCall, by: CallParty, outcome: CallOutcome, reason: str
) -> None:
    """End a call. What is being said is cut, and what was recorded is left in the mailbox, unless that is full."""
    check_open(call)
    cut_far_end(action, call)
    cut_agent(action, call)
    recording = collect_recording(call, action.now)
    if recording is not None and state.mailboxes.is_full:
        reason = f"{reason}; {MESSAGE_LOST}"
    elif recording is not None:
        message = build_voicemail(state.mailboxes.new_id(), call.mailbox, call.from_number, recording, call.id)
        state.mailboxes.leave(action, message)
    action.emit(CallEnded(call=call.id, by=by, outcome=outcome, reason=reason))


def cut_agent(action: ActionContext, call: PhoneCall) -> None:
    """Cut what the agent says now."""
    own = call.agent_turn
    if own is not None and own.end > action.now:
        action.emit(_cut_turn(action, call, own))


def cut_far_end(action: ActionContext, call: PhoneCall) -> None:
    """Cut what the far end says now, and what it would have said after it."""
    for cut in _list_cuts(action, call):
        action.emit(cut)


def _list_cuts(action: ActionContext, call: PhoneCall) -> list[SpeechCut]:
    under_way = takewhile(lambda turn: turn.end > action.now and not turn.is_cut, reversed(call.far_end_turns))
    return [_cut_turn(action, call, turn) for turn in under_way]


def _cut_turn(action: ActionContext, call: PhoneCall, turn: CallTurn) -> SpeechCut:
    """Return the event that cuts a turn that is not over."""
    after = round(max((action.now - turn.start).total_seconds(), 0.0), 6)
    heard = split_heard(turn.text, after) if after else ""
    return SpeechCut(call=call.id, number=turn.number, after_seconds=after, heard=heard)


def _run_hook(state: PhoneTables, action: ActionContext, call: PhoneCall, run: RunHook) -> HookReturned:
    hook = HOOKS.get(run.hook)
    arguments, result = dict(run.arguments), NO_HOOK
    if hook is not None:
        arguments = hook.complete(run.arguments, run.results)
        result = hook.run(HookContext(action, call, state.chart, state.cases), arguments)
    values = dict(result.values)
    action.emit(
        HookRun(call=call.id, node=run.node, hook=run.hook, arguments=arguments, outcome=result.outcome, values=values)
    )
    return HookReturned(result.outcome, values)


def _transfer(
    state: PhoneTables, action: ActionContext, call: PhoneCall, transfer: TransferCall, session: FarEndSession | None
) -> None:
    """Connect the agent to a representative of the line, or let another number ring."""
    cut_far_end(action, call)
    if call.is_held_by_line:
        action.emit(HoldEnded(call=call.id, by="line"))
    if len(call.transfers) >= MAX_TRANSFERS:
        end_call(state, action, call, "system", "dropped", f"the call was transferred more than {MAX_TRANSFERS} times")
        return
    far_end_name = transfer.number or f"{call.number}/{transfer.representative}"
    transferred = action.apply_faults(CallTransferred(call=call.id, far_end=far_end_name))
    if transfer.number is not None or transferred.is_wrong:
        plan = plan_call(state, transferred.far_end)
        action.emit(transferred.model_copy(update=plan._asdict()))
        play_busy_tone(action, call)
        return
    action.emit(transferred)
    far_end = choose_far_end(state, call, session.values if isinstance(session, IvrSession) else None)
    if far_end is None:
        end_call(state, action, call, "system", "failed", f"the line has no representative {transfer.representative!r}")
        return
    connect_far_end(state, action, call, far_end)


def play_busy_tone(action: ActionContext, call: PhoneCall) -> None:
    """Play the busy tone if the call finds the number busy."""
    if call.meets == "busy":
        action.emit(MusicStarted(call=call.id, music=BUSY_TONE))
