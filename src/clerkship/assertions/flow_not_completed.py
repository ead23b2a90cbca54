"""`flow_not_completed`: a flow never reached its end."""

from typing import ClassVar

from clerkship.assertions.contract import Difference, Engine
from clerkship.assertions.flow_end import FlowEnd
from clerkship.assertions.occurrence import NeverHappened
from clerkship.events import agent
from clerkship.events.event import Payload


class FlowNotCompleted(FlowEnd, NeverHappened):
    """The flow never reached its end, or never at the step given (ours)."""

    name: ClassVar[str] = "flow_not_completed"
    engines: ClassVar[tuple[Engine, ...]] = ()
    differences: ClassVar[tuple[Difference, ...]] = ()
    event: ClassVar[type[Payload]] = agent.FlowCompleted
