"""`flow_not_started`: none of the flows started."""

from typing import Annotated, ClassVar

from pydantic import Field

from clerkship.assertions.flows import FlowIds
from clerkship.assertions.occurrence import TurnScope
from clerkship.events import agent
from clerkship.events.event import Payload
from clerkship.events.evidence import Evidence
from clerkship.model.run import FieldCheck
from clerkship.sandbox.assertion import UNSCOPED_CONVERSATION, Assertion, Check


class FlowNotStarted(Assertion, TurnScope):
    """None of the flows started (ours)."""

    name: ClassVar[str] = "flow_not_started"
    unscoped_reason: ClassVar[str] = UNSCOPED_CONVERSATION
    events: ClassVar[tuple[type[Payload], ...]] = (agent.FlowStarted,)
    shorthand: ClassVar[str | None] = "flow_ids"
    flow_ids: Annotated[FlowIds, Field(description="the flows; a bare name is that one flow")]

    def check(self, evidence: Evidence) -> Check:
        """Look for each flow; on failure, show the first that started."""
        forbidden = set(self.flow_ids)
        starts = self.select_turns(evidence, evidence.of_kind(agent.FlowStarted.kind))
        flows = [(event, str(getattr(event.payload, "flow_id", ""))) for event in starts]
        hit = next(((event, flow) for event, flow in flows if flow in forbidden), None)
        expected = {"not": {"in": list(self.flow_ids)}}
        if hit is None:
            row = FieldCheck(path="flow_id", expected=expected, actual=f"{len(starts)} others", passed=True)
            return Check.of(True, f"flow {' or '.join(self.flow_ids)} never started{self.scope_text}", row)
        event, flow = hit
        row = FieldCheck(path="flow_id", expected=expected, actual=flow, passed=False, seq=event.seq)
        return Check.of(False, f"flow {flow} started {evidence.when(event)}", row)
