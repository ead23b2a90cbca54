"""`flow_not_cancelled`: a flow was never cancelled."""

from typing import ClassVar

from clerkship.assertions.flow_end_match import FlowEndMatch
from clerkship.assertions.occurrence import NeverHappenedAssertion
from clerkship.events import agent
from clerkship.events.event import Payload
from clerkship.sandbox.assertion import Difference, Engine


class FlowNotCancelled(FlowEndMatch, NeverHappenedAssertion):
    """The flow was never cancelled, or never at the given step (ours)."""

    name: ClassVar[str] = "flow_not_cancelled"
    engines: ClassVar[tuple[Engine, ...]] = ()
    differences: ClassVar[tuple[Difference, ...]] = ()
    event: ClassVar[type[Payload]] = agent.FlowCancelled
