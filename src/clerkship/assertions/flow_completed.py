"""`flow_completed`: a flow completed."""

from typing import ClassVar

from clerkship.assertions.flow_end_match import FlowEndMatch
from clerkship.assertions.occurrence import HappenedAssertion
from clerkship.events import agent
from clerkship.events.event import Payload


class FlowCompletedAssertion(FlowEndMatch, HappenedAssertion):
    """The flow completed at least once, at `flow_step_id` if given."""

    name: ClassVar[str] = "flow_completed"
    event: ClassVar[type[Payload]] = agent.FlowCompleted
