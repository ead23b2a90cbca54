"""`max_agent_actions`: the agent took at most a number of actions."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from clerkship.events.event import Event, Utterance
from clerkship.events.evidence import Evidence
from clerkship.events.ledger import is_agent_action
from clerkship.events.lifecycle import FaultInjected, RunForked
from clerkship.events.query import matches_kind
from clerkship.model.closed import REQUEST_METHOD
from clerkship.model.frozen import Whole
from clerkship.model.run import FieldCheck
from clerkship.sandbox.assertion import Assertion, Check

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
    forks = evidence.of_kind(RunForked.kind)
    faults = {event.seq for event in evidence.of_kind(FaultInjected.kind)}
    return tuple(_list_actions(evidence, forks[-1].seq if forks else 0, faults))


def _list_actions(evidence: Evidence, first: int, faults: set[int]) -> Iterator[tuple[Event, ActionType]]:
    for event in evidence.events:
        if event.actor != "agent" or event.seq <= first or event.cause in faults:
            continue
        if isinstance(event.payload, Utterance):
            yield event, "message"
        elif event.request is not None:
            yield event, "request"
        elif event.source == "agent" and is_agent_action(event.payload):
            yield event, "report"
