"""`flow_cancelled`: a flow was called off."""

from typing import ClassVar

from clerkship.assertions.flow_end_match import FlowEndMatch
from clerkship.assertions.occurrence import HappenedAssertion
from clerkship.events import agent
from clerkship.events.event import Payload


class FlowCancelledAssertion(FlowEndMatch, HappenedAssertion):
    """The flow was called off, at the step given if one is; any of the times it did may be meant."""

    name: ClassVar[str] = "flow_cancelled"
    event: ClassVar[type[Payload]] = agent.FlowCancelled
