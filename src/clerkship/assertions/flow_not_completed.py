"""`flow_not_completed`: a flow never completed."""

from typing import ClassVar

from clerkship.assertions.flow_end_match import FlowEndMatch
from clerkship.assertions.occurrence import NeverHappenedAssertion
from clerkship.events import agent
from clerkship.events.event import Payload
from clerkship.sandbox.assertion import Difference, Engine


class FlowNotCompleted(FlowEndMatch, NeverHappenedAssertion):
    """The flow never completed, or never at the given step (ours)."""

    name: ClassVar[str] = "flow_not_completed"
    engines: ClassVar[tuple[Engine, ...]] = ()
    differences: ClassVar[tuple[Difference, ...]] = ()
    event: ClassVar[type[Payload]] = agent.FlowCompleted
