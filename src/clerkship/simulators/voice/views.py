"""What the agent sees of calls. Nodes, choices and what a line remembers are not told."""

from datetime import datetime
from typing import Any

from clerkship.simulators.voice.listening import HeardMark, list_heard
from clerkship.simulators.voice.records import PhoneCall


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
