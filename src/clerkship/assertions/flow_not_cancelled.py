"""`flow_not_cancelled`: a flow was never called off."""

from typing import ClassVar

from clerkship.assertions.contract import Difference, Engine
from clerkship.assertions.flow_end import FlowEnd
from clerkship.assertions.occurrence import NeverHappened
from clerkship.events import agent
from clerkship.events.event import Payload


class FlowNotCancelled(FlowEnd, NeverHappened):
    """The flow was never called off, or never at the step given (ours)."""

    name: ClassVar[str] = "flow_not_cancelled"
    engines: ClassVar[tuple[Engine, ...]] = ()
    differences: ClassVar[tuple[Difference, ...]] = ()
    event: ClassVar[type[Payload]] = agent.FlowCancelled
