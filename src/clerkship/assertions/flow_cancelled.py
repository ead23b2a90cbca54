"""`flow_cancelled`: a flow was called off."""

from typing import ClassVar

from clerkship.assertions.flow_end import FlowEnd
from clerkship.assertions.occurrence import Happened
from clerkship.events import agent
from clerkship.events.event import Payload


class FlowCancelled(FlowEnd, Happened):
    """The flow was called off, at the step given if one is; any of the times it did may be meant."""

    name: ClassVar[str] = "flow_cancelled"
    event: ClassVar[type[Payload]] = agent.FlowCancelled
