"""What the agent hears and sees of calls: words up to the moment, tones and music, and nothing on hold.

Nodes, choices and what a line remembers are not told.
"""

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


def summarize_call(call: PhoneCall) -> dict[str, Any]:
    """Describe a call without what was said."""
    optional = {
        "answered": _format(call.answered_at),
        "ended": _format(call.ended_at),
        "ended_by": None if call.ended_by is None else _name_party(call),
        "outcome": call.outcome,
        "on_hold": call.is_held_by_agent or None,
    }
    return {
        "id": call.id,
        "direction": call.direction,
        "from": call.from_number,
        "to": call.to_number,
        "status": call.status,
        "started": call.started_at.isoformat(),
        **{name: value for name, value in optional.items() if value is not None},
    }


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
    if call.status == "ended":
        view |= {"outcome": call.outcome, "ended_by": _name_party(call)}
    return view


def _name_party(call: PhoneCall) -> str:
    if call.ended_by == "agent":
        return "agent"
    return "network" if call.ended_by == "system" else "far_end"


def _format(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()
