"""`agent_acted` and `max_agent_actions`: whether and how often the agent replied, reported or used a sandbox."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal, cast

from pydantic import Field

from clerkship.events.event import Event, Utterance
from clerkship.events.evidence import Evidence
from clerkship.events.ledger import is_agent_action
from clerkship.events.lifecycle import AgentAnswered, AgentStarted, FaultInjected, RunForked
from clerkship.events.query import matches_kind
from clerkship.model.closed import REQUEST_METHOD
from clerkship.model.frozen import Whole
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
        field = FieldCheck.of_text("agent", _EXPECTED, description, True, event.seq)
        return Check.of(True, f"the agent acted: {description} (#{event.seq})", field)


def had_turn(evidence: Evidence) -> bool:
    """Return whether the agent was given a task or a message to answer."""
    if evidence.cached(find_first_action) is not None or find_fork(evidence):
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
    first = find_fork(evidence)
    for event in evidence.events:
        if event.actor == "agent" and event.seq > first and (description := _describe_action(event, evidence)):
            return event, description
    return None


def find_fork(evidence: Evidence) -> int:
    """Return the number of the event at which this agent took over; 0 if the run is not forked."""
    forks = evidence.indexes_by_kind.get(RunForked.kind)
    return evidence.events[forks[-1]].seq if forks else 0


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


ActionType = Literal["request", "message", "report"]
MAX_SHOWN = 10


class MaxAgentActions(Assertion):
    """The agent took at most this many actions. An action is a request to a sandbox, a message to the person, or an
    event that the agent reports of itself, such as a tool call. A request counts once, however many events it causes:
    a FHIR Bundle of many entries is one request, and so one action. One that a fault sent twice counts once too. A
    request that a fault answered in place of the sandbox does not count, nor do the final answer, waiting, and what an
    engine reports at the start of every session. An agent that does nothing stays within every limit."""

    name: ClassVar[str] = "max_agent_actions"
    unscoped_reason: ClassVar[str] = "it counts everything that the agent did"
    shorthand: ClassVar[str | None] = "limit"
    limit: Annotated[Whole, Field(ge=0, description="the largest number of actions that passes")]
    type: Annotated[
        ActionType | None,
        Field(description="count only `request`, `message` or `report`; a message sent by a request is a message"),
    ] = None
    sandbox: Annotated[str | None, Field(description="count only actions on this sandbox")] = None
    event: Annotated[
        str | None, Field(description="count only actions recorded as this kind of event; `*` stands for any text")
    ] = None
    method: Annotated[
        str | None,
        REQUEST_METHOD,
        Field(description="count only requests with this method: `POST`, or over SFTP and MLLP such as `write_file`"),
    ] = None

    def check(self, evidence: Evidence) -> Check:
        """Count the actions; if there are too many, show the first one over the limit."""
        actions = [event for event, type in evidence.cached(find_agent_actions) if self._is_counted(event, type)]
        passed = len(actions) <= self.limit
        over = None if passed else actions[self.limit]
        row = FieldCheck(
            path="actions",
            expected={"lte": self.limit},
            actual=len(actions),
            passed=passed,
            seq=None if over is None else over.seq,
        )
        places = ", ".join(f"#{event.seq}" for event in actions[:MAX_SHOWN])
        more = ", …" if len(actions) > MAX_SHOWN else ""
        where = f" ({places}{more})" if actions else ""
        count = "1 action" if len(actions) == 1 else f"{len(actions)} actions"
        return Check.of(passed, f"the agent took {count}{where}; at most {self.limit} expected", row)

    def _is_counted(self, event: Event, type: ActionType) -> bool:
        return (
            self.type in (None, type)
            and self.sandbox in (None, event.source)
            and (self.event is None or matches_kind(event.kind, self.event))
            and (self.method is None or (event.request is not None and event.request.method == self.method))
        )


def find_agent_actions(evidence: Evidence) -> tuple[tuple[Event, ActionType], ...]:
    """Return one event for each action of the agent, with its type.

    In a forked run, the events before the fork are those of another agent, and are left out.
    """
    faults = {event.seq for event in evidence.of_kind(FaultInjected.kind)}
    return tuple(_list_actions(evidence, find_fork(evidence), faults))


def _list_actions(evidence: Evidence, first: int, faults: set[int]) -> Iterator[tuple[Event, ActionType]]:
    for event in evidence.events:
        if event.actor != "agent" or event.seq <= first or event.cause in faults:
            continue
        if isinstance(event.payload, Utterance) and not event.payload.is_by_sandbox:
            yield event, "message"
        elif event.request is not None:
            yield event, "request"
        elif event.source == "agent" and is_agent_action(event.payload):
            yield event, "report"
