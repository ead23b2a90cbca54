"""`flow_completed`: a flow reached its end."""

from typing import ClassVar

from clerkship.assertions.flow_end_match import FlowEndMatch
from clerkship.assertions.occurrence import HappenedAssertion
from clerkship.events import agent
from clerkship.events.event import Payload


class FlowCompletedAssertion(FlowEndMatch, HappenedAssertion):
    """The flow reached its end, at the step given if one is; any of the times it did may be meant."""

    name: ClassVar[str] = "flow_completed"
    event: ClassVar[type[Payload]] = agent.FlowCompleted
