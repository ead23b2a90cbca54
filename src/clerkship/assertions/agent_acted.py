"""`agent_acted`: the agent did something: it replied, answered, reported an event or used a sandbox."""

from collections.abc import Iterator
from typing import ClassVar

from clerkship.assertions.contract import Assertion, Check
from clerkship.events.agent import AGENT
from clerkship.events.event import Event, Utterance
from clerkship.events.evidence import Evidence
from clerkship.events.ledger import is_routine
from clerkship.events.lifecycle import AgentAnswered, AgentStarted, RunForked
from clerkship.model.run import FieldCheck

_EXPECTED = "a reply, an answer, a reported event or a sandbox request"


class AgentActed(Assertion):
    """The agent replied, answered, reported an event of its own or sent a request to a sandbox, at least once. An
    answer of `null`, waiting, and what an engine does at the start of every session do not count. Every task has
    this as a gate of weight 0, unless it says `allow_inaction: true`."""

    name: ClassVar[str] = "agent_acted"

    def check(self, evidence: Evidence) -> Check:
        """Find the first thing that the agent did."""
        for event in _own_events(evidence):
            what = _act(event, evidence)
            if what:
                field = FieldCheck(path="agent", expected=_EXPECTED, actual=what, passed=True, seq=event.seq)
                return Check.of(True, f"the agent acted: {what} {evidence.when(event)}", field)
        field = FieldCheck(path="agent", expected=_EXPECTED, actual="(none)", passed=False)
        return Check.of(False, "the agent never replied, answered, reported anything or used a sandbox", field)


def had_a_turn(evidence: Evidence) -> bool:
    """Tell whether the agent was given work, or a line to answer."""
    if evidence.of_kind(RunForked.kind):
        return True
    started = evidence.of_kind(AgentStarted.kind)
    if not started:
        return False
    entry = started[0].payload
    is_conversation = isinstance(entry, AgentStarted) and entry.entry == "on_turn"
    return not is_conversation or any(event.actor == "person" for event in evidence.utterances)


def _own_events(evidence: Evidence) -> Iterator[Event]:
    """Yield what this agent did; in a forked run the events before the fork belong to another."""
    forks = evidence.of_kind(RunForked.kind)
    first = forks[-1].seq if forks else 0
    return (event for event in evidence.events if event.actor == "agent" and event.seq > first)


def _act(event: Event, evidence: Evidence) -> str:
    """Name the act that an event shows; empty if it shows none."""
    payload = event.payload
    if isinstance(payload, Utterance):
        return "it replied"
    if isinstance(payload, AgentAnswered):
        is_blank = payload.answer is None or (isinstance(payload.answer, str) and not payload.answer.strip())
        return "" if is_blank else "it answered"
    if isinstance(payload, AGENT):
        return "" if is_routine(payload) else f"it reported {event.kind}"
    return f"it used `{event.source}` ({event.kind})" if event.source in evidence.states else ""
