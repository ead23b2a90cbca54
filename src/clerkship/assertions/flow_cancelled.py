"""`flow_cancelled`: a flow was cancelled."""

from typing import ClassVar

from clerkship.assertions.flow_end_match import FlowEndMatch
from clerkship.assertions.occurrence import HappenedAssertion
from clerkship.events import agent
from clerkship.events.event import Payload


class FlowCancelledAssertion(FlowEndMatch, HappenedAssertion):
    """The flow was cancelled at least once, at `flow_step_id` if given."""

    name: ClassVar[str] = "flow_cancelled"
    event: ClassVar[type[Payload]] = agent.FlowCancelled
