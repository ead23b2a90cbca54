"""`ordered_block_completed`: an ordered block of a skill completed."""

from typing import ClassVar

from clerkship.assertions.skill import BlockAssertion, StepMatch
from clerkship.events import agent
from clerkship.events.event import Payload


class OrderedBlockCompleted(BlockAssertion, StepMatch):
    """The block completed, at `step_id` if given."""

    name: ClassVar[str] = "ordered_block_completed"
    event: ClassVar[type[Payload]] = agent.BlockCompleted
