"""The operations of a telephone with calls and voicemails, in terms of no protocol, and what the agent hears by them.

Nodes, choices and what a line remembers are not part of it.
"""

from bisect import bisect_left
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import islice
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, Field

from clerkship.formats.phone_tree.prompts import split_heard
from clerkship.model.frozen import Flag, Frozen, Number
from clerkship.sandbox.operation import NoInput, OperationContext, operation
from clerkship.simulators.voice.checks import check_answered, check_digits, check_not_held, check_text
from clerkship.simulators.voice.events import CallHeard
from clerkship.simulators.voice.records import CallHold, CallStatus, CallTurn, PhoneCall, Voicemail
from clerkship.simulators.voice.state import VoiceState


def _refuse_flag(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("expected a whole number, not true or false")
    return value


PageCount = Annotated[int, BeforeValidator(_refuse_flag)]
"""A whole number. It may be text, which it is in a query, and not a flag, which pydantic would convert to 0 or 1."""


Context = OperationContext[VoiceState]
MAX_PAGE = 1000
MAX_WAIT_SECONDS = 7200
DEFAULT_HEAR_SECONDS = 60


class PhoneCallId(Frozen):
    """A call."""

    id: Annotated[str, Field(description="id of a call")]


class NewCall(Frozen):
    """A number to call."""

    to: Annotated[str, Field(description="the phone number to call, such as +15550100123")]
    from_number: Annotated[
        str | None, Field(alias="from", description="the own number to call from; the first one by default")
    ] = None


class Listening(PhoneCallId):
    """How long to listen to a call."""

    seconds: Annotated[
        Number, Field(gt=0, le=MAX_WAIT_SECONDS, description="how long to listen at most, in simulated seconds")
    ] = DEFAULT_HEAR_SECONDS


class CallWait(PhoneCallId):
    """How long to stay on the line."""

    seconds: Annotated[Number, Field(gt=0, le=MAX_WAIT_SECONDS, description="how long to wait, in simulated seconds")]


class SpokenWords(PhoneCallId):
    """Words to say in a call."""

    text: Annotated[str, Field(description="what to say, in words")]


class PressedKeys(PhoneCallId):
    """Keys to press in a call."""

    digits: Annotated[str, Field(description="keys of the telephone in order: 0-9, * and #")]


class CallList(Frozen):
    """Which calls to list."""

    status: Annotated[CallStatus | None, Field(description="ringing, connected or ended")] = None
    direction: Annotated[Literal["inbound", "outbound"] | None, Field(description="inbound or outbound")] = None
    after: Annotated[str, Field(description="the next of the previous page")] = ""
    count: Annotated[PageCount, Field(ge=1, le=MAX_PAGE, description="the largest number of calls to return")] = 100


@operation()
def show_phone(context: Context, _: NoInput) -> dict[str, Any]:
    """Show the own numbers, and how many calls are open: {"organization", "numbers", "open_calls", "ringing"}."""
    state = context.state
    ringing = [call.id for call in state.calls.open_calls.values() if call.can_be_answered]
    return {
        "organization": state.config.organization,
        "numbers": list(state.config.numbers),
        "open_calls": len(state.calls.open_calls),
        "ringing": ringing[:MAX_PAGE],
    }


@operation(essential=True)
def dial(context: Context, call: NewCall) -> dict[str, Any]:
    """Call a phone number. Returns the call with its id; it rings, so `hear` next."""
    return summarize_call(context.state.dial(context.action, call.to, call.from_number))


@operation(essential=True, waits=True)
def hear(context: Context, listening: Listening) -> dict[str, Any]:
    """Listen to a call until the other side has spoken and waits for you, or the call has ended.

    Returns {"status", "heard": [{"text", "start", "end"} or {"sound", "start"}]}: what was heard since you last
    listened. Sounds are music, a busy tone, or the beep of a voicemail. A text with `unfinished` still goes on.
    `progress` has when it began to ring, was answered or ended, if that is new.
    """
    call = context.state.find_call(listening.id)
    check_answered(call)
    _pass(context, listening.seconds, call, lambda now: has_finished(call, now))
    return _listen(context, call)


@operation(essential=True, waits=True)
def wait(context: Context, waiting: CallWait) -> dict[str, Any]:
    """Stay on the line for some seconds, such as on hold. Ends early if the call ends. Returns the same as `hear`."""
    call = context.state.find_call(waiting.id)
    check_answered(call)
    _pass(context, waiting.seconds, call, lambda now: call.status == "ended")
    return _listen(context, call)


@operation(essential=True, waits=True)
def say(context: Context, words: SpokenWords) -> dict[str, Any]:
    """Say something in a call. It interrupts a recorded prompt that can be interrupted. Use `hear` for the answer."""
    call = context.state.find_call(words.id)
    check_not_held(call)
    check_text(words.text, context.state.config)
    context = _finish_speaking(context, call, check_not_held)
    context.state.say(context.action, call, words.text)
    return summarize_call(call)


@operation(essential=True, waits=True)
def press(context: Context, keys: PressedKeys) -> dict[str, Any]:
    """Press keys of the telephone in a call: 0-9, * and #. Use `hear` for what follows."""
    call = context.state.find_call(keys.id)
    check_not_held(call)
    check_digits(keys.digits)
    context = _finish_speaking(context, call, check_not_held)
    context.state.press(context.action, call, keys.digits)
    return summarize_call(call)


@operation()
def hold(context: Context, call: PhoneCallId) -> dict[str, Any]:
    """Put a call on hold. You hear nothing of it, and the other side nothing of you, until you resume it."""
    return summarize_call(context.state.hold(context.action, call.id))


@operation()
def resume(context: Context, call: PhoneCallId) -> dict[str, Any]:
    """Take a call off hold."""
    return summarize_call(context.state.resume(context.action, call.id))


@operation(essential=True, waits=True)
def hang_up(context: Context, call: PhoneCallId) -> dict[str, Any]:
    """End a call, after you have finished what you are saying."""
    record = context.state.find_call(call.id)
    context = _finish_speaking(context, record)
    context.state.hang_up(context.action, record)
    return summarize_call(record)


@operation(essential=True)
def answer(context: Context, call: PhoneCallId) -> dict[str, Any]:
    """Answer a call that rings at one of the own numbers."""
    return summarize_call(context.state.answer(context.action, call.id))


@operation()
def reject(context: Context, call: PhoneCallId) -> dict[str, Any]:
    """Reject a call that rings at one of the own numbers."""
    return summarize_call(context.state.reject(context.action, call.id))


@operation(shorter_hint="give a `count`")
def list_calls(context: Context, page: CallList) -> dict[str, Any]:
    """List calls, oldest first: {"calls": [{"id", "direction", "from", "to", "status", "outcome"}], "next"}."""
    calls = context.state.calls.list_after(page.after, is_open=page.status in ("ringing", "connected"))
    wanted = (call for call in calls if page.status in (None, call.status) and page.direction in (None, call.direction))
    entries = [summarize_call(call) for call in islice(wanted, page.count)]
    return {"calls": entries, **({"next": entries[-1]["id"]} if len(entries) == page.count else {})}


@operation(essential=True)
def show_call(context: Context, call: PhoneCallId) -> dict[str, Any]:
    """Show a call with what you said and pressed, and what you have heard so far."""
    return view_call(context.state.find_call(call.id), context.action.now)


def _listen(context: Context, call: PhoneCall) -> dict[str, Any]:
    last = HeardMark.of(call)
    event = context.action.emit(CallHeard(call=call.id))
    return view_heard(call, last, event.at)


def _pass(context: Context, seconds: float, call: PhoneCall, is_done: Callable[[datetime], bool]) -> datetime:
    """Let time pass until a condition is true, at most some seconds; return the time then.

    The end of speech is no scheduled event, so that time is passed in parts.
    """
    now = context.action.now
    end = now + timedelta(seconds=seconds)
    while now < end and not is_done(now):
        pause = min(next_silence(call, now) or end, end)
        before = _get_progress(call)

        def is_changed(before: tuple[int, str, str] = before) -> bool:
            return _get_progress(call) != before

        passed = context.pass_time(pause - now, is_changed)
        if passed is None or (passed <= now and not is_changed()):
            break  # the trial has ended
        now = passed
    return now


def _get_progress(call: PhoneCall) -> tuple[int, str, str]:
    """Return what changes when something happens in a call that ends a wait."""
    return len(call.turns), call.status, "" if call.session is None else call.session.phase


def _is_speaking(call: PhoneCall, now: datetime) -> bool:
    """Return whether the agent speaks in a call, and was not interrupted."""
    return call.status != "ended" and call.agent_speech_end is not None and call.agent_speech_end > now


def _finish_speaking(context: Context, call: PhoneCall, check: Callable[[PhoneCall], None] | None = None) -> Context:
    """Let time pass until the agent has said what it is saying, and check the call again if time has passed."""
    end = call.agent_speech_end
    now = context.action.now
    if end is None or end <= now:
        return context
    now = _pass(context, (end - now).total_seconds(), call, lambda now: not _is_speaking(call, now))
    if check is not None:
        check(call)
    return context._replace(action=context.action._replace(now=now))


class VoicemailList(Frozen):
    """Which voicemails to list."""

    mailbox: Annotated[str | None, Field(description="name of a mailbox; all of yours by default")] = None
    unread: Annotated[bool | None, Field(description="true for unread messages only, false for read ones")] = None
    after: Annotated[str, Field(description="the next of the previous page")] = ""
    count: Annotated[PageCount, Field(ge=1, le=MAX_PAGE, description="the largest number of messages to return")] = 100


class VoicemailId(Frozen):
    """A voicemail."""

    id: Annotated[str, Field(description="id of a voicemail")]


class VoicemailMark(VoicemailId):
    """A voicemail to mark."""

    read: Annotated[Flag, Field(description="whether it is marked as read; false for unread")]


@operation()
def list_voicemails(context: Context, wanted: VoicemailList) -> dict[str, Any]:
    """List the voicemails of your mailboxes, the oldest first, without their text: {"voicemails", "unread"}.

    `unread` has the number of unread messages of each mailbox. `next` is for the next page.
    """
    boxes = context.state.mailboxes
    names = boxes.own
    if wanted.mailbox is not None:
        boxes.check_own(wanted.mailbox)
        names = [wanted.mailbox]
    messages = sorted((message for name in names for message in boxes.list_messages(name)), key=_list_order)
    if wanted.unread is not None:
        messages = [message for message in messages if message.is_read != wanted.unread]
    last = boxes.messages.get(wanted.after)
    if last is not None:
        messages = [message for message in messages if _list_order(message) > _list_order(last)]
    page = messages[: wanted.count]
    result: dict[str, Any] = {
        "voicemails": [view_voicemail(message) for message in page],
        "unread": {name: boxes.count_unread(name) for name in names},
    }
    if len(page) < len(messages):
        result["next"] = page[-1].id
    return result


@operation()
def read_voicemail(context: Context, wanted: VoicemailId) -> dict[str, Any]:
    """Read a voicemail with its text. It is marked as read."""
    message = context.state.mailboxes.find_message(wanted.id)
    context.state.mailboxes.change(context.action, message, "read")
    return {**view_voicemail(message), "text": message.text}


@operation()
def mark_voicemail(context: Context, mark: VoicemailMark) -> dict[str, Any]:
    """Mark a voicemail as read or unread."""
    message = context.state.mailboxes.find_message(mark.id)
    context.state.mailboxes.change(context.action, message, "read" if mark.read else "unread")
    return view_voicemail(message)


@operation()
def delete_voicemail(context: Context, wanted: VoicemailId) -> dict[str, Any]:
    """Delete a voicemail."""
    message = context.state.mailboxes.find_message(wanted.id)
    context.state.mailboxes.change(context.action, message, "deleted")
    return {"id": message.id, "deleted": True}


def _list_order(message: Voicemail) -> tuple[datetime, str]:
    return message.received_at, message.id


def view_voicemail(message: Voicemail) -> dict[str, Any]:
    """Return a voicemail without its text."""
    return {
        "id": message.id,
        "mailbox": message.mailbox,
        "from": message.from_number,
        "received": message.received_at.isoformat(),
        "seconds": message.seconds,
        "read": message.is_read,
    }


OPERATIONS = (
    *(show_phone, dial, hear, wait, say, press, hold, resume, hang_up, answer, reject),
    *(list_calls, show_call, list_voicemails, read_voicemail, mark_voicemail, delete_voicemail),
)


# What the agent hears and sees of calls: words up to the moment, tones and music, and nothing on hold.

LISTENING_PHASES = ("listening", "recording")


def has_finished(call: PhoneCall, now: datetime) -> bool:
    """Return whether `hear` has something to return: the call ended, or the far end has spoken and listens."""
    if call.status == "ended":
        return True
    if call.status == "ringing" or "speech" in call.due or "ring" in call.due:
        return False
    for end in (call.speech_end, call.agent_speech_end):
        if end is not None and end > now:
            return False
    if call.session is not None and call.find_phase(now) not in LISTENING_PHASES:
        return False
    return _has_news(call)


def next_silence(call: PhoneCall, now: datetime) -> datetime | None:
    """Return when the speech that is under way ends, and the far end listens; None if it is quiet."""
    first = None
    for end in (call.speech_end, call.agent_speech_end, call.listens_from):
        if end is not None and end > now and (first is None or end < first):
            first = end
    return first


def _has_news(call: PhoneCall) -> bool:
    """Return whether the far end has said something to its end since the agent last listened, or a sound was heard."""
    since = call.heard_until or call.started_at
    last = call.far_end_turns[-1] if call.far_end_turns else None
    if last is not None and not last.is_cut and last.end > since:
        return True
    return len(call.sounds) > call.heard_sounds


class HeardMark(NamedTuple):
    """Up to where the agent has listened to a call."""

    at: datetime | None = None
    sounds: int = 0

    @classmethod
    def of(cls, call: PhoneCall) -> "HeardMark":
        """Return up to where the agent has listened to a call so far."""
        return cls(call.heard_until, call.heard_sounds)


def list_heard(call: PhoneCall, last: HeardMark, until: HeardMark) -> list[dict[str, Any]]:
    """Return what the far end said, and which sounds there were, from one mark to another, in order."""
    since, end = last.at or call.started_at, until.at or call.started_at
    parts: list[tuple[datetime, dict[str, Any]]] = []
    for turn in reversed(call.far_end_turns):
        if turn.end <= since and turn.start < since:
            break
        parts += _list_parts(call, turn, since, end)[::-1]
    parts.reverse()
    for sound in call.sounds[last.sounds : until.sounds]:
        if not _is_held(call, sound.start):
            parts.append((sound.start, {"sound": sound.sound, "start": sound.start.isoformat()}))
    parts.sort(key=lambda pair: pair[0])
    return [part for _, part in parts]


def _list_parts(
    call: PhoneCall, turn: CallTurn, since: datetime, until: datetime
) -> list[tuple[datetime, dict[str, Any]]]:
    parts = list[tuple[datetime, dict[str, Any]]]()
    for start, end in _list_audible(call, max(since, turn.start), min(until, turn.end)):
        text = _slice_speech(turn, start, end)
        if not text:
            continue
        is_last = end == turn.end
        part: dict[str, Any] = {"speaker": "far_end", "text": text, "start": start.isoformat(), "end": end.isoformat()}
        if not is_last:
            part["unfinished"] = True
        elif turn.is_cut:
            part["cut"] = True
        parts.append((start, part))
    return parts


def _slice_speech(turn: CallTurn, start: datetime, end: datetime) -> str:
    """Return the words of a turn that are said between two times."""
    text = turn.heard
    before = "" if start <= turn.start else split_heard(turn.text, (start - turn.start).total_seconds())
    upto = text if end >= turn.end else split_heard(turn.text, (end - turn.start).total_seconds())
    return upto[len(before) :].strip()


def _list_audible(call: PhoneCall, start: datetime, end: datetime) -> list[tuple[datetime, datetime]]:
    """Return the parts of a time in which the agent did not have the call on hold."""
    windows = []
    for hold in _list_holds(call, start, end) if call.holds else ():
        if hold.start > start:
            windows.append((start, hold.start))
        start = end if hold.end is None else hold.end
    if start < end:
        windows.append((start, end))
    return windows


def _list_holds(call: PhoneCall, start: datetime, end: datetime) -> list[CallHold]:
    """Return the times between two times in which the agent had the call on hold, in order."""
    holds = list[CallHold]()
    for place in reversed(range(bisect_left(call.holds, end, key=_get_start))):
        hold = call.holds[place]
        if hold.by != "agent":
            continue
        if hold.end is not None and hold.end <= start:
            break
        holds.append(hold)
    return holds[::-1]


def _get_start(hold: CallHold) -> datetime:
    return hold.start


def _is_held(call: PhoneCall, at: datetime) -> bool:
    return bool(_list_holds(call, at, at + timedelta.resolution))


def summarize_call(call: PhoneCall) -> dict[str, Any]:
    """Describe a call without what was said."""
    summary: dict[str, Any] = {
        "id": call.id,
        "direction": call.direction,
        "from": call.from_number,
        "to": call.to_number,
        "status": call.status,
        "started": call.started_at.isoformat(),
    }
    if call.answered_at is not None:
        summary["answered"] = call.answered_at.isoformat()
    if call.ended_at is not None:
        summary |= {"ended": call.ended_at.isoformat(), "ended_by": _name_party(call), "outcome": call.outcome}
    if call.is_held_by_agent:
        summary["on_hold"] = True
    return summary


def view_call(call: PhoneCall, now: datetime) -> dict[str, Any]:
    """Describe a call with what the agent said, pressed and has heard so far."""
    turns = list_heard(call, HeardMark(), HeardMark.of(call))
    for turn in call.turns:
        if turn.speaker == "agent":
            end = min(turn.end, now)
            turns.append(
                {"speaker": "agent", "text": turn.heard, "start": turn.start.isoformat(), "end": end.isoformat()}
            )
    turns += [{"pressed": keys.digits, "start": keys.at.isoformat()} for keys in call.keys]
    # A key comes before the words that it leads to, which start at the same time.
    turns.sort(key=lambda part: (datetime.fromisoformat(part["start"]), "pressed" not in part))
    end = call.ended_at or now
    held = sum(((hold.end or end) - hold.start).total_seconds() for hold in call.holds if hold.by == "agent")
    return {
        **summarize_call(call),
        "seconds": round((end - call.started_at).total_seconds(), 2),
        "seconds_on_hold": round(held, 2),
        "turns": turns,
    }


def view_heard(call: PhoneCall, last: HeardMark, now: datetime) -> dict[str, Any]:
    """Describe what was heard in a call since the agent last listened, and whether it goes on."""
    view: dict[str, Any] = {
        "call": call.id,
        "status": call.status,
        "now": now.isoformat(),
        "heard": list_heard(call, last, HeardMark(now, len(call.sounds))),
    }
    times = (("ringing", call.started_at), ("answered", call.answered_at), ("ended", call.ended_at))
    news = [(status, at) for status, at in times if at is not None and (last.at is None or at > last.at)]
    if news:
        view["progress"] = [{"status": status, "at": at.isoformat()} for status, at in news]
    if call.status == "ended":
        view |= {"outcome": call.outcome, "ended_by": _name_party(call)}
    return view


def _name_party(call: PhoneCall) -> str:
    if call.ended_by == "agent":
        return "agent"
    return "network" if call.ended_by == "system" else "far_end"
