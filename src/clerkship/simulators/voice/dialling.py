"""What a call to a number meets: an answer, a busy tone, an announcement, or no answer."""

from typing import NamedTuple

from clerkship.simulators.voice.host import VoiceHost
from clerkship.simulators.voice.incoming import find_ringing_call
from clerkship.simulators.voice.records import DialOutcome

BUSY_SECONDS = 5.0
"""How long a busy tone is heard before the call ends."""
MAX_RING_SECONDS = 60.0
"""How long a call rings that is not answered."""
MAILBOX_RING_SECONDS = 20.0
"""How long a call rings before a mailbox answers it."""
PERSON_RING_SECONDS = 6.0
CONNECT_SECONDS = 2.0
"""How long it takes until the announcement that a number is not in service."""
NOT_IN_SERVICE = "We're sorry. The number you have dialed is not in service. Please check the number and dial again."
BUSY_TONE = "busy tone"


class DialPlan(NamedTuple):
    """What a call meets, and after how many seconds."""

    meets: DialOutcome
    ring_seconds: float


def plan_call(state: VoiceHost, number: str) -> DialPlan:
    """Return what the next call to a number meets."""
    has_mailbox = state.lines.find_mailbox(number) is not None
    line = state.lines.find(number)
    if is_person_busy(state, number):
        return DialPlan("busy", BUSY_SECONDS)
    if line is None:
        if number in state.people:
            return DialPlan("answer", PERSON_RING_SECONDS)
        if state.people.find(number) is not None:  # a person who has left
            return DialPlan("no_answer", MAILBOX_RING_SECONDS if has_mailbox else MAX_RING_SECONDS)
        if state.mailboxes.find_by_access_number(number) is not None:
            return DialPlan("answer", CONNECT_SECONDS)
        if number not in state.settings.numbers:
            return DialPlan("out_of_service", CONNECT_SECONDS)
        # A call to the own number finds the line busy, unless a mailbox takes such calls.
        return DialPlan("no_answer", MAILBOX_RING_SECONDS) if has_mailbox else DialPlan("busy", BUSY_SECONDS)
    calls = state.calls.rung.get(number, 0) - state.lines.calls_before.get(number, 0)
    meets = line.outcomes[min(calls, len(line.outcomes) - 1)]
    if meets == "answer" and line.tree is None and not line.representatives and number not in state.people:
        meets = "no_answer"
    if meets == "busy":
        return DialPlan(meets, BUSY_SECONDS)
    if meets == "out_of_service":
        return DialPlan(meets, CONNECT_SECONDS)
    if meets == "no_answer":
        return DialPlan(meets, MAILBOX_RING_SECONDS if has_mailbox else MAX_RING_SECONDS)
    return DialPlan(meets, line.ring.total_seconds())


def is_person_busy(state: VoiceHost, number: str) -> bool:
    """Return whether the person at a number is in a call with the agent, or calls the agent at this moment."""
    if state.people.find_call(number) is not None:
        return True
    return number in state.people and find_ringing_call(state, number) is not None
