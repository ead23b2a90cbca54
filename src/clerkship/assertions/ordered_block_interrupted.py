"""`ordered_block_interrupted`: an ordered block of a skill was interrupted."""

from typing import ClassVar

from clerkship.assertions.skill import BlockAssertion, StepMatch
from clerkship.events import agent
from clerkship.events.event import Payload


class OrderedBlockInterrupted(BlockAssertion, StepMatch):
    """The block was interrupted, at `step_id` if given."""

    name: ClassVar[str] = "ordered_block_interrupted"
    event: ClassVar[type[Payload]] = agent.BlockInterrupted
