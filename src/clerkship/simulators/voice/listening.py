"""What the agent hears of a call: words up to the moment, tones and music, and nothing while it has it on hold."""

from bisect import bisect_left
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from clerkship.formats.phone_tree.speech_time import split_heard
from clerkship.simulators.voice.records import CallHold, CallTurn, PhoneCall

LISTENING_PHASES = ("listening", "recording")


def has_finished(call: PhoneCall, now: datetime) -> bool:
    """Return whether `hear` has something to return: the call ended, or the far end has spoken and listens."""
    if call.status == "ended":
        return True
    if call.status == "ringing" or "speech" in call.due or "ring" in call.due:
        return False
    if max(call.speech_end or now, call.agent_speech_end or now) > now:
        return False
    if call.session is not None and call.session.phase not in LISTENING_PHASES:
        return False
    return _has_news(call)


def next_silence(call: PhoneCall, now: datetime) -> datetime | None:
    """Return when the speech that is under way ends; None if it is quiet."""
    ends = [end for end in (call.speech_end, call.agent_speech_end) if end is not None and end > now]
    return min(ends, default=None)


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
        parts += [(start, part) for start, part in _list_parts(call, turn, since, end)][::-1]
    parts.reverse()
    for sound in call.sounds[last.sounds : until.sounds]:
        if not _is_held(call, sound.start):
            parts.append((sound.start, {"sound": sound.sound, "start": sound.start.isoformat()}))
    parts.sort(key=lambda pair: pair[0])
    return [part for _, part in parts]


def _list_parts(
    call: PhoneCall, turn: CallTurn, since: datetime, until: datetime
) -> list[tuple[datetime, dict[str, Any]]]:
    parts = []
    for start, end in _list_audible(call, max(since, turn.start), min(until, turn.end)):
        text = _slice_speech(turn, start, end)
        if not text:
            continue
        is_last = end == turn.end
        part = {
            "speaker": "far_end",
            "text": text,
            "start": start.isoformat(),
            "end": end.isoformat(),
            **({"cut": True} if turn.is_cut and is_last else {}),
            **({} if is_last else {"unfinished": True}),
        }
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
    for hold in _list_holds(call, start, end):
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
