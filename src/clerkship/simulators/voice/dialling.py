"""Start calls: those of the agent, which an answer, a busy tone, an announcement or nothing meets, and those to it."""

from typing import NamedTuple

from clerkship.events.event import Event
from clerkship.formats.phone_tree.prompts import measure_speech
from clerkship.formats.phone_tree.session import CallerSession
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.voice.checks import check_number, check_own_number
from clerkship.simulators.voice.events import CallStarted, FarEndChange
from clerkship.simulators.voice.records import DialOutcome, PhoneCall
from clerkship.simulators.voice.tables import PhoneTables

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


def plan_call(state: PhoneTables, number: str) -> DialPlan:
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
        if number not in state.config.numbers:
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


def is_person_busy(state: PhoneTables, number: str) -> bool:
    """Return whether the person at a number is in a call with the agent, or calls the agent at this moment."""
    if state.people.find_call(number) is not None:
        return True
    return number in state.people and find_ringing_call(state, number) is not None


class Caller(NamedTuple):
    """What a simulated caller will say."""

    lines: tuple[str, ...] = ()
    """One after each thing that the agent says."""
    voicemail: str = ""
    """What they leave in the mailbox if the agent does not answer; empty if they hang up."""
    is_person: bool = False
    """Whether a person of the scenario goes on after these lines."""


def start_call(
    state: PhoneTables, action: ActionContext, from_number: str, to_number: str, session: CallerSession | None = None
) -> Event:
    """Let a call ring at an own number; `session` is what the caller will say, unless it is a simulated person."""
    return action.emit(
        CallStarted(
            call=state.calls.new_id(),
            direction="inbound",
            from_number=from_number,
            to_number=to_number,
            change=None if session is None else FarEndChange(session=session),
        )
    )


def ring_agent(
    state: PhoneTables, action: ActionContext, from_number: str, to_number: str | None, caller: Caller
) -> Event:
    """Let a simulated caller ring at an own number, the first by default.

    Refused if a number is none, the second is not an own number, or too many calls are open.
    """
    sender, own = check_number(from_number), check_own_number(to_number, state.config)
    state.check_count()
    mailbox = state.mailboxes.find_by_number(own)
    session = CallerSession(
        phase="waiting",
        lines=caller.lines,
        voicemail=caller.voicemail,
        mailbox="" if mailbox is None else mailbox.name,
        greeting_seconds=0.0 if mailbox is None else measure_speech(mailbox.greeting),
        is_person=caller.is_person,
    )
    return start_call(state, action, sender, own, session)


def find_ringing_call(state: PhoneTables, from_number: str) -> PhoneCall | None:
    """Return the call from a number that rings at an own number."""
    for call in state.calls.open_calls.values():
        if call.can_be_answered and call.from_number == from_number:
            return call
    return None
