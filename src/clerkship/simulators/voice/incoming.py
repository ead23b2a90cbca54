"""Calls to the agent: they ring at an own number until the agent answers, rejects them, or a mailbox takes them."""

from typing import NamedTuple

from clerkship.events.event import Event
from clerkship.formats.phone_tree.session import CallerSession
from clerkship.formats.phone_tree.speech_time import measure_speech
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.voice.checks import check_number, check_own_number
from clerkship.simulators.voice.events import CallStarted, SessionChanged
from clerkship.simulators.voice.host import VoiceHost
from clerkship.simulators.voice.records import PhoneCall


class Caller(NamedTuple):
    """What a simulated caller will say."""

    lines: tuple[str, ...] = ()
    """One after each thing that the agent says."""
    voicemail: str = ""
    """What they leave in the mailbox if the agent does not answer; empty if they hang up."""
    is_person: bool = False
    """Whether a person of the scenario goes on after these lines."""


def start_call(state: VoiceHost, action: ActionContext, from_number: str, to_number: str) -> PhoneCall:
    """Let a call ring at an own number."""
    call = state.calls.new_id()
    action.emit(CallStarted(call=call, direction="inbound", from_number=from_number, to_number=to_number))
    return state.find_call(call)


def ring_agent(
    state: VoiceHost, action: ActionContext, from_number: str, to_number: str | None, caller: Caller
) -> Event:
    """Let a simulated caller ring at an own number, the first by default.

    Refused if a number is none, the second is not an own number, or too many calls are open.
    """
    sender, own = check_number(from_number), check_own_number(to_number, state.settings)
    state.check_count()
    call = start_call(state, action, sender, own)
    mailbox = state.mailboxes.find_by_number(own)
    session = CallerSession(
        phase="waiting",
        lines=caller.lines,
        voicemail=caller.voicemail,
        mailbox="" if mailbox is None else mailbox.name,
        greeting_seconds=0.0 if mailbox is None else measure_speech(mailbox.greeting),
        is_person=caller.is_person,
    )
    return action.emit(SessionChanged(call=call.id, session=session))


def find_ringing_call(state: VoiceHost, from_number: str) -> PhoneCall | None:
    """Return the call from a number that rings at an own number."""
    for call in state.calls.open_calls.values():
        if call.can_be_answered and call.from_number == from_number:
            return call
    return None
