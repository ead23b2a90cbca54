"""What is shown of a telephone at one moment: each call with where it is, and the voicemails."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from clerkship.sandbox.plain_data import to_plain
from clerkship.sandbox.state_view import StateRow, ViewedTrial
from clerkship.simulators.voice.records import PhoneCall
from clerkship.simulators.voice.state import VoiceState

_CONNECTED = {"line": "in the menu", "representative": "with a representative", "person": "with a person"}
_CONNECTED |= {"mailbox": "recording a message"}


def list_rows(state: VoiceState, trial: ViewedTrial) -> Iterator[StateRow]:
    """List the calls, the voicemails by mailbox, and the cases that representatives opened."""
    yield from map(_build_call, state.calls.by_id.values())
    for id, left in state.mailboxes.messages.items():
        facts = {"at": left.received_at.isoformat(), "from": left.from_number, "seconds": left.seconds}
        facts |= {"status": "deleted" if left.is_deleted else "read" if left.is_read else "unread"}
        # In one piece: a value that the beep divides is found in it.
        yield StateRow(id, f"mailbox {left.mailbox}", f"{left.before_beep} {left.text}".strip(), facts)
    for member, cases in state.cases.by_member.items():
        yield StateRow(f"cases {member}", "cases", member, read=partial(to_plain, cases))


def describe_state(call: PhoneCall) -> str:
    """Return where a call is in words."""
    if call.status == "ended":
        return f"ended: {(call.outcome or '').replace('_', ' ')}"
    if call.status == "ringing":
        return "ringing"
    if call.is_held_by_line or call.is_held_by_agent:
        return "on hold" if call.is_held_by_line else "put on hold by the agent"
    return _CONNECTED[call.find_listener()]


def _build_call(call: PhoneCall) -> StateRow:
    side = "to" if call.direction == "outbound" else "from"
    facts = {"at": call.started_at.isoformat(), "status": describe_state(call), "with": call.far_end or call.number}
    facts |= {"in the tree": call.path[-1].name} if call.path else {}
    facts |= {"last keys": call.keys[-1].digits} if call.keys else {}
    facts |= {f"last words of the {call.turns[-1].speaker}": call.turns[-1].text} if call.turns else {}
    seq = max([call.seq, *(each[-1].seq for each in (call.turns, call.keys, call.path) if each)])
    return StateRow(call.id, "calls", f"call {side} {call.first_number}", facts, partial(_read_call, facts, call), seq)


def _read_call(facts: dict[str, Any], call: PhoneCall) -> dict[str, Any]:
    """Return what was said in whole sentences: in a part of one, a value could not be found and hidden."""
    turns = [
        {"speaker": turn.speaker, "text": turn.text} | ({"interrupted": True} if turn.is_cut else {})
        for turn in call.turns
    ]
    shown = ("path", "keys", "holds", "transfers", "verifications")
    return {**facts, "said": turns} | {name: to_plain(getattr(call, name)) for name in shown if getattr(call, name)}
