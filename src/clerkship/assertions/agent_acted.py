"""`agent_acted`: the agent replied, answered, reported an event or used a sandbox."""

from typing import ClassVar, cast

from clerkship.events.event import Event, Utterance
from clerkship.events.evidence import Evidence
from clerkship.events.ledger import is_agent_action
from clerkship.events.lifecycle import AgentAnswered, AgentStarted, RunForked
from clerkship.model.run import FieldCheck
from clerkship.sandbox.assertion import Assertion, Check

_EXPECTED = "a reply, an answer, a reported event or a sandbox request"


class AgentActed(Assertion):
    """The agent replied, answered, reported an event of its own or sent a request to a sandbox, at least once. An
    answer of `null`, waiting, a rejected tool call, and what an engine does at the start of every session do not
    count. Every task has this as a gate of weight 0, unless it says `allow_inaction: true`."""

    name: ClassVar[str] = "agent_acted"
    unscoped_reason: ClassVar[str] = "it is about everything that the agent did"

    def check(self, evidence: Evidence) -> Check:
        """Find the first action of the agent."""
        act = evidence.cached(find_first_action)
        if act is None:
            field = FieldCheck(path="agent", expected=_EXPECTED, actual="(none)", passed=False)
            return Check.of(False, "the agent never replied, answered, reported anything or used a sandbox", field)
        event, description = act
        field = FieldCheck(path="agent", expected=_EXPECTED, actual=description, passed=True, seq=event.seq)
        return Check.of(True, f"the agent acted: {description} (#{event.seq})", field)


def had_turn(evidence: Evidence) -> bool:
    """Return whether the agent was given a task or a message to answer."""
    if evidence.cached(find_first_action) is not None or evidence.of_kind(RunForked.kind):
        return True
    started = evidence.of_kind(AgentStarted.kind)
    if not started:
        return False
    entry = started[0].payload
    is_conversation = isinstance(entry, AgentStarted) and entry.entry == "on_turn"
    return not is_conversation or any(event.actor == "person" for event in evidence.utterances)


def find_first_action(evidence: Evidence) -> tuple[Event, str] | None:
    """Return the first action of this agent and its description.

    In a forked run, the events before the fork are those of another agent, and are left out.
    """
    forks = evidence.of_kind(RunForked.kind)
    first = forks[-1].seq if forks else 0
    for event in evidence.events:
        if event.actor == "agent" and event.seq > first and (description := _describe_action(event, evidence)):
            return event, description
    return None


def _describe_action(event: Event, evidence: Evidence) -> str:
    """Describe the action that an event shows; empty if it shows none."""
    if event.source in evidence.states:
        return "it replied" if isinstance(event.payload, Utterance) else f"it used `{event.source}` ({event.kind})"
    if event.source == "agent":
        return f"it reported {event.kind}" if is_agent_action(event.payload) else ""
    if event.kind != AgentAnswered.kind:
        return ""
    answer = cast(AgentAnswered, event.payload).answer
    return "" if answer is None or (isinstance(answer, str) and not answer.strip()) else "it answered"
