"""The state of calls as plain data."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from clerkship.simulators.voice.people import PersonByPhone
from clerkship.simulators.voice.records import CallTurn, PhoneCall, Voicemail


def dump_calls(calls: Iterable[PhoneCall]) -> list[dict[str, Any]]:
    """Return the calls in order."""
    return [_dump_call(call) for call in calls]


def _dump_call(call: PhoneCall) -> dict[str, Any]:
    return {
        "id": call.id,
        "direction": call.direction,
        "from": call.from_number,
        "to": call.to_number,
        "status": call.status,
        "meets": call.meets,
        "started_at": _format(call.started_at),
        "answered_at": _format(call.answered_at),
        "ended_at": _format(call.ended_at),
        "ended_by": call.ended_by,
        "outcome": call.outcome,
        "far_end": call.far_end,
        "turns": [_dump_turn(turn) for turn in call.turns],
        "sounds": [[sound.sound, _format(sound.start)] for sound in call.sounds],
        "digits": [[_format(keys.at), keys.digits] for keys in call.keys],
        "path": [visited.name for visited in call.path],
        "holds": [[hold.by, _format(hold.start), _format(hold.end)] for hold in call.holds],
        "transfers": list(call.transfers),
        "reprompts": call.reprompts,
        "verified": [each.member_id for each in call.verifications],
        "mailbox": call.mailbox,
        "beep_at": _format(call.beep_at),
        "tree_version": call.tree_version,
        "session": None if call.session is None else call.session.model_dump(mode="json"),
        "due": {kind: [_format(at), seq] for kind, (at, seq) in sorted(call.due.items())},
        "heard_until": _format(call.heard_until),
        "heard_sounds": call.heard_sounds,
    }


def _dump_turn(turn: CallTurn) -> dict[str, Any]:
    return {
        "number": turn.number,
        "speaker": turn.speaker,
        "text": turn.text,
        "heard": turn.heard,
        "start": _format(turn.start),
        "end": _format(turn.end),
        "cut": turn.is_cut,
        "node": turn.node,
        "seq": turn.seq,
    }


def dump_people(people: Iterable[PersonByPhone]) -> list[dict[str, Any]]:
    """Return the people who can be reached by phone."""
    return [
        {
            "person": each.person,
            "number": each.number,
            "greeting": each.greeting,
            "open": each.is_open,
            "turns": each.turns,
            "messages": [event.seq for event in each.messages],
            "pauses": [event.seq for event in each.pauses],
            "open_pauses": sorted(each.open_pauses),
        }
        for each in people
    ]


def dump_voicemails(messages: Iterable[Voicemail]) -> list[dict[str, Any]]:
    """Return the voicemails in the order in which they were left."""
    return [
        {
            "id": each.id,
            "mailbox": each.mailbox,
            "from": each.from_number,
            "text": each.text,
            "received_at": _format(each.received_at),
            "seconds": each.seconds,
            "before_beep": each.before_beep,
            "call": each.call,
            "read": each.is_read,
            "deleted": each.is_deleted,
        }
        for each in messages
    ]


def _format(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()
